"""The state machine of a console: bytes in, and what is believed out, whenever somebody looks.

What is durable is a checkpoint of the screen, made every so many bytes, and what was said last. A daemon that comes
back draws the checkpoint, feeds what the journal holds behind it, and only then looks: so it says nothing twice.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from inspan.model.console import ConsoleJudged, ConsoleOpened, LostSay
from inspan.model.console_views import ConsoleExplanation, ForegroundView, ScreenView
from inspan.model.content import UsageUpdated
from inspan.model.evidence import Source
from inspan.model.hooks import HookReport
from inspan.model.inbox import Inbox
from inspan.model.plan import TransportSettings
from inspan.model.reports import PromptReady, Reported, SessionReady
from inspan.model.session import OpenedHow
from inspan.model.typing_recipe import Key, TypingBlock
from inspan.transports.machine import HarnessEnd, Step

from .arbitration import Verdict
from .blocks import Shown, what_blocks
from .composer import ComposerState, read_composer
from .console import NO_RULES, Console, ConsoleCheckpoint
from .context import read_context
from .explaining import explain_console, show_screen
from .hands import Hands, HandsState
from .hook_claims import NOT_HEARD, HookState, fingerprint_text, read_hook
from .identity import IDENTITY
from .readiness import NOT_READY, STABLE_S, Readiness, follow_readiness
from .screen import ScreenSize
from .typist import Sight, Typed

__all__ = ["CHECKPOINT_BYTES", "TerminalMachine"]

CHECKPOINT_BYTES = 256 * 1024
"""After how many bytes a checkpoint is made at the latest, so that no more has to be fed again.

Each one comes up to a quarter sooner: seats of one rate would all come to theirs together.
"""
ACTING_LOOK_S = 0.05
"""How long a console goes without a look while something is typed into it."""
FORCED_BYTES = 4 * 1024 * 1024
"""After how many bytes one is made in the middle of a sequence: a program that never ends one gets no more."""


class _Kept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is durable of a machine. The dump is packed, since it is stored at every change."""

    version: int = 1
    checkpoint: ConsoleCheckpoint | None = None
    judged: ConsoleJudged | None = None
    readiness: Readiness = NOT_READY
    is_announced: bool = False
    percent: int | None = None
    hands: HandsState = HandsState()
    hooks: HookState = NOT_HEARD


