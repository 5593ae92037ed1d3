"""One turn: ask the model, run the calls it makes, ask again, until it makes none.

The loop knows providers by their contract alone. The library that speaks to the well-known ones stands behind it, in
`engine.pydantic_ai`, and is loaded only when such a model is asked.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from msgspec import Struct, structs

from inspan.agent.cancelling import CancelSource
from inspan.agent.conversation import (
    AssistantMessage,
    AssistantPart,
    CallPart,
    CallResult,
    Message,
    TextPart,
    ToolMessage,
    UserMessage,
)
from inspan.agent.engine.assembling import Assembler
from inspan.agent.engine.contract import EnginePorts, Retrying, StopReason, TurnRequest, TurnResult
from inspan.agent.engine.reading import open_answer
from inspan.agent.faults import fault_name, is_fault
from inspan.agent.models.catalogue import FoundModel
from inspan.agent.models.contract import ModelDefinition, ModelRequest
from inspan.agent.models.failure import FailureKind, ModelFailure
from inspan.agent.values import TextContent, ToolCall, ToolResult, Usage
from inspan.model.errors import HarnessError

__all__ = ["CANCELLED_CALL", "NOT_RUN_CALL", "EngineLimits", "TurnLoop"]

CANCELLED_CALL = "This call was cancelled. It may have done some of its work."
"""What a call's result says when the turn was cancelled before the call ended."""

NOT_RUN_CALL = "This call was not run: the turn was cancelled."
"""What a call's result says when the turn was cancelled before the call began."""


class EngineLimits(Struct, frozen=True, kw_only=True):
    """What the loop bounds.

    Attributes:
        attempts: How often a request that failed in passing is made again.
        first_wait_s: The wait before the first repetition; each further one doubles it.
        longest_wait_s: The longest wait; a provider that asks for more is not waited for.
        calls_per_answer: The most calls of one answer that are run.
        grace_s: How long a model's stream has to end after it was cancelled.
    """

    attempts: int = 3
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    calls_per_answer: int = 64
    grace_s: float = 2.0


@dataclass(slots=True)
class _Answer:
    """What came of one request, repetitions included."""

    parts: tuple[AssistantPart, ...]
    usage: Usage
    finish: str = "stop"
    failure: ModelFailure | None = None
    is_cut: bool = False


class TurnLoop:
    """Runs turns over whatever model `find` gives; implements `Engine`.

    Args:
        find: Looks up `provider:model`; raises `HarnessError` with what to do when there is no such model.
        limits: What is bounded.
    """

    def __init__(self, find: Callable[[str], FoundModel], limits: EngineLimits | None = None) -> None:
        self._find = find
        self._limits = limits or EngineLimits()

    async def run_turn(self, request: TurnRequest, ports: EnginePorts) -> TurnResult:
        """Runs one turn to its end. See `Engine.run_turn`."""
        try:
            found = self._find(request.model)
        except HarnessError as error:
            return TurnResult(stop_reason=StopReason.FAILED, usage=Usage(), message=str(error))
        turn = _Turn(found=found, request=request, ports=ports, limits=self._limits)
        return await turn.run()

    async def summarise(
        self, model: str, messages: Sequence[Message], instructions: str
    ) -> tuple[str, Usage]:
        """Asks the model to sum up a conversation. See `Engine.summarise`."""
        found = self._find(model)
        request = ModelRequest(model=found.definition.id, instructions=instructions, messages=tuple(messages))
        assembler = Assembler(())
        cancel = CancelSource()
        try:
            async with open_answer(found, request, cancel.signal, grace_s=self._limits.grace_s) as answer:
                async for event in answer:
                    assembler.add(event)
        except BaseException as error:
            if not is_fault(error):
                raise
            failure = as_failure(error)
            raise HarnessError(
                f"The conversation could not be summed up: {failure.message}", code="model_failed"
            ) from None
        assembler.close()
        text = "\n".join(part.text for part in assembler.parts if isinstance(part, TextPart)).strip()
        if not text:
            raise HarnessError("The model summed up the conversation with no words.", code="model_failed")
        return text, priced(assembler.usage, found.definition)


