"""A command line is read as it is meant, or refused; what is printed can be copied and never drives a terminal."""

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.apps.faults import Misused
from inspan.apps.programs.screen import printable
from inspan.apps.programs.words import command_line, read_words


def test_positions_flags_and_switches_are_told_apart() -> None:
    words = read_words(
        ["a", "--x", "1", "b", "--y=--2", "--all", "--x", "3", "--", "--c", "-d"], switches={"all"}
    )
    assert words.places == ["a", "b", "--c", "-d"]
    assert words.all("x") == ["1", "3"]
    assert words.one("y") == "--2"
    assert words.switch("all")
    words.done(places=4, usage="")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(["--x"], id="a flag at the end"),
        pytest.param(["--x", "--y", "1"], id="a flag before a flag"),
        pytest.param(["--=1"], id="a flag without a name"),
        pytest.param(["--all=yes"], id="a switch with a value"),
        pytest.param(["-x"], id="one dash"),
    ],
)
@pytest.mark.requirement("P8")
def test_a_flag_without_its_value_is_a_usage_error(line: list[str]) -> None:
    with pytest.raises(Misused):
        read_words(line, switches={"all"})


@pytest.mark.parametrize("number", ["-5", "-0.5", "-1e3"])
def test_a_number_below_zero_is_no_flag(number: str) -> None:
    assert read_words(["--percent", number]).one("percent") == number
    assert read_words([number]).places == [number]


def test_what_a_command_does_not_take_is_refused_and_not_ignored() -> None:
    for line in (["a", "b"], ["a", "--odd", "1"], ["a", "--all"]):
        with pytest.raises(Misused, match="has no place here"):
            read_words(line, switches={"all"}).done(places=1, usage="…")
    with pytest.raises(Misused, match="2 times"):
        read_words(["--x", "1", "--x", "2"]).one("x")


@pytest.mark.parametrize("text", ["", "x", "1.5", "-1", "1e3", "٣", "9" * 30, "0x10", "1 "])
def test_a_whole_number_is_digits_in_bounds(text: str) -> None:
    with pytest.raises(Misused):
        read_words([f"--wait={text}"]).whole("wait")


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "", "half"])
def test_a_number_is_finite(text: str) -> None:
    with pytest.raises(Misused):
        read_words([f"--percent={text}"]).number("percent")


@settings(deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=20),
        min_size=1,
        max_size=6,
    )
)
def test_a_shell_reads_a_printed_command_line_as_the_same_words(words: list[str]) -> None:
    assert shlex.split(command_line(*words)) == words


@settings(deadline=None)
@given(st.text(max_size=300))
def test_nothing_that_is_printed_can_drive_a_terminal_or_begin_a_line(text: str) -> None:
    shown = printable(text)
    assert shown.isascii() or all(ord(one) > 159 or ord(one) in range(32, 127) for one in shown)
    assert not any(one in shown for one in "\0\a\b\t\n\v\f\r\x1b\x7f\x85\x9b\u2028\u2029\u202e\u2066")
