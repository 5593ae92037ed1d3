import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.cli.output import Output, Span, bold, clean, cut, one_line, width


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@given(st.text())
def test_cleaned_text_holds_no_control_character_but_tab_and_line_feed(text: str) -> None:
    assert not [one for one in clean(text) if unicodedata.category(one) in ("Cc", "Cs") and one not in "\t\n"]


@given(st.text(st.characters(exclude_categories=["C", "Z"])))
def test_text_without_control_characters_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b31m", "\\x9b31m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("safe\u202edesrever", "safe\\u202edesrever"),
        ("a\rb", "a\\x0db"),
        ("\udc80", "\\udc80"),
        ("日本 ✓", "日本 ✓"),
    ],
)
def test_what_could_drive_the_terminal_is_written_out(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_a_style_is_written_on_a_terminal_alone_and_never_from_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    terminal, pipe = Terminal(), io.StringIO()

    for stream in (terminal, pipe):
        Output(stdout=stream).line("\x1b[31mred ", Span("\x1b[1mname", "1"))

    assert terminal.getvalue() == "\\x1b[31mred \x1b[1m\\x1b[1mname\x1b[0m\n"
    assert pipe.getvalue() == "\\x1b[31mred \\x1b[1mname\n"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_declined(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)
    terminal = Terminal()

    Output(stdout=terminal).line(bold("name"))

    assert terminal.getvalue() == "name\n"


def test_columns_are_aligned_whatever_the_width_of_the_characters() -> None:
    stream = io.StringIO()

    Output(stdout=stream).table(
        ["NAME", "SAYS"], [["日本", "x"], [bold("plain-name"), "y\nz"], ["e\u0301", "w"]]
    )

    lines = stream.getvalue().splitlines()
    assert [width(line[: line.index(mark)]) for line, mark in zip(lines, "Sxyw", strict=True)] == [12] * 4
    assert lines[2].endswith("y z")


@given(st.text(max_size=60), st.integers(min_value=1, max_value=30))
def test_cut_text_fits(text: str, limit: int) -> None:
    assert width(cut(text, limit)) <= limit
    assert "\n" not in cut(text, limit)


def test_a_line_of_a_table_stays_one_line() -> None:
    assert one_line("a\n b\tc") == "a b c"


def test_json_for_a_terminal_is_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, pipe = Terminal(), io.StringIO()

    for stream in (terminal, pipe):
        Output(is_json=True, stdout=stream).value({"a": "\x9b日"})

    assert terminal.getvalue() == '{"a":"\\u009b\\u65e5"}\n'
    assert pipe.getvalue() == '{"a":"\x9b日"}\n'
