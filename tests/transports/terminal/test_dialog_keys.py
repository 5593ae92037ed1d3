"""Answering a dialog of a console that is slow: the mark is moved once, and confirmed only where it is seen to stand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.model.evidence import Source
from inspan.model.permission import NeedsInputKind, OptionKind
from inspan.model.reports import PermissionRequested, PermissionWithdrawn
from inspan.model.screen_rules import ScreenRule, ScreenRules
from inspan.model.typing_recipe import Choice, ChoiceList
from inspan.transports.terminal.arbitration import Verdict
from inspan.transports.terminal.evaluating import RuleBook
from inspan.transports.terminal.hands import Hands, HandsState
from inspan.transports.terminal.screen import CursorPlace, ScreenSize, Snapshot
from inspan.transports.terminal.typist import Sight

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
ASKED = Verdict(activity="needs_input", source=Source.SCREEN, rule="dialog", kind=NeedsInputKind.PERMISSION)
WORDS = ("Yes", "Always", "No")
KINDS = (OptionKind.ALLOW_ONCE, OptionKind.ALLOW_ALWAYS, OptionKind.REJECT_ONCE)
BOOK = RuleBook(
    ScreenRules(
        schema=1,
        source="this file",
        verified="2026-12-01",
        rules=(
            ScreenRule(
                name="dialog",
                report="needs_input",
                priority=1,
                kind=NeedsInputKind.PERMISSION,
                all=("^Run this",),
                answers=ChoiceList(
                    choices=tuple(
                        Choice(kind=kind, row=f"{word}$") for kind, word in zip(KINDS, WORDS, strict=True)
                    ),
                    marked="^> ",
                ),
            ),
        ),
    )
)
DOWN, UP, ENTER = b"\x1b[B", b"\x1b[A", b"\r"
STEP_S = 0.05


class SlowConsole:
    """A dialog whose program takes its keys so many seconds after they were written, and then shows what they did.

    The mark goes round: a key too many moves it to an answer that nobody wanted.
    """

    def __init__(self, lag_s: float) -> None:
        self.lag_s = lag_s
        self.marked = 0
        self.waiting: list[tuple[float, bytes]] = []
        self.taken: list[str] = []
        self.written: list[bytes] = []
        self.is_drawn = True

    def write(self, at_s: float, data: bytes) -> None:
        self.written.append(data)
        for key in data.replace(b"\x1b", b" \x1b").split(b" ")[1:] or [data]:
            self.waiting.append((at_s + self.lag_s, key))

    def run(self, now_s: float) -> None:
        while self.waiting and self.waiting[0][0] <= now_s:
            _, key = self.waiting.pop(0)
            if key == ENTER:
                self.taken.append(WORDS[self.marked])
            else:
                self.marked = (self.marked + (1 if key == DOWN else -1)) % len(WORDS)

    def show(self) -> Snapshot:
        rows = [
            f"{'>' if at == self.marked and self.is_drawn else ' '} {word}" for at, word in enumerate(WORDS)
        ]
        return Snapshot(
            size=ScreenSize(rows=24, columns=80),
            lines=("Run this command?", *rows, *("",) * 20),
            cursor=CursorPlace(row=0, column=0, is_visible=False),
            revision=0,
        )


def answer(console: SlowConsole, kind: OptionKind, *, for_s: float) -> list[object]:
    """Answers the dialog and looks at it every so often, until an answer was taken or the time is over."""
    hands = Hands(None, HandsState())
    reports: list[object] = []
    tick = 0
    while (now_s := tick * STEP_S) < for_s and not console.taken:
        now = BEGIN + timedelta(seconds=now_s)
        console.run(now_s)
        if console.taken:
            break
        snapshot = console.show()
        sight = Sight(now=now, verdict=ASKED, composer="elsewhere", blocks=("needs_input",))
        hands.look(sight, BOOK.read(snapshot), snapshot)
        for one in hands.reports:
            reports.append(one.body)
            if isinstance(one.body, PermissionRequested) and len(reports) == 1:
                option = next(option for option in one.body.options if option.kind is kind)
                assert hands.answer(one.body.wire_id, option.id, now)
        for one in hands.outgoing:
            console.write(now_s, one.data)
            hands.note_written(one.purpose, one.data, result="done", block="", now=now)
        hands.reports, hands.outgoing = [], []
        tick += 1
    return reports


@pytest.mark.requirement("L11", "H-N58")
@given(st.floats(0, 2.5), st.sampled_from(KINDS), st.integers(0, 2))
def test_a_console_that_is_slow_gets_no_key_too_many_and_takes_the_answer_that_was_given(
    lag_s: float, kind: OptionKind, marked: int
) -> None:
    console = SlowConsole(lag_s)
    console.marked = marked
    answer(console, kind, for_s=10)
    assert console.taken == [WORDS[KINDS.index(kind)]]
    assert len(console.written) == (1 if KINDS.index(kind) == marked else 2)


@pytest.mark.requirement("L11")
def test_a_mark_that_never_moves_is_moved_a_few_times_and_the_question_is_then_asked_anew() -> None:
    console = SlowConsole(1e9)
    reports = answer(console, OptionKind.REJECT_ONCE, for_s=60)
    assert console.taken == []
    assert set(console.written) == {DOWN + DOWN}
    assert [type(one) for one in reports] == [PermissionRequested, PermissionWithdrawn, PermissionRequested]


@pytest.mark.requirement("L11")
def test_no_key_is_pressed_where_no_answer_is_marked() -> None:
    console = SlowConsole(0)
    console.is_drawn = False
    reports = answer(console, OptionKind.REJECT_ONCE, for_s=5)
    assert console.written == []
    assert [type(one) for one in reports] == [PermissionRequested, PermissionWithdrawn, PermissionRequested]