class TerminalMachine:
    """`inspan.transports.machine.Machine` and `WatchingMachine` for a harness on a terminal.

    No bytes make it raise. Nothing is pressed but in a look, and nothing goes out without `check_write`.

    Args:
        settings: What the transport is told of the launch.
        snapshot: Of a machine of the same launch, to go on from it; `start` is then not called.
        clock: The time.
    """

    def __init__(
        self,
        settings: TransportSettings,
        *,
        snapshot: bytes | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._rules = settings.terminal.rules or NO_RULES
        self._size = ScreenSize(rows=settings.terminal.rows, columns=settings.terminal.columns)
        self._kept = _Kept() if snapshot is None else _read(snapshot)
        self._foreground = ForegroundView()
        self._is_person_typing = False
        self._reply = b""
        self._open()

    @property
    def size(self) -> tuple[int, int]:
        """See `WatchingMachine.size`."""
        return self._console.size.columns, self._console.size.rows

    @property
    def is_at_ground(self) -> bool:
        """See `WatchingMachine.is_at_ground`."""
        return self._console.is_at_ground

    def start(self) -> Step:
        """Says which terminal the harness was given."""
        opened = ConsoleOpened(
            columns=self._size.columns,
            rows=self._size.rows,
            identity=_show_identity(),
            rules_source=self._rules.source if self._rules is not NO_RULES else "",
            rules_verified=self._rules.verified if self._rules is not NO_RULES else "",
        )
        return Step(
            reports=(Reported(body=opened, source=Source.CORE, rule="terminal.opened"),), changed=True
        )

    def feed(self, data: bytes) -> Step:
        """Shows the next bytes; says nothing, which is for `look`."""
        self._reply += self._console.feed(data, at=self._clock())
        self._fed += len(data)
        is_due = self._fed >= self._due_bytes or self._is_resized
        if is_due and (self._console.is_at_ground or self._fed >= FORCED_BYTES):
            return self._keep_screen()
        return Step()

    def look(self) -> Step:
        """See `WatchingMachine.look`."""
        now = self._clock()
        verdict = self._console.look(now=now)
        readiness = follow_readiness(self._kept.readiness, self._console.reading, verdict, now=now)
        self._readiness = readiness
        judged, source, rule = self._judge(verdict, readiness)
        reports: list[Reported] = []
        before = self._kept.judged
        if before is None or _differs(judged, before):
            reports.append(Reported(body=judged, source=source, rule=rule))
        where = self._settings.context_usage
        percent = read_context(where, self._console.snapshot()) if where.pattern else None
        if percent is not None and percent != self._kept.percent:
            usage = UsageUpdated(percent=percent, source=where.kind)
            reports.append(Reported(body=usage, source=Source.SCREEN, rule="terminal.context_usage"))
        is_announced = self._kept.is_announced
        if readiness.is_ready and not is_announced:
            is_announced = True
            reports.append(Reported(body=PromptReady(), source=Source.SCREEN, rule=readiness.rule))
            session = None if self._kept.hooks.session else self._settings.session_id
            if session is not None:
                how = OpenedHow.RESUMED if self._settings.attempt == "resume" else OpenedHow.NEW
                reports.append(
                    Reported(
                        body=SessionReady(session_id=session, how=how),
                        source=Source.SCREEN,
                        rule=readiness.rule,
                        session=session,
                    )
                )
        # While readiness is on its way nothing of it is durable: it begins again after a restart.
        self._kept = msgspec.structs.replace(
            self._kept,
            judged=judged if reports else before,
            readiness=readiness,
            is_announced=is_announced,
            percent=self._kept.percent if percent is None else percent,
        )
        self._hands.look(self._sight(verdict, now), self._console.reading, self._console.dialog_snapshot())
        return self._end_step(reports)

    def look_again_s(self) -> float | None:
        """See `WatchingMachine.look_again_s`."""
        waits = [self._console.look_again_s(now=self._clock())]
        if self._hands.is_acting:
            waits.append(ACTING_LOOK_S)
        if self._readiness.seen_at is not None and not self._readiness.is_ready:
            waits.append(STABLE_S / 5)
        known = [wait_s for wait_s in waits if wait_s is not None]
        return min(known) if known else None

    def take_reply(self) -> bytes:
        """See `WatchingMachine.take_reply`."""
        reply, self._reply = self._reply, b""
        return reply

    def resize(self, *, columns: int, rows: int) -> Step:
        """See `WatchingMachine.resize`."""
        self._size = ScreenSize(rows=rows, columns=columns)
        if self._size == self._console.size:
            return Step()
        self._reply += self._console.resize(self._size)
        if self._console.is_at_ground:
            return self._keep_screen()
        self._is_resized = True
        return Step()

    def note_foreground(self, foreground: ForegroundView) -> None:
        """See `WatchingMachine.note_foreground`."""
        self._foreground = foreground

    def note_person(self, *, is_typing: bool) -> None:
        """See `WatchingMachine.note_person`."""
        self._is_person_typing = is_typing
        if is_typing:
            self._hands.note_person()

    def hear_hook(self, report: HookReport) -> tuple[Step, str]:
        """See `WatchingMachine.hear_hook`."""
        settings, kept = self._settings, self._kept
        expected = settings.session_id if settings.attempt != "fork" else None
        says = read_hook(
            settings.hooks,
            kept.hooks,
            report,
            workspace=settings.workspace,
            expected=expected or "",
            now=self._clock(),
        )
        if says.dropped:
            return Step(), says.dropped
        if says.claim is not None:
            self._console.hear(says.claim)
        self._kept = msgspec.structs.replace(kept, hooks=says.state)
        reports: list[Reported] = []
        if says.session and says.session != kept.hooks.session:
            is_resumed = settings.attempt == "resume" and says.session == expected
            how = OpenedHow.RESUMED if is_resumed else OpenedHow.NEW
            if settings.attempt == "fork" and not kept.hooks.session:
                how = OpenedHow.FORKED
            opened = SessionReady(session_id=says.session, how=how)
            reports.append(Reported(body=opened, source=Source.HOOK, rule=says.rule, session=says.session))
        if says.prompt:
            self._hands.witness(says.prompt, Source.HOOK, says.rule, turn=says.turn)
        if says.ends is not None:
            self._hands.correct(
                says.ends,
                says.error,
                Source.HOOK,
                says.rule,
                turn=says.turn,
                tells_prompts=settings.hooks.has_witness,
            )
        return msgspec.structs.replace(self._end_step(reports), changed=True), ""

    def show_screen(self, *, seat: str, scrollback: int = 0) -> ScreenView:
        """See `WatchingMachine.show_screen`."""
        return show_screen(self._console, seat=seat, scrollback=scrollback)

    def explain(self) -> ConsoleExplanation:
        """See `WatchingMachine.explain`."""
        explained = explain_console(self._console, now=self._clock())
        return msgspec.structs.replace(explained, identity=_show_identity(), foreground=self._foreground)

    def redraw(self) -> bytes:
        """See `WatchingMachine.redraw`."""
        return self._console.redraw()

    def close(self) -> None:
        """See `WatchingMachine.close`."""
        self._console.close()

    def finish(self) -> Step:
        """Looks once more: the last words of a console may name what ended it."""
        self._hands.end()
        step = self.look()
        return msgspec.structs.replace(step, consumed=self._fed)

    def end(self, end: HarnessEnd) -> Step:
        """Says nothing: the end of the process ends no turn that a watcher knows of."""
        del end
        return Step()

    def prompt(self, delivery: str, text: str) -> Step:
        """As `type_prompt`."""
        return self.type_prompt(delivery, text)

    @property
    def can_type(self) -> bool:
        """See `WatchingMachine.can_type`."""
        return self._hands.can_type

    @property
    def inbox(self) -> Inbox | None:
        """See `WatchingMachine.inbox`."""
        return self._settings.terminal.inbox

    def type_prompt(
        self, delivery: str, text: str, *, ignores: tuple[TypingBlock, ...] = (), is_posted: bool = False
    ) -> Step:
        """See `WatchingMachine.type_prompt`."""
        now = self._clock()
        mark = fingerprint_text(text)
        self._hands.begin(
            Typed(delivery=delivery, at=now, text=text, ignores=ignores, mark=mark, is_posted=is_posted)
        )
        sight = self._sight(self._console.look(now=now), now)
        self._hands.type_at_once(sight, self._console.snapshot())
        return self._end_step([])

    def typing_blocks(self) -> tuple[TypingBlock, ...]:
        """See `WatchingMachine.typing_blocks`."""
        now = self._clock()
        if self._hands.state.typed is not None or self._hands.state.leftover:
            return ("typing",)
        return self._sight(self._console.look(now=now), now).blocks

    def press(self, keys: tuple[Key, ...]) -> Step:
        """See `WatchingMachine.press`."""
        self._hands.press(keys, self._console.snapshot())
        return self._end_step([])

    def check_write(self, purpose: str) -> TypingBlock:
        """See `WatchingMachine.check_write`."""
        now = self._clock()
        sight = self._sight(self._console.look(now=now), now)
        return self._hands.check(purpose, sight, self._console.reading, self._console.dialog_snapshot())

    def note_written(self, purpose: str, data: bytes, *, block: TypingBlock) -> Step:
        """See `WatchingMachine.note_written`."""
        result = "withheld" if block else "done"
        self._hands.note_written(purpose, data, result=result, block=block, now=self._clock())
        if not block and purpose in ("interrupt", "answer"):
            self._forget_hooks()
        return self._end_step([])

    def cancel(self) -> Step:
        """Interrupts the prompt that was typed, in the looks that follow, as long as work is seen."""
        self._hands.interrupt()
        return self._end_step([])

    def answer(self, wire_id: str, option: str | None) -> Step:
        """Answers the dialog that is open, in the looks that follow, as long as it asks the same."""
        self._hands.answer(wire_id, option, self._clock())
        return self._end_step([])

    def snapshot(self) -> bytes:
        """The newest checkpoint and what was said last, as JSON."""
        return msgspec.json.encode(self._kept)

    def rollback(self, snapshot: bytes) -> None:
        """Returns to an earlier snapshot; what was fed since then is forgotten."""
        self._console.close()
        size = self._size
        self._kept = _read(snapshot)
        self._reply = b""
        self._open()
        if size != self._console.size:
            self._console.resize(size)
        self._size = size

    def _end_step(self, reports: list[Reported]) -> Step:
        """The step with what the hands say and do; they are durable with it."""
        hands = self._hands
        said, outgoing = (*reports, *hands.reports), tuple(hands.outgoing)
        hands.reports, hands.outgoing = [], []
        changed = bool(said) or bool(outgoing) or hands.state is not self._kept.hands
        self._kept = msgspec.structs.replace(self._kept, hands=hands.state)
        return Step(reports=said, outgoing=outgoing, changed=changed)

    def _forget_hooks(self) -> None:
        """What hooks said of the session is over once a key ended it: some tell neither an interrupt nor a refusal."""
        hooks = self._kept.hooks
        if hooks.claim is not None:
            hooks = msgspec.structs.replace(hooks, claim=None, count=hooks.count + 1)
            self._console.withdraw(Source.HOOK, sequence=hooks.count)
            self._kept = msgspec.structs.replace(self._kept, hooks=hooks)

    def _sight(self, verdict: Verdict, now: datetime) -> Sight:
        recipe = self._settings.terminal.typing
        composer = "elsewhere" if recipe is None else read_composer(self._console.snapshot(), recipe.composer)
        return Sight(
            now=now,
            verdict=verdict,
            composer=composer,
            blocks=self._blocks(verdict, composer),
            is_half_drawn=self._console.is_half_drawn,
        )

    def _blocks(self, verdict: Verdict, composer: ComposerState) -> tuple[TypingBlock, ...]:
        """Why nothing may be typed. That nobody knows who has the terminal is reason enough."""
        if self._foreground.is_harness is not True:
            return ("foreground",)
        shown = Shown(
            composer=composer,
            is_work_shown=self._is_work_shown,
            is_ready=self._readiness.is_ready,
            has_approval_signal=self._settings.has_approval_signal,
        )
        blocks = what_blocks(verdict, shown)
        return ("person_typing", *blocks) if self._is_person_typing else blocks

    @property
    def _is_work_shown(self) -> bool:
        reading = self._console.reading
        return any(
            one is not None and one.rule.report == "running" for one in (reading.screen, reading.title)
        )

    def _open(self) -> None:
        self._hands = Hands(self._settings.terminal.typing, self._kept.hands)
        checkpoint = self._kept.checkpoint
        if checkpoint is not None:
            checkpoint = msgspec.structs.replace(checkpoint, dump=zlib.decompress(checkpoint.dump))
            self._size = ScreenSize(rows=checkpoint.rows, columns=checkpoint.columns)
        self._console = Console(
            self._size,
            rules=self._rules,
            scrollback_lines=self._settings.terminal.scrollback_lines,
            checkpoint=checkpoint,
        )
        if self._kept.hooks.claim is not None:
            self._console.hear(self._kept.hooks.claim)
        self._readiness = self._kept.readiness
        self._fed = 0
        self._due_bytes = _draw_due_bytes()
        self._is_resized = False

    def _keep_screen(self) -> Step:
        checkpoint = self._console.checkpoint()
        packed = msgspec.structs.replace(checkpoint, dump=zlib.compress(checkpoint.dump, 1))
        self._kept = msgspec.structs.replace(self._kept, checkpoint=packed)
        consumed, self._fed, self._is_resized = self._fed, 0, False
        self._due_bytes = _draw_due_bytes()
        return Step(consumed=consumed, changed=True)

    def _judge(self, verdict: Verdict, readiness: Readiness) -> tuple[ConsoleJudged, Source, str]:
        """What is believed, with its source and its rule. Another program in front hides the harness."""
        believed = verdict.considered[0].claim if verdict.at is not None and verdict.considered else None
        judged = ConsoleJudged(
            activity=verdict.activity,
            at=verdict.at,
            kind=verdict.kind,
            gate=verdict.gate,
            is_drawn=verdict.is_drawn,
            error=verdict.error,
            signs=verdict.signs,
            is_turn_over=verdict.is_turn_over,
            background=verdict.background,
            lost=tuple(LostSay(source=one.source, reason=one.reason) for one in verdict.demoted),
            is_ready=readiness.is_ready,
            readiness=readiness.reason,
            evidence="" if believed is None else believed.evidence,
        )
        if self._foreground.is_harness is False and verdict.source in (Source.SCREEN, Source.TITLE):
            name = self._foreground.name or "another program"
            hidden = ConsoleJudged(
                activity="unknown",
                readiness=f"{name} has the terminal",
                background=judged.background,
                evidence=name,
            )
            return hidden, Source.PROCESS, "terminal.foreground"
        return judged, verdict.source, verdict.rule


def _draw_due_bytes() -> int:
    return CHECKPOINT_BYTES - random.randrange(CHECKPOINT_BYTES // 4)  # noqa: S311 - no secret


def _read(snapshot: bytes) -> _Kept:
    """What `snapshot` gave.

    Raises:
        msgspec.DecodeError: It is no such state.
    """
    return msgspec.json.decode(snapshot, type=_Kept)


def _differs(one: ConsoleJudged, other: ConsoleJudged) -> bool:
    """Whether something else is believed; the age of the evidence and words that count down are not."""
    return _essence(one) != _essence(other)


def _essence(judged: ConsoleJudged) -> tuple[object, ...]:
    error = judged.error
    return (
        judged.activity,
        judged.kind,
        judged.gate,
        judged.is_drawn,
        None if error is None else (error.code, error.rule, error.resets),
        judged.signs,
        judged.is_turn_over,
        tuple((work.id, work.activity, work.kind) for work in judged.background),
        tuple(lost.source for lost in judged.lost),
        judged.is_ready,
    )


def _show_identity() -> dict[str, str]:
    return {
        "name": IDENTITY.name,
        "TERM": IDENTITY.term,
        "COLORTERM": IDENTITY.colorterm,
        "program_status": "answered" if IDENTITY.has_program_status else "not answered",
        "graphics": "answered" if IDENTITY.has_graphics else "not answered",
    }
