"""One turn of a session while it runs, and the view of it that a caller gets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from msgspec import Struct, structs

from inspan.agent.calling import ToolCaller, ToolEvent
from inspan.agent.cancelling import CancelSignal, CancelSource, run_until
from inspan.agent.channel import Channel
from inspan.agent.conversation import (
    AssistantMessage,
    CallPart,
    CallResult,
    Message,
    Summary,
    ToolMessage,
    UserMessage,
)
from inspan.agent.engine.contract import Engine, EngineEvent, StopReason, TurnRequest, TurnResult
from inspan.agent.events import ContextCompacted, SessionEvent, ToolProgressed, TurnEnded, UsageUpdated
from inspan.agent.faults import fault_name, is_fault
from inspan.agent.hook_events import Stop, TurnEnd, TurnStart, UserPrompt
from inspan.agent.hooks import HookBus
from inspan.agent.models.contract import ToolDefinition
from inspan.agent.plugins.contract import PromptContext
from inspan.agent.sessions.history import History
from inspan.agent.sessions.log import SessionLog
from inspan.agent.sessions.records import MessageKept, ResultKept, SessionRecord, TurnBegan, TurnFinished
from inspan.agent.text import clean_text, clip_middle
from inspan.agent.values import Content, TextContent, ToolCall, ToolResult, Usage
from inspan.model.errors import InspanError

__all__ = ["Compact", "Instruct", "Turn", "TurnGround", "TurnLimits", "TurnRun"]

_LOG = logging.getLogger(__name__)
_VETOED_STOPS = 3

Instruct = Callable[[PromptContext], Awaitable[str]]
"""Makes the system prompt of a turn."""


class Compact(Protocol):
    """Makes a session's conversation shorter when that is called for."""

    def __call__(
        self, input_tokens: int, *, is_forced: bool
    ) -> Coroutine[None, None, ContextCompacted | None]:
        """Does it if the conversation is near the model's limit, or if it is forced; None if nothing was changed."""
        ...


class TurnLimits(Struct, frozen=True, kw_only=True):
    """What bounds a turn.

    Attributes:
        max_steps: The most requests to the model.
        waiting_events: How many events wait for their reader before the turn does.
    """

    max_steps: int = 250
    waiting_events: int = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnGround:
    """What a session gives to its turns."""

    session_id: str
    workspace: Path
    engine: Engine
    caller: ToolCaller
    hooks: HookBus
    history: History
    log: SessionLog
    instruct: Instruct
    compact: Compact
    offered: Callable[[], tuple[ToolDefinition, ...]]
    context_limit: Callable[[], int | None]
    limits: TurnLimits

    def keep(self, record: SessionRecord) -> None:
        """Keeps a record and folds it in. See `SessionLog.append`."""
        self.log.append(record)
        self.history.add(record)