class _Turn:
    """One run of the loop."""

    def __init__(
        self, *, found: FoundModel, request: TurnRequest, ports: EnginePorts, limits: EngineLimits
    ) -> None:
        self._found = found
        self._request = request
        self._ports = ports
        self._limits = limits
        prompt = UserMessage(at=_now(), content=request.prompt)
        self._messages: list[Message] = [*request.history, prompt]
        self._call_ids = {
            part.call.id
            for message in request.history
            if isinstance(message, AssistantMessage)
            for part in message.parts
            if isinstance(part, CallPart)
        }
        self._usage = Usage()
        self._last_input_tokens = 0

    async def run(self) -> TurnResult:
        for _ in range(self._request.max_steps):
            if self._ports.cancel.is_set:
                return self._ended(StopReason.CANCELLED)
            await self._make_room(is_overflow=False)
            answer = await self._ask()
            is_too_long = answer.failure is not None and answer.failure.kind is FailureKind.CONTEXT
            if is_too_long and await self._make_room(is_overflow=True):
                answer = await self._ask()
            result = await self._go_on(answer)
            if result is not None:
                return result
        return self._ended(
            StopReason.MAX_STEPS, f"The turn used up its {self._request.max_steps} requests to the model."
        )

    async def _go_on(self, answer: _Answer) -> TurnResult | None:
        """Records an answer and runs its calls; None when the model is to be asked again."""
        self._usage += answer.usage
        calls = [part.call for part in answer.parts if isinstance(part, CallPart)]
        is_partial = answer.is_cut or answer.failure is not None
        if answer.parts or not is_partial:
            await self._record(
                AssistantMessage(
                    at=_now(),
                    model=self._request.model,
                    parts=answer.parts,
                    usage=answer.usage,
                    is_partial=is_partial,
                )
            )
        if self._ports.cancel.is_set:
            if calls and not is_partial:
                not_run = ToolResult.error(NOT_RUN_CALL)
                await self._record(_results(calls, {call.id: not_run for call in calls}))
            return self._ended(StopReason.CANCELLED)
        if answer.failure is not None:
            return self._failed(answer.failure)
        if answer.finish == "max_tokens":
            return self._ended(StopReason.MAX_TOKENS, "The answer was cut by the model's longest length.")
        if answer.finish == "refused":
            return self._ended(StopReason.REFUSED, "The provider refused the answer for its content.")
        if calls:
            await self._run_calls(calls)
            return self._ended(StopReason.CANCELLED) if self._ports.cancel.is_set else None
        go_on = await self._ports.may_stop()
        if self._ports.cancel.is_set:
            return self._ended(StopReason.CANCELLED)
        if go_on:
            await self._record(UserMessage(at=_now(), content=(TextContent(text=go_on),), source="stop_hook"))
            return None
        return self._ended(StopReason.END_TURN)

    async def _run_calls(self, calls: Sequence[ToolCall]) -> None:
        """Runs an answer's calls, side by side as far as the port lets them, and records their results."""
        within = calls[: self._limits.calls_per_answer]
        tasks = {call.id: asyncio.create_task(self._ports.call_tool(call)) for call in within}
        try:
            if tasks:
                await asyncio.wait(tasks.values())
        except asyncio.CancelledError:
            for task in tasks.values():
                task.cancel()
            await asyncio.wait(tasks.values(), timeout=self._limits.grace_s)
            await self._record(_results(calls, _done(tasks)))
            raise
        results = _done(tasks)
        for call in calls[len(within) :]:
            results[call.id] = ToolResult.error(
                f"This call was not run: an answer may make at most {len(within)} calls."
            )
        await self._record(_results(calls, results))

    async def _ask(self) -> _Answer:
        """Makes one request, again as long as it fails in passing before anything of an answer came."""
        spent = Usage()
        for attempt in range(self._limits.attempts + 1):
            answer = await self._ask_once()
            failure = answer.failure
            if failure is None or answer.parts or not self._is_worth_a_wait(failure, attempt):
                answer.usage = spent + answer.usage if spent.requests else answer.usage
                return answer
            wait_s = self._wait_s(failure, attempt)
            await self._ports.emit(
                Retrying(
                    attempt=attempt + 1,
                    attempts=self._limits.attempts,
                    wait_s=round(wait_s, 3),
                    reason=failure.message,
                )
            )
            await _wait(self._ports, wait_s)
            if self._ports.cancel.is_set:
                return _Answer(parts=(), usage=spent, is_cut=True)
        raise AssertionError("unreachable: the last attempt returns")

    def _is_worth_a_wait(self, failure: ModelFailure, attempt: int) -> bool:
        if attempt >= self._limits.attempts or not failure.kind.is_transient or self._ports.cancel.is_set:
            return False
        return (failure.retry_after_s or 0.0) <= self._limits.longest_wait_s

    def _wait_s(self, failure: ModelFailure, attempt: int) -> float:
        if failure.retry_after_s is not None:
            return failure.retry_after_s
        wait_s = min(self._limits.first_wait_s * 2**attempt, self._limits.longest_wait_s)
        return wait_s * random.uniform(0.75, 1.25)  # noqa: S311 - only keeps clients apart

    async def _ask_once(self) -> _Answer:
        assembler = Assembler(self._call_ids)
        request = ModelRequest(
            model=self._found.definition.id,
            instructions=self._request.instructions,
            messages=tuple(self._messages),
            tools=self._request.tools,
            effort=self._request.effort,
        )
        ports = self._ports
        try:
            async with open_answer(
                self._found, request, ports.cancel, grace_s=self._limits.grace_s
            ) as answer:
                async for event in answer:
                    shown = assembler.add(event)
                    if shown is not None:
                        await ports.emit(shown)
        except BaseException as error:
            if not is_fault(error):
                await self._record_cut(assembler)
                raise
            return _Answer(
                parts=assembler.partial(),
                usage=priced(assembler.usage, self._found.definition),
                failure=as_failure(error),
            )
        is_cut = ports.cancel.is_set
        if not is_cut and self._found.lease is not None and not self._found.lease.is_alive:
            return _Answer(
                parts=assembler.partial(),
                usage=assembler.usage,
                failure=ModelFailure(FailureKind.UNKNOWN_MODEL, "The plugin that brings the model stopped."),
            )
        assembler.close()
        usage = priced(assembler.usage, self._found.definition)
        if usage.input_tokens:
            self._last_input_tokens = usage.input_tokens + usage.output_tokens
        parts = assembler.partial() if is_cut else tuple(assembler.parts)
        if assembler.finish != "stop" and not is_cut:
            parts = assembler.partial()
        return _Answer(parts=parts, usage=usage, finish=assembler.finish, is_cut=is_cut)

    async def _record_cut(self, assembler: Assembler) -> None:
        parts = assembler.partial()
        if parts:
            await self._record(
                AssistantMessage(
                    at=_now(),
                    model=self._request.model,
                    parts=parts,
                    usage=priced(assembler.usage, self._found.definition),
                    is_partial=True,
                )
            )

    async def _make_room(self, *, is_overflow: bool) -> bool:
        shorter = await self._ports.make_room(self._last_input_tokens, is_overflow=is_overflow)
        if shorter is None:
            return False
        self._messages = list(shorter)
        self._last_input_tokens = 0
        return True

    async def _record(self, message: Message) -> None:
        self._messages.append(message)
        if isinstance(message, AssistantMessage):
            self._call_ids.update(part.call.id for part in message.parts if isinstance(part, CallPart))
        await self._ports.record(message)

    def _failed(self, failure: ModelFailure) -> TurnResult:
        match failure.kind:
            case FailureKind.QUOTA | FailureKind.RATE:
                reason = StopReason.LIMITED
            case FailureKind.CONTENT:
                reason = StopReason.REFUSED
            case _:
                reason = StopReason.FAILED
        return self._ended(reason, failure.message)

    def _ended(self, reason: StopReason, message: str = "") -> TurnResult:
        return TurnResult(stop_reason=reason, usage=self._usage, message=message)


