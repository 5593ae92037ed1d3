"""An actor: one seat, one thing at a time. Decides, makes durable, and only then lets things happen."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import TYPE_CHECKING

import msgspec

from inspan.model.console import KeysPressed
from inspan.model.errors import HostError, StoreError
from inspan.model.events import (
    CancelRequested,
    DeliverySending,
    Envelope,
    Event,
    LaunchEnded,
    LaunchRequested,
    PermissionAnswered,
    StopRequested,
)
from inspan.model.hooks import HookReport
from inspan.model.permission import AnsweredBy
from inspan.model.plan import Problem
from inspan.model.reports import ConnectFailed, PromptAnswered, PromptCorrected, ReportBody, SessionFailed
from inspan.model.session import ResumeOutcome
from inspan.model.state import SeatState
from inspan.model.turn import CallError, TurnOutcome
from inspan.model.typing_recipe import TypingBlock
from inspan.store import Append, OutboxRow, Store
from inspan.transports.machine import HarnessEnd, Outgoing, Step
from inspan.transports.watching import WatchingMachine

from .decide import decide_into
from .decision import Context, Decision
from .early_exit import has_no_session_yet, read_last_lines
from .harnesses import utc_now
from .inputs import HolderUp, Input, LaunchPlanned, TransportReported
from .link import Link
from .sessions import operations_of
from .speaking import operate, send_prompt

if TYPE_CHECKING:
    from .consoles import LiveConsole

__all__ = ["Classify", "SeatActor", "Spawn"]

Classify = Callable[[SeatState, CallError], Awaitable[CallError]]
"""Turns a harness's error into one that its manifest knows better."""

Spawn = Callable[["SeatActor", str], None]
"""Begins to carry out a launch that was decided on."""

_RETRY_S = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Waits between attempts to write to a log that refuses; the last one goes on for ever."""

_RESUME_OUTCOMES = {"session_missing": ResumeOutcome.MISSING, "session_in_use": ResumeOutcome.IN_USE}
"""What became of a resume, where the manifest knows the harness's error better than its protocol says it."""

_CONTEXT_KEPT_S = 1.0
"""For how long what is known of a harness is good enough to take its words."""

_log = logging.getLogger("inspan.seats")


