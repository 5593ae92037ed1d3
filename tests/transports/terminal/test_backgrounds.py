"""Backgrounds: by which colours a console marks an answer, and where nobody can say which one is marked."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.model.permission import OptionKind
from inspan.model.typing_recipe import Choice, ChoiceList
from inspan.transports.terminal.backgrounds import read_backgrounds
from inspan.transports.terminal.dialogs import Dialog, next_keys, read_dialog
from inspan.transports.terminal.evaluating import RuleBook
from inspan.transports.terminal.opening import open_screen
from inspan.transports.terminal.screen import ScreenSize, Snapshot
from support.terminal_recordings import read_rules, snapshots_of

SIDE_BY_SIDE = ("opencode", "120x40/approval")
STACKED = ("vibe", "120x40/approval")

COLOURS = st.one_of(
    st.integers(40, 47).map(str),
    st.integers(100, 107).map(str),
    st.integers(16, 255).map(lambda number: f"48;5;{number}"),
    st.tuples(*[st.integers(0, 255)] * 3).map(lambda rgb: "48;2;{};{};{}".format(*rgb)),
    st.just("49"),
)
PENS = st.sampled_from(["", "1;", "2;", "4;", "31;", "38;5;7;", "38;2;1;2;3;", "3;9;"])
RUNS = st.lists(st.tuples(PENS, COLOURS, st.text("abc xyz─é漢", min_size=1, max_size=6)), max_size=8)


def read(snapshot: Snapshot, harness: str) -> tuple[Dialog, ChoiceList]:
    match = RuleBook(read_rules(harness)).read(snapshot).screen
    assert match is not None
    assert match.rule.answers is not None
    dialog = read_dialog(match, snapshot)
    assert dialog is not None
    return dialog, match.rule.answers


def paint(snapshot: Snapshot, grounds: dict[str, str]) -> Snapshot:
    """The screen with other backgrounds below words."""
    assert snapshot.backgrounds is not None
    rows = [list(row) for row in snapshot.backgrounds]
    for words, ground in grounds.items():
        at = max(number for number, line in enumerate(snapshot.lines) if words in line)
        begin = snapshot.lines[at].index(words)
        rows[at][begin : begin + len(words)] = [ground] * len(words)
    return msgspec.structs.replace(snapshot, backgrounds=tuple(map(tuple, rows)))


def marked(snapshot: Snapshot, harness: str) -> list[bool]:
    return [row.is_marked for row in read(snapshot, harness)[0].rows]


@given(RUNS)
def test_characters_have_the_same_background_where_they_were_drawn_on_the_same_one(
    runs: list[tuple[str, str, str]],
) -> None:
    screen = open_screen(ScreenSize(rows=2, columns=100))
    screen.feed("".join(f"\x1b[0m\x1b[{pen}{colour}m{text}" for pen, colour, text in runs).encode())
    shown = screen.painted()
    screen.close()
    assert shown.backgrounds is not None
    drawn = [(character, colour) for _, colour, text in runs for character in text]
    assert shown.lines[0] == "".join(character for character, _ in drawn).rstrip()
    assert len(shown.backgrounds[0]) == len(shown.lines[0])
    names: dict[str, str] = {}
    for ground, (_, colour) in zip(shown.backgrounds[0], drawn, strict=False):
        assert names.setdefault(_same(colour), ground) == ground
    assert len(set(names.values())) == len(names)


def _same(colour: str) -> str:
    """The palette's first sixteen have two names."""
    if colour.isdigit() and colour != "49":
        number = int(colour)
        return f"48;5;{number - 40 if number < 50 else number - 92}"
    return colour


def test_an_inverted_pen_has_the_colour_of_the_text_as_its_background() -> None:
    text, grounds = read_backgrounds(b"a\x1b[31;7mb\x1b[27mc\x1b[0m\x1b[7md\x1b[41me")
    assert text == "abcde"
    assert grounds == ("", "text 31", "", "text ", "text ")


@given(st.binary(max_size=60))
def test_no_bytes_make_the_reader_raise_and_every_character_has_a_background(drawn: bytes) -> None:
    text, grounds = read_backgrounds(drawn)
    assert len(text) == len(grounds)


@pytest.mark.requirement("L11")
def test_a_mark_that_is_a_colour_is_moved_as_far_as_it_has_to_and_confirmed_once_it_is_seen_there() -> None:
    harness, screen = SIDE_BY_SIDE
    shown = snapshots_of(harness)[screen]
    dialog, answers = read(shown, harness)
    allow, _, refuse = (row.option.id for row in dialog.rows)
    assert [row.option.kind for row in dialog.rows][::2] == [OptionKind.ALLOW_ONCE, OptionKind.REJECT_ONCE]
    assert next_keys(dialog, answers, allow) == (("enter",), True)
    assert next_keys(dialog, answers, refuse) == (("right", "right"), False)

    moved = paint(shown, {"Allow once": "plain", "Allow always": "plain", "Reject": "bright"})
    dialog, answers = read(moved, harness)
    assert [row.is_marked for row in dialog.rows] == [False, False, True]
    assert next_keys(dialog, answers, refuse) == (("enter",), True)
    assert next_keys(dialog, answers, allow) == (("left", "left"), False)


@pytest.mark.requirement("L11")
@pytest.mark.parametrize(
    "grounds",
    [
        {"Allow once": "a", "Allow always": "a", "Reject": "a"},
        {"Allow once": "a", "Allow always": "b", "Reject": "c"},
        {"Allow once": "a", "Allow always": "a", "Reject": "b", "Re": "a"},
    ],
    ids=["all alike", "all different", "one on two backgrounds"],
)
def test_no_answer_is_marked_and_no_key_is_pressed_where_the_colours_do_not_tell(
    grounds: dict[str, str],
) -> None:
    harness, screen = SIDE_BY_SIDE
    dialog, answers = read(paint(snapshots_of(harness)[screen], grounds), harness)
    assert [row.is_marked for row in dialog.rows] == [False, False, False]
    assert {next_keys(dialog, answers, row.option.id) for row in dialog.rows} == {None}


@pytest.mark.requirement("L11")
@pytest.mark.parametrize(("harness", "screen"), [SIDE_BY_SIDE, STACKED])
def test_no_answer_is_marked_where_the_emulator_tells_no_colours_or_an_answer_is_not_there(
    harness: str, screen: str
) -> None:
    shown = snapshots_of(harness)[screen]
    assert marked(shown, harness).count(True) == 1
    assert True not in marked(msgspec.structs.replace(shown, backgrounds=None), harness)
    missing = msgspec.structs.replace(
        shown, lines=tuple(line.replace("Always allow", "").replace("Reject", "") for line in shown.lines)
    )
    assert True not in marked(missing, harness)


@pytest.mark.requirement("L11")
def test_the_fingerprint_does_not_change_with_the_colours() -> None:
    harness, screen = STACKED
    shown = snapshots_of(harness)[screen]
    moved = paint(shown, {"1. Allow once": "", "4. Deny": "bright"})
    assert marked(moved, harness) == [False, False, False, True]
    assert read(moved, harness)[0].fingerprint == read(shown, harness)[0].fingerprint


@pytest.mark.parametrize(
    ("count", "look"),
    [(2, ""), (3, "^> ")],
    ids=["two answers", "a mark beside"],
)
def test_a_list_whose_mark_nobody_could_tell_is_refused(count: int, look: str) -> None:
    choices = tuple(Choice(kind=OptionKind.OTHER, row=f"{at}") for at in range(count))
    with pytest.raises(ValueError, match="is_marked_by_background"):
        ChoiceList(choices=choices, is_marked_by_background=True, marked=look)
