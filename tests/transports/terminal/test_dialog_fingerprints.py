"""The fingerprint of a dialog: one for each question, over all redraws, whatever stands around it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from inspan.conformance.console_fixtures import ConsoleSet, streams_of
from inspan.model.console_views import ForegroundView
from inspan.model.permission import NeedsInputKind, OptionKind
from inspan.model.plan import TransportSettings
from inspan.model.reports import PermissionRequested, PermissionWithdrawn
from inspan.model.screen_rules import Region, ScreenRule, ScreenRules
from inspan.model.terminal import TerminalSettings
from inspan.model.typing_recipe import Choice, ChoiceList
from inspan.transports.terminal.console import Console
from inspan.transports.terminal.dialogs import Dialog, read_dialog
from inspan.transports.terminal.evaluating import RuleBook
from inspan.transports.terminal.machine import TerminalMachine
from inspan.transports.terminal.replaying import steps_of
from inspan.transports.terminal.screen import CursorPlace, ScreenSize, Snapshot
from support.terminal_recordings import read_rules, recorded_sets, snapshots_of

ANSWERED = ("claude-code", "cline", "codex", "copilot", "gemini", "kimi", "opencode", "qwen", "vibe")
IN_PIECES = {
    ("copilot", "tmux-80x24"): "its end is drawn over from the top, in frames that nothing marks",
    ("gemini", "tmux-80x24"): "it is drawn twice, one row apart, in frames that nothing marks",
}
"""Recordings in which a look every so many bytes comes between the halves of a frame; a real one waits for its end."""
SETS = [
    (harness, recorded)
    for harness in ANSWERED
    for recorded in recorded_sets(harness)
    if (harness, recorded.name) not in IN_PIECES
    and any(state.state == "needs_input" for state in recorded.states.values())
]
BLANK = "\u2800"
FRAME = " ╭╮╰╯┌┐└┘─│┃"
START = datetime(2026, 11, 30, tzinfo=UTC)


def name_of(value: object) -> str:
    return value.name if isinstance(value, ConsoleSet) else str(value)


@functools.cache
def spells_of(harness: str, recorded: str) -> list[list[Dialog]]:
    """Every dialog of a set from its first look to its last."""
    one = next(one for one in recorded_sets(harness) if one.name == recorded)
    return [spell for stream, _ in streams_of(one) for spell in spells_in(harness, one, stream)]


def spells_in(harness: str, recorded: ConsoleSet, stream: bytes) -> Iterator[list[Dialog]]:
    console = Console(recorded.size, rules=read_rules(harness))
    now, spell = START, list[Dialog]()
    for begin, end, is_whole in steps_of(stream):
        now += timedelta(milliseconds=1)
        console.feed(stream[begin:end], at=now)
        if not is_whole:
            continue
        verdict = console.look(now=now)
        match = console.reading.screen
        if console.is_half_drawn or console.reading.is_ignored:
            continue
        if verdict.activity != "needs_input":
            match = None
        dialog = None if match is None else read_dialog(match, console.dialog_snapshot())
        if dialog is not None:
            spell.append(dialog)
        elif spell:
            yield spell
            spell = []
    console.close()
    if spell:
        yield spell


@pytest.mark.requirement("L11")
@pytest.mark.parametrize(("harness", "recorded"), SETS, ids=name_of)
def test_a_recorded_dialog_keeps_one_fingerprint_over_all_its_redraws(
    harness: str, recorded: ConsoleSet
) -> None:
    for spell in spells_of(harness, recorded.name):
        assert len({dialog.fingerprint for dialog in spell}) == 1, spell[0].subject


@pytest.mark.requirement("L11")
@pytest.mark.parametrize("harness", ANSWERED)
def test_no_two_recorded_dialogs_that_ask_different_things_have_one_fingerprint(harness: str) -> None:
    asked: dict[str, set[tuple[object, ...]]] = {}
    for recorded in recorded_sets(harness):
        for spell in spells_of(harness, recorded.name):
            for one in spell:
                what = (one.rule, one.subject, one.path, *(row.option.name for row in one.rows))
                asked.setdefault(one.fingerprint, set()).add(what)
    assert len(asked) > 1 or harness == "kimi"
    assert [found for found in asked.values() if len(found) > 1] == []


@functools.cache
def book_of(harness: str) -> RuleBook:
    return RuleBook(read_rules(harness), budget_s=60.0)


def read(harness: str, snapshot: Snapshot) -> Dialog | None:
    match = book_of(harness).read(snapshot).screen
    return None if match is None else read_dialog(match, snapshot)


def fingerprint(harness: str, snapshot: Snapshot) -> str:
    """Empty where no dialog is seen."""
    dialog = read(harness, snapshot)
    return "" if dialog is None else dialog.fingerprint


def with_row(snapshot: Snapshot, at: int, row: str) -> Snapshot:
    lines = (*snapshot.lines[:at], row, *snapshot.lines[at + 1 :])
    return msgspec.structs.replace(snapshot, lines=lines)


def first_row(harness: str, state: str) -> int:
    """The first row of a screen of which a change changes what is asked."""
    snapshot = snapshots_of(harness)[state]
    whole = fingerprint(harness, snapshot)
    assert whole
    return next(
        at
        for at, row in enumerate(snapshot.lines)
        if fingerprint(harness, with_row(snapshot, at, f"{row}{BLANK}")) != whole
    )


def answer_rows(harness: str, state: str) -> list[int]:
    """The rows in which its answers begin."""
    snapshot = snapshots_of(harness)[state]
    dialog = read(harness, snapshot)
    assert dialog is not None
    names = [row.option.name for row in dialog.rows]
    return [max(at for at, row in enumerate(snapshot.lines) if name in row) for name in names]


BEGINNINGS = {
    ("claude-code", "120x40/approval"): "─" * 120,
    ("claude-code", "80x24/trust"): "─" * 80,
    ("cline", "tmux-80x24/approval"): " Cline needs permission",
    ("codex", "120x40/approval"): "  Would you like to run the following command?",
    ("codex", "made-80x24/trust"): "> You are in /u/dev/ws",
    ("copilot", "120x40/approval"): "╭" + "─" * 118 + "╮",
    ("copilot", "tmux-80x24/trust"): "╭" + "─" * 78 + "╮",
    ("gemini", "80x24/approval"): "╭" + "─" * 78 + "╮",
    ("gemini", "80x24/trust"): " ╭" + "─" * 76 + "╮",
    ("kimi", "tmux-80x24/approval"): "╭─ approval " + "─" * 67 + "╮",
    ("opencode", "120x40/approval"): "  ┃",
    ("qwen", "120x40/approval"): "  ? Shell echo start > busy-tool.txt && sleep 8 (Write a scripted file) ←",
    ("vibe", "120x40/approval"): "┌" + "─" * 118 + "┐",
}  # fmt: skip


@pytest.mark.requirement("L11")
@pytest.mark.parametrize(("harness", "state"), sorted(BEGINNINGS))
def test_what_stands_above_a_dialog_or_below_its_answers_says_nothing_of_what_is_asked(
    harness: str, state: str
) -> None:
    snapshot = snapshots_of(harness)[state]
    first, last = first_row(harness, state), answer_rows(harness, state)[-1]
    assert snapshot.lines[first] == BEGINNINGS[harness, state]
    ends = next(at for at, row in enumerate(snapshot.lines) if at > last and not row.strip(FRAME))
    whole = fingerprint(harness, snapshot)
    shown = max(at for at, row in enumerate(snapshot.lines) if row) + 1
    for at in {*range(first), *range(ends + 1, shown)}:
        assert fingerprint(harness, with_row(snapshot, at, "⠋ 9s")) in ("", whole), at


@pytest.mark.requirement("L11")
@pytest.mark.parametrize(("harness", "state"), sorted(BEGINNINGS))
def test_no_letter_above_the_answers_can_be_another_without_another_fingerprint(
    harness: str, state: str
) -> None:
    snapshot = snapshots_of(harness)[state]
    whole = fingerprint(harness, snapshot)
    for at in range(first_row(harness, state), answer_rows(harness, state)[0]):
        row = snapshot.lines[at]
        for place in (place for place, letter in enumerate(row) if letter.isalnum()):
            changed = with_row(snapshot, at, f"{row[:place]}*{row[place + 1 :]}")
            assert fingerprint(harness, changed) != whole, (at, place)


ASKS = ScreenRules(
    schema=1,
    source="test",
    verified="today",
    rules=(
        ScreenRule(
            name="dialog",
            report="needs_input",
            kind=NeedsInputKind.PERMISSION,
            priority=90,
            region=Region(of="last_rows", rows=3),
            all=("^[> ] Yes$",),
            answers=ChoiceList(
                choices=(
                    Choice(kind=OptionKind.ALLOW_ONCE, row="Yes"),
                    Choice(kind=OptionKind.REJECT_ONCE, row="No$"),
                ),
                marked="^> ",
                begins=r"^Run this\?$",
            ),
        ),
    ),
)


def asked(*rows: str) -> str:
    lines = (*rows, "> Yes", "  No")
    snapshot = Snapshot(
        size=ScreenSize(rows=24, columns=80),
        lines=(*lines, *("",) * (24 - len(lines))),
        cursor=CursorPlace(row=0, column=0, is_visible=False),
        revision=0,
    )
    match = RuleBook(ASKS).read(snapshot).screen
    assert match is not None
    dialog = read_dialog(match, snapshot)
    assert dialog is not None
    return dialog.fingerprint


@pytest.mark.requirement("L11")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("sleep 8s", "sleep 9s"),
        ("kill (3s)", "kill (4s)"),
        ("rm -rf cache", "rm -rf cache/*"),
        ("cat notes", "cat notes |"),
        ("echo esc to go, then this", "echo esc to go, then that"),
        ("echo ⠋ a", "echo ⠋ b"),
    ],
)
def test_two_commands_that_differ_in_what_elsewhere_only_moves_are_two_questions(
    one: str, other: str
) -> None:
    assert asked("Run this?", f"$ {one}") != asked("Run this?", f"$ {other}")


@pytest.mark.requirement("L11")
def test_a_command_that_draws_the_beginning_of_a_dialog_hides_nothing_of_itself() -> None:
    imitated = ("Run this?", "$ echo harmless")
    assert asked("Run this?", "$ rm -rf cache", *imitated) != asked("Run this?", "$ rm -rf home", *imitated)


@pytest.mark.requirement("L11")
def test_where_no_beginning_is_seen_the_whole_screen_is_what_is_asked() -> None:
    assert asked("⠋ 1s", "$ ls") != asked("⠙ 2s", "$ ls")


@pytest.mark.requirement("L11")
def test_a_dialog_stays_open_while_the_spinner_above_it_turns_and_while_a_frame_is_half_drawn() -> None:
    now = START
    settings = TransportSettings(workspace="/w", terminal=TerminalSettings(rules=ASKS, columns=80, rows=24))
    machine = TerminalMachine(settings, clock=lambda: now)
    machine.note_foreground(ForegroundView(is_harness=True))
    machine.start()
    dialog = b"Run this?\r\n$ ls\r\n> Yes\r\n  No"
    said: list[object] = []
    for frame in (
        "⠋ 1s\r\n".encode() + dialog,
        "⠙ 2s\r\n".encode() + dialog,
        "\x1b[?2026h\x1b[2J\x1b[H⠹ 3s\r\n".encode(),
        dialog + b"\x1b[?2026l",
    ):
        now += timedelta(milliseconds=20)
        is_rest = frame.startswith((b"Run", b"\x1b[?2026h"))
        machine.feed(frame if is_rest else b"\x1b[2J\x1b[H" + frame)
        said += [one.body for one in machine.look().reports]
    machine.close()
    assert [type(one) for one in said if isinstance(one, PermissionRequested | PermissionWithdrawn)] == [
        PermissionRequested
    ]