class TurnRun:
    """Runs one turn; the engine's ports, and the watcher of its calls."""

    def __init__(self, ground: TurnGround, prompt: tuple[Content, ...], parent: CancelSignal) -> None:
        self._ground = ground
        self._prompt = prompt
        self._source = CancelSource(parent)
        self._vetoes = 0
        self._usage = Usage()
        self._beside = Usage()
        self._turn = ground.history.turns + 1
        self.channel: Channel[SessionEvent] = Channel(ground.limits.waiting_events)
        self.ended: TurnEnded | None = None

    @property
    def cancel(self) -> CancelSignal:
        """Raised when the turn is to stop."""
        return self._source.signal

    def stop(self, reason: str) -> None:
        """Asks the turn to stop. Events no longer wait for their reader."""
        self._source.cancel(reason)
        self.channel.lift()

    def spend(self, usage: Usage) -> None:
        """Counts what was spent beside the turn's own requests: by a child agent, or for a summary."""
        self._beside += usage

    def push(self, event: SessionEvent) -> None:
        """Shows an event without waiting for a slow reader."""
        self.channel.push(event)

    async def run(self, on_end: Callable[[], None]) -> None:
        """Runs the turn to its end. Raises nothing but the task's own cancellation.

        Args:
            on_end: Called when the session is free for its next turn, before the last event is shown.
        """
        cancelled: BaseException | None = None
        try:
            result = await self._run()
        except InspanError as error:
            is_cancelled = self.cancel.is_set
            reason = StopReason.CANCELLED if is_cancelled else StopReason.FAILED
            result = self._result(reason, "" if is_cancelled else str(error))
        except BaseException as error:  # noqa: BLE001 - a cancellation is raised again, at the end
            if is_fault(error):
                _LOG.warning("A turn failed with %s.", fault_name(error))
                result = self._result(StopReason.FAILED, f"The agent failed with {fault_name(error)}.")
            else:
                cancelled = error
                result = self._result(StopReason.CANCELLED)
        if self._beside.requests:
            result = structs.replace(result, usage=result.usage + self._beside)
        try:
            await self._finish(result)
        finally:
            self._source.close()
            on_end()
            self.ended = TurnEnded(stop_reason=result.stop_reason, message=result.message, usage=result.usage)
            self.push(self.ended)
            self.channel.close()
        if cancelled is not None:
            raise cancelled

    async def _run(self) -> TurnResult:
        ground = self._ground
        text = "\n".join(part.text for part in self._prompt if isinstance(part, TextContent))
        veto = await ground.hooks.emit(UserPrompt(session_id=ground.session_id, text=text), self.cancel)
        if self.cancel.is_set:
            return self._result(StopReason.CANCELLED)
        if veto is not None:
            return self._result(StopReason.REFUSED, clip_middle(clean_text(veto.reason), 2_000))
        ground.caller.begin_turn()
        ground.keep(TurnBegan(at=_now(), turn=self._turn))
        ground.keep(MessageKept(message=UserMessage(at=_now(), content=self._prompt)))
        await ground.log.sync()
        await ground.hooks.emit(TurnStart(session_id=ground.session_id, turn=self._turn), self.cancel)
        context = PromptContext(
            session_id=ground.session_id, workspace=ground.workspace, turn=self._turn, cancel=self.cancel
        )
        instructions = clean_text(await ground.instruct(context))
        settings = ground.history.settings
        if settings is None:  # a session has settings from its first moment on
            raise AssertionError
        request = TurnRequest(
            model=settings.model,
            instructions=instructions,
            history=tuple(ground.history.messages[:-1]),
            prompt=self._prompt,
            tools=ground.offered(),
            max_steps=ground.limits.max_steps,
            effort=settings.effort,
        )
        return await ground.engine.run_turn(request, self)

    async def _finish(self, result: TurnResult) -> None:
        ground = self._ground
        if ground.history.turns == self._turn:
            try:
                ground.keep(
                    TurnFinished(
                        at=_now(),
                        turn=self._turn,
                        stop_reason=result.stop_reason,
                        message=result.message,
                        usage=result.usage,
                    )
                )
                await ground.log.sync()
            except InspanError as error:
                _LOG.warning("The end of a turn could not be kept: %s.", error.code)
            await ground.hooks.emit(
                TurnEnd(
                    session_id=ground.session_id,
                    turn=self._turn,
                    stop_reason=result.stop_reason,
                    usage=result.usage,
                )
            )

    def _result(self, reason: StopReason, message: str = "") -> TurnResult:
        return TurnResult(stop_reason=reason, usage=self._usage, message=message)

    # The engine's ports.

    async def emit(self, event: EngineEvent) -> None:
        """Shows a piece of the answer."""
        await self.channel.put(event)

    async def record(self, message: Message) -> None:
        """Keeps a message; on the disk before it returns, where work may follow from it."""
        ground = self._ground
        if isinstance(message, ToolMessage):
            for result in ground.history.missing(message):
                ground.keep(ResultKept(at=message.at, result=result))
            return
        ground.keep(MessageKept(message=message))
        if isinstance(message, AssistantMessage):
            if any(isinstance(part, CallPart) for part in message.parts):
                await ground.log.sync()
            self._usage += message.usage
            self.push(
                UsageUpdated(
                    turn=self._usage + self._beside,
                    session=ground.history.usage,
                    context_tokens=message.usage.input_tokens + message.usage.output_tokens,
                    context_limit_tokens=ground.context_limit(),
                )
            )

    async def call_tool(self, call: ToolCall) -> ToolResult:
        """Runs one call and keeps its result at once."""
        result = await self._ground.caller.call(call, self.cancel, self)
        self._ground.keep(
            ResultKept(at=_now(), result=CallResult(call_id=call.id, tool=call.tool, result=result))
        )
        return result

    async def make_room(self, input_tokens: int, *, is_overflow: bool) -> tuple[Message, ...] | None:
        """Makes the conversation shorter when it is near the model's limit."""
        compacted = await run_until(self.cancel, self._ground.compact(input_tokens, is_forced=is_overflow))
        if compacted is None:
            return None
        messages = tuple(self._ground.history.messages)
        if isinstance(messages[0], Summary):
            self.spend(messages[0].usage)
        await self.channel.put(compacted)
        return messages

    async def may_stop(self) -> str:
        """Asks the hooks whether the turn may end."""
        if self._vetoes >= _VETOED_STOPS:
            return ""
        veto = await self._ground.hooks.emit(
            Stop(session_id=self._ground.session_id, turn=self._turn), self.cancel
        )
        if veto is None or self.cancel.is_set:
            return ""
        self._vetoes += 1
        return clip_middle(clean_text(veto.reason), 8_000) or "Go on."

    # The watcher of its calls.

    async def show(self, event: ToolEvent) -> None:
        """Shows what happens to a call."""
        await self.channel.put(event)

    def offer(self, event: ToolProgressed) -> None:
        """Shows progress, unless the reader is behind."""
        if not self.channel.is_full:
            self.channel.push(event)


class Turn:
    """A running turn: an async iterator over its events, the last of which is a `TurnEnded`.

    A turn whose events nobody reads waits once some hundreds of them are unread. As an async context manager it is
    cancelled when the block ends before it does.
    """

    def __init__(self, run: TurnRun, task: asyncio.Task[None]) -> None:
        self._run = run
        self._task = task

    def cancel(self) -> None:
        """Asks it to stop, and returns at once. Its `TurnEnded` comes soon. Calling it twice is safe."""
        self._run.stop("cancelled")

    async def wait(self) -> TurnEnded:
        """Reads all events that are left, and returns the last one."""
        async for _ in self:
            pass
        await asyncio.wait({self._task})
        if self._run.ended is None:  # the task was cancelled before it had begun
            return TurnEnded(stop_reason=StopReason.CANCELLED, message="", usage=Usage())
        return self._run.ended

    def __aiter__(self) -> Self:
        """Its events from the next unread one on."""
        return self

    async def __anext__(self) -> SessionEvent:
        """The next event."""
        event = await self._run.channel.get()
        if event is None:
            raise StopAsyncIteration
        return event

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancels it if it still runs, and waits for its end."""
        self.cancel()
        await self.wait()


def _now() -> datetime:
    return datetime.now(UTC)
