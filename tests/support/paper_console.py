"""A console on paper: the scripted composer without a process, and a core that follows the rules of the real one.

The core keeps what is durable apart from what is not, and may be thrown away between any two of its steps.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from inspan.model.console_views import ForegroundView
from inspan.model.permission import OptionKind
from inspan.model.plan import TransportSettings
from inspan.model.reports import (
    PermissionRequested,
    PermissionWithdrawn,
    PromptAnswered,
    PromptRendered,
    PromptTakenBack,
)
from inspan.model.terminal import TerminalSettings
from inspan.model.turn import TurnOutcome
from inspan.transports.machine import Outgoing, Step
from inspan.transports.terminal.machine import TerminalMachine

from .console_ground import COMPOSER_RULES, COMPOSER_TYPING
from .scripted_composer import Console

__all__ = ["PaperConsole", "PaperCore", "Schedule"]

TICK_S = 0.06
LENT_TICKS = 12


class PaperConsole(Console):
    """The program, in this process, on a clock that is moved by hand."""

    def __init__(self) -> None:
        self.time_s = 0.0
        super().__init__(Path("/nonexistent"))
        self.clock = lambda: self.time_s  # type: ignore[method-assign]
        self.journal = bytearray()
        self.logs: dict[str, list[dict[str, Any]]] = {}
        self.lent_until = 0.0
        self.front = bytearray()
        self.emit(b"\x1b[?2004h\x1b[?1049h")
        self.draw()

    @property
    def is_lent(self) -> bool:
        return self.time_s < self.lent_until

    def emit(self, data: bytes) -> None:
        self.journal += data

    def log(self, name: str, **values: Any) -> None:
        self.logs.setdefault(name, []).append(values)

    def lend(self) -> None:
        self.lent_until = self.time_s + LENT_TICKS * TICK_S

    def read(self, data: bytes) -> None:
        """Reads what was written to the terminal, unless another program does."""
        if self.is_lent:
            self.front += data
        else:
            self.take(data)
            self.draw()


class PaperCore:
    """What seats, store and holder do with a machine, on paper."""

    def __init__(self, console: PaperConsole) -> None:
        self.console = console
        self.settings = TransportSettings(
            workspace="/w",
            terminal=TerminalSettings(rules=COMPOSER_RULES, typing=COMPOSER_TYPING, columns=100, rows=30),
        )
        self.queue: list[tuple[str, str]] = []
        self.flight: tuple[str, str] | None = None
        self.ends: dict[str, TurnOutcome] = {}
        self.errors: dict[str, str] = {}
        self.rendered: set[str] = set()
        self.request: PermissionRequested | None = None
        self.answered: str | None = None
        # durable
        self.offset = 0
        self.outbox: list[tuple[int, Outgoing]] = []
        self.next_op = 1
        # the holder's
        self.done_op = 0
        self.withheld: set[int] = set()
        self.person_until = -1.0
        self.machine = TerminalMachine(self.settings, clock=self.now)
        self.snapshot = self.machine.snapshot()
        self.fed = 0
        self.commit(self.machine.start())

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.console.time_s)

    def crash(self) -> None:
        """Everything that is not durable is gone."""
        self.machine.close()
        self.machine = TerminalMachine(self.settings, snapshot=self.snapshot, clock=self.now)
        self.fed = self.offset
        self.feed()

    def feed(self) -> None:
        data = bytes(self.console.journal[self.fed :])
        if data:
            self.fed += len(data)
            self.commit(self.machine.feed(data))
            self.machine.take_reply()

    def look(self) -> None:
        self.machine.note_foreground(ForegroundView(is_harness=not self.console.is_lent, name="other"))
        self.machine.note_person(is_typing=self.console.time_s < self.person_until)
        self.commit(self.machine.look())
        if self.flight is None and self.queue and not self.machine.typing_blocks():
            self.flight = self.queue.pop(0)
            self.commit(self.machine.type_prompt(*self.flight))

    def write(self, crash_before_note: bool = False) -> bool:
        """Hands the next write over, as far as it is still allowed; whether there was one."""
        if not self.outbox:
            return False
        op, outgoing = self.outbox[0]
        if op <= self.done_op:
            block: Any = "not_ready" if op in self.withheld else ""
        else:
            self.machine.note_foreground(ForegroundView(is_harness=not self.console.is_lent, name="other"))
            self.machine.note_person(is_typing=self.console.time_s < self.person_until)
            block = self.machine.check_write(outgoing.purpose)
            self.done_op = op
            if block:
                self.withheld.add(op)
            else:
                self.console.read(outgoing.data)
        if crash_before_note:
            self.crash()
            return True
        step = self.machine.note_written(outgoing.purpose, outgoing.data, block=block)
        self.outbox.pop(0)
        self.commit(step)
        return True

    def answer(self, kind: OptionKind) -> None:
        if self.request is None or self.answered == self.request.wire_id:
            return
        option = next(one for one in self.request.options if one.kind is kind)
        self.answered = self.request.wire_id
        self.commit(self.machine.answer(self.request.wire_id, option.id))

    def commit(self, step: Step) -> None:
        for reported in step.reports:
            match reported.body:
                case PromptAnswered() as body:
                    assert self.flight is not None
                    assert self.flight[0] == body.delivery, "an answer to a prompt that is not in flight"
                    assert body.delivery not in self.ends, "a turn ended twice"
                    self.ends[body.delivery] = body.outcome
                    if body.error is not None:
                        self.errors[body.delivery] = body.error.code
                    self.flight = None
                case PromptTakenBack() as body:
                    assert self.flight is not None
                    assert self.flight[0] == body.delivery
                    self.queue.insert(0, self.flight)
                    self.flight = None
                case PromptRendered() as body:
                    self.rendered.add(body.delivery)
                case PermissionRequested() as body:
                    assert self.request is None, "two dialogs at once"
                    self.request = body
                case PermissionWithdrawn() as body:
                    assert self.request is not None
                    assert self.request.wire_id == body.wire_id
                    self.request = None
                case _:
                    pass
        for outgoing in step.outgoing:
            self.outbox.append((self.next_op, outgoing))
            self.next_op += 1
        self.offset += step.consumed
        if step.changed or step.consumed:
            self.snapshot = self.machine.snapshot()


class Schedule:
    """One random run: prompts, dialogs, drafts, people, other programs and crashes, and then what came of it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.console = PaperConsole()
        self.console.work_s = self.random.choice((0.05, 0.3, 1.0))
        self.core = PaperCore(self.console)
        self.texts: dict[str, str] = {}
        self.intended: list[tuple[str, str]] = []

    def run(self, steps: int = 60) -> None:
        """The run, and after it a quiet time in which everything that waits comes to its end."""
        for _ in range(30):
            self._tick()
        for _ in range(steps):
            self._disturb()
            self._tick()
        for _ in range(3000):
            if self.core.request is not None:
                self._answer()
            if self.console.is_draft:
                self.console.do("undraft", "")
            self.console.deaf = 0
            if not self.core.queue and self.core.flight is None and not self.core.outbox:
                break
            self._tick()
        self.core.machine.close()

    def _tick(self) -> None:
        self.console.time_s += TICK_S
        if not self.console.is_lent:
            self.console.tick()
        self.core.feed()
        self.core.look()
        while self.core.write(crash_before_note=self.random.random() < 0.02):
            self.core.feed()
        if self.random.random() < 0.03:
            self.core.crash()

    def _answer(self) -> None:
        request = self.core.request
        if request is None:
            return
        kind = self.random.choice((OptionKind.ALLOW_ONCE, OptionKind.REJECT_ONCE, OptionKind.ALLOW_ALWAYS))
        before = self.core.answered
        self.core.answer(kind)
        if self.core.answered != before:
            self.intended.append((request.tool_call.title, str(kind)))

    def _disturb(self) -> None:
        console, core = self.console, self.core
        match self.random.randrange(14):
            case 0 | 1 | 2:
                number = len(self.texts)
                lines = self.random.choice(("", "\nsecond line", "\n\n"))
                text = f"prompt {number}{lines} end"
                self.texts[f"d{number}"] = text
                core.queue.append((f"d{number}", text))
            case 3 if console.dialog is None and not console.is_lent:
                console.do("dialog", f"command {self.random.randrange(1000)}")
                console.draw()
            case 4:
                self._answer()
            case 5 if console.dialog is not None and not console.is_lent:
                # A person answers, or the dialog goes away, or becomes another one.
                console.do(*self.random.choice((("undialog", ""), ("dialog", "quite another"))))
                console.draw()
            case 6 if console.dialog is not None and not console.is_lent:
                console.marked = self.random.randrange(3)
                console.draw()
            case 7 if not console.text and console.dialog is None and not console.is_lent:
                core.person_until = console.time_s + 1.0
                core.machine.note_person(is_typing=True)
                console.do("draft", "a person's words")
                console.draw()
            case 8 if console.is_draft:
                console.do("undraft", "")
                console.draw()
            case 9:
                console.do("swallow", "")
            case 10:
                console.do("deaf", str(self.random.randrange(3)))
            case 11 if console.dialog is None:
                console.lend()
            case 12 if (
                console.text and not console.is_draft and console.dialog is None and not console.is_lent
            ):
                # A person who is attached types into what stands there.
                core.person_until = console.time_s + 1.0
                core.machine.note_person(is_typing=True)
                console.text += " and more"
                console.is_draft = True
                console.draw()
            case 13 if core.flight is not None and self.random.random() < 0.3:
                core.commit(core.machine.cancel())
            case _:
                pass