def as_failure(error: BaseException) -> ModelFailure:
    """What a provider raised, as a failure; of an exception of its own only the class is told."""
    if isinstance(error, ModelFailure):
        return error
    return ModelFailure(FailureKind.RAISED, f"The model's provider failed with {fault_name(error)}.")


def priced(usage: Usage, definition: ModelDefinition) -> Usage:
    """`usage` with its cost by the model's own prices, where it brings none and both prices are known."""
    read, written = definition.input_usd_per_mtok, definition.output_usd_per_mtok
    if usage.cost_usd is not None or read is None or written is None:
        return usage
    cost = (usage.input_tokens * read + usage.output_tokens * written) / 1_000_000
    return structs.replace(usage, cost_usd=cost)


def _done(tasks: dict[str, asyncio.Task[ToolResult]]) -> dict[str, ToolResult]:
    return {
        call_id: task.result()
        for call_id, task in tasks.items()
        if task.done() and not task.cancelled() and task.exception() is None
    }


def _results(calls: Iterable[ToolCall], results: dict[str, ToolResult]) -> ToolMessage:
    return ToolMessage(
        at=_now(),
        results=tuple(
            CallResult(
                call_id=call.id,
                tool=call.tool,
                result=results.get(call.id) or ToolResult.error(CANCELLED_CALL),
            )
            for call in calls
        ),
    )


async def _wait(ports: EnginePorts, seconds: float) -> None:
    waiting = asyncio.ensure_future(ports.cancel.wait())
    try:
        await asyncio.wait({waiting}, timeout=seconds)
    finally:
        waiting.cancel()


def _now() -> datetime:
    return datetime.now(UTC)