class SeatActor:
    """Serialises everything that happens to one seat.

    Args:
        name: The seat.
        state: Its state, folded from the log; `None` for a seat that does not exist yet.
        store: The log.
        context: What the decider needs to know of the seat's harness.
        classify: Reads a harness's errors by its manifest.
        spawn: Starts the task of a launch.

    Attributes:
        state: The state, as durable.
        link: The launch that is followed.
        stop_wanted: Set once the live launch is to end.
        is_attached: Whether this daemon is connected to the launch's holder.
        console: Its terminal, where it has one, while this daemon is connected.
        fault: What of ours keeps the launch from being followed.
    """

    def __init__(
        self,
        name: str,
        state: SeatState | None,
        *,
        store: Store,
        context: Callable[[SeatState | None], Context],
        classify: Classify,
        spawn: Spawn,
    ) -> None:
        self.name = name
        self.state = state
        self.link: Link | None = None
        self.stop_wanted = asyncio.Event()
        self.is_attached = False
        self.console: LiveConsole | None = None
        self.fault: Problem | None = None
        self._seen: Context | None = None
        self._seen_at = 0.0
        self._store = store
        self._context = context
        self._classify = classify
        self._spawn = spawn
        self._lock = asyncio.Lock()
        self._running: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self._changed = asyncio.Event()
        self._expected: list[tuple[Callable[[Event], bool], asyncio.Future[Event]]] = []
        if state is not None and state.live_launch is not None and state.live_launch.status == "stopping":
            self.stop_wanted.set()

    async def give(
        self,
        given: Input | None,
        *,
        check: Callable[[], None] | None = None,
        done: tuple[tuple[str, int], ...] = (),
        drop_launch: str | None = None,
    ) -> tuple[Envelope, ...]:
        """Decides on an input and makes it durable; a caller that goes away changes nothing of that.

        Args:
            given: The input; `None` only notes what is `done`.
            check: Called first, with nothing else happening to the seat; what it raises refuses the input.
            done: Writes that need no more care.
            drop_launch: A launch that is over.

        Raises:
            InspanError: The input was refused, or the log refused it; nothing happened.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[Envelope, ...]] = loop.create_future()

        async def work() -> None:
            try:
                async with self._lock:
                    if check is not None:
                        check()
                    result = await self._transact(
                        lambda decision: None if given is None else decide_into(decision, given),
                        done=done,
                        drop_launch=drop_launch,
                    )
            except asyncio.CancelledError:
                answer.cancel()
                raise
            except Exception as error:  # noqa: BLE001 - handed to the caller
                if not answer.cancelled():
                    answer.set_exception(error)
            else:
                if not answer.cancelled():
                    answer.set_result(result)

        if self._is_closed:
            raise HostError(
                "The daemon is stopping.", code="daemon_stopping", hint="Ask again once it is back."
            )
        task = asyncio.create_task(work())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(answer)

    async def give_surely(
        self, given: Input | None, *, done: tuple[tuple[str, int], ...] = (), drop_launch: str | None = None
    ) -> None:
        """As `give`, for what must not be forgotten: waits for a log that refuses to take it."""
        await self._insist(lambda: self.give(given, done=done, drop_launch=drop_launch))

    async def plan(self, link: Link, planned: LaunchPlanned) -> None:
        """Records the intent to start a holder, with the place from which its launch is followed.

        Raises:
            StoreError: The log refused it; nothing happened.
        """

        def work(decision: Decision) -> Step:
            decide_into(decision, planned)
            return Step(changed=True)

        async with self._lock:
            await self._transact(work, link=link)
            self.link = link

    async def begin(self, link: Link, up: HolderUp) -> None:
        """Records that the process runs and begins its handshake, together."""
        await self._take(link, link.machine.start, first=up)

    async def absorb(self, link: Link, data: bytes) -> None:
        """Turns bytes of the harness into events, exactly once; waits for a log that refuses."""
        await self._insist(lambda: self._alone(lambda: self._absorb(link, data)))

    async def speak(self, link: Link, speak: Callable[[], Step]) -> None:
        """Has the machine do something by itself, and takes what comes of it."""
        await self._take(link, speak)

    async def look(self, link: Link, machine: WatchingMachine) -> None:
        """Has a machine that has a screen look at it; most looks say nothing new."""
        await self._take(link, machine.look, is_recent=True)

    async def hear_hook(self, link: Link, machine: WatchingMachine, report: HookReport) -> str:
        """Takes an event of the harness's hooks, and says why it was dropped; empty where it was not."""
        reason = ""

        def hear() -> Step:
            nonlocal reason
            step, reason = machine.hear_hook(report)
            return step

        await self._take(link, hear, is_recent=True)
        return reason

    async def note_keys(
        self, link: Link, machine: WatchingMachine, row: OutboxRow, block: TypingBlock, ended: Input | None
    ) -> None:
        """Takes note of what became of keys that were to be pressed; with `block` none of them was."""
        await self._take(
            link,
            lambda: machine.note_written(row.purpose, row.data, block=block),
            first=ended,
            done=((row.launch, row.op),),
        )
        if self.console is not None:
            self.console.wake()

    async def finish(self, link: Link) -> None:
        """Takes note that the harness will write no more."""
        await self._take(link, link.machine.finish)

    async def take_end(self, link: Link, end: HarnessEnd) -> None:
        """Takes note of how the process ended, as far as that says something of a turn."""
        await self._take(link, lambda: link.machine.end(end))

    async def read_early_exit(self, stderr_tail: str) -> CallError | None:
        """What the last words of a process mean that ended before it could take a prompt; `None` for any other."""
        state = self.state
        if state is None or not has_no_session_yet(state.live_launch):
            return None
        return await read_last_lines(stderr_tail, lambda error: self._classify(state, error))

    async def wait_until(self, holds: Callable[[SeatState | None], bool], timeout_s: float) -> bool:
        """Whether the state comes to be as wanted within `timeout_s` seconds."""
        try:
            async with asyncio.timeout(timeout_s):
                while not holds(self.state):
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    @contextlib.contextmanager
    def expect(self, is_wanted: Callable[[Event], bool]) -> Generator[asyncio.Future[Event]]:
        """A future of the next event that is wanted, from here on; it is done once the event is durable."""
        answer: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        entry = (is_wanted, answer)
        self._expected.append(entry)
        try:
            yield answer
        finally:
            self._expected.remove(entry)
            answer.cancel()

    async def close(self) -> None:
        """Lets what runs come to its end and takes nothing more."""
        self._is_closed = True
        if self._running:
            await asyncio.wait(tuple(self._running))

    async def _take(
        self,
        link: Link,
        speak: Callable[[], Step],
        *,
        first: Input | None = None,
        is_recent: bool = False,
        done: tuple[tuple[str, int], ...] = (),
    ) -> None:
        """Has the machine speak and takes what it says, after `first`, which belongs to it."""

        async def take() -> None:
            step = speak()
            if (
                first is None
                and not done
                and not (step.reports or step.outgoing or step.consumed or step.changed)
            ):
                return
            bodies = await self._read(step)

            def work(decision: Decision) -> Step:
                if first is not None:
                    decide_into(decision, first)
                return self._decide(decision, link, step, bodies)

            await self._transact(work, link=link, is_recent=is_recent, done=done)

        await self._insist(lambda: self._to_its_end(self._alone(take)))

    async def _to_its_end(self, work: Coroutine[object, object, None]) -> None:
        """Lets work come to its end though its caller be cancelled: what is durable must be known here too."""
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(lambda task: task.cancelled() or task.exception())
            raise

    async def _absorb(self, link: Link, data: bytes) -> None:
        step = link.feed(data)
        if not (step.reports or step.outgoing or step.consumed or step.changed):
            link.keep(data)
            return
        bodies = await self._read(step)
        await self._transact(
            lambda decision: self._decide(decision, link, step, bodies), link=link, data=data
        )

    async def _alone(self, work: Callable[[], Awaitable[None]]) -> None:
        async with self._lock:
            await work()

    async def _insist(self, work: Callable[[], Awaitable[object]]) -> None:
        """Does what must not be forgotten, again and again while the log refuses to take it."""
        attempt = 0
        while True:
            try:
                await work()
                return
            except StoreError as error:
                if attempt == 0:
                    _log.warning("seat %s waits for the log: %s", self.name, error.code)
            await asyncio.sleep(_RETRY_S[min(attempt, len(_RETRY_S) - 1)])
            attempt += 1

    async def _transact(
        self,
        work: Callable[[Decision], Step | None],
        *,
        link: Link | None = None,
        data: bytes = b"",
        done: tuple[tuple[str, int], ...] = (),
        drop_launch: str | None = None,
        is_recent: bool = False,
    ) -> tuple[Envelope, ...]:
        """Decides, has the machine speak, and makes all of it durable at once. The lock is held."""
        link = link or self.link
        decision = Decision(self.name, self.state, self._look_around(is_recent=is_recent or bool(data)))
        outgoing: list[Outgoing] = []
        consumed, changed = 0, False
        try:
            step = work(decision)
            if step is not None:
                outgoing += step.outgoing
                consumed, changed = step.consumed, step.changed
            if link is not None:
                for draft in decision.drafts:
                    spoken = self._speak(link, draft.event, decision)
                    if spoken is not None:
                        outgoing += spoken.outgoing
                        changed = changed or spoken.changed
            cursor, rows = None, ()
            if link is not None and (consumed or outgoing or changed):
                rows = link.number(outgoing)
                snapshot = link.machine.snapshot() if changed else link.snapshot
                cursor = link.cursor(consumed=consumed, writes=len(rows), snapshot=snapshot)
            append = Append(
                drafts=tuple(decision.drafts),
                cursor=cursor,
                outbox=rows,
                outbox_done=done,
                drop_launch=drop_launch,
            )
            envelopes: tuple[Envelope, ...] = ()
            if append.drafts or cursor is not None or done or drop_launch is not None:
                envelopes = await self._store.append(append)
        except BaseException:
            if link is not None:
                link.rollback()
            raise
        self.state = decision.state
        if link is not None:
            if cursor is not None:
                link.commit(cursor, rows, data)
            elif data:
                link.keep(data)
        for envelope in envelopes:
            self._act(envelope.event)
        if envelopes and self.console is not None:
            self.console.wake()
        if envelopes:
            self._changed.set()
            self._changed = asyncio.Event()
        return envelopes

    def _look_around(self, *, is_recent: bool) -> Context:
        """The context of a decision; with `is_recent` what it says of the harness may be a second old.

        Knowing the harness means to look at files, which is too slow for each of a harness's words.
        """
        asked_at = time.monotonic()
        if is_recent and self._seen is not None and asked_at - self._seen_at < _CONTEXT_KEPT_S:
            seen = msgspec.structs.replace(self._seen, now=utc_now())
        else:
            seen = self._seen = self._context(self.state)
            self._seen_at = asked_at
        if seen.is_watched and self.console is not None:
            return msgspec.structs.replace(seen, typing_blocks=self.console.typing_blocks())
        return seen

    def _decide(self, decision: Decision, link: Link, step: Step, bodies: tuple[ReportBody, ...]) -> Step:
        for reported, body in zip(step.reports, bodies, strict=True):
            known = reported if body is reported.body else msgspec.structs.replace(reported, body=body)
            decide_into(decision, TransportReported(launch=link.launch, reported=known))
        return step

    async def _read(self, step: Step) -> tuple[ReportBody, ...]:
        """The reports, with errors as the harness's manifest reads them."""
        bodies: list[ReportBody] = []
        for reported in step.reports:
            body = reported.body
            if self.state is not None:
                match body:
                    case (
                        PromptAnswered(error=CallError() as error)
                        | PromptCorrected(error=CallError() as error)
                    ):
                        known = await self._classify(self.state, error)
                        outcome = TurnOutcome.LIMITED if known.code == "limited" else body.outcome
                        body = msgspec.structs.replace(body, error=known, outcome=outcome)
                    case SessionFailed(error=error):
                        known = await self._classify(self.state, error)
                        outcome = body.outcome
                        if outcome is ResumeOutcome.FAILED:
                            outcome = _RESUME_OUTCOMES.get(known.code, outcome)
                        body = msgspec.structs.replace(body, error=known, outcome=outcome)
                    case ConnectFailed(error=error):
                        known = await self._classify(self.state, error)
                        body = msgspec.structs.replace(body, error=known)
                    case _:
                        pass
            bodies.append(body)
        return tuple(bodies)

    def _speak(self, link: Link, event: Event, decision: Decision) -> Step | None:
        """What the machine is to say because of an event."""
        match event:
            case DeliverySending():
                flight = decision.flight
                if flight is None or flight.delivery != event.delivery:
                    return None
                seat = decision.seat
                return send_prompt(link, flight, has_session=seat.session_open and seat.session is not None)
            case PermissionAnswered() if event.by is not AnsweredBy.LAUNCH_END:
                return link.machine.answer(event.wire_id, event.option)
            case CancelRequested():
                return link.machine.cancel()
            case KeysPressed():
                return None if link.watching is None else link.watching.press(event.keys)
            case _:
                return operate(link, operations_of(event, decision.state))

    def _act(self, event: Event) -> None:
        """What must happen now that an event is durable."""
        for is_wanted, answer in tuple(self._expected):
            if not answer.done() and is_wanted(event):
                answer.set_result(event)
        match event:
            case LaunchRequested():
                self.stop_wanted = asyncio.Event()
                self._spawn(self, event.launch)
            case StopRequested():
                self.stop_wanted.set()
            case LaunchEnded():
                if self.link is not None:
                    self.link.close()
                self.link = None
            case _:
                pass
