"""The seam between the agent and whatever library speaks to models: one turn's loop of requests and calls.

An engine sends the conversation to the model, streams what comes, has calls run by `EnginePorts.call_tool` and goes
on until the model stops calling. It decides nothing: permissions, hooks, sessions and plugins are all behind the ports.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol, TypeAlias

from msgspec import Struct

from inspan.agent.cancelling import CancelSignal
from inspan.agent.conversation import Message
from inspan.agent.models.contract import TextDelta, ThinkingDelta, ToolDefinition
from inspan.agent.values import Content, ToolCall, ToolResult, Usage

__all__ = ["Engine", "EngineEvent", "EnginePorts", "Retrying", "StopReason", "TurnRequest", "TurnResult"]


class StopReason(StrEnum):
    """Why a turn ended.

    `end_turn`: the model had nothing more to do. `max_steps`: it used up its requests. `max_tokens`: an answer was cut
    by its length. `refused`: the provider refused for its content, or a hook refused the prompt. `cancelled`: somebody
    cancelled. `limited`: a usage limit. `failed`: anything else, with a message.
    """

    END_TURN = "end_turn"
    MAX_STEPS = "max_steps"
    MAX_TOKENS = "max_tokens"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    LIMITED = "limited"
    FAILED = "failed"


class TurnRequest(Struct, frozen=True, kw_only=True):
    """One turn.

    Attributes:
        model: `provider:model`.
        instructions: The system prompt; frozen for the turn.
        history: What came before, oldest first, from the last summary on.
        prompt: What is asked now; recorded by the caller before.
        tools: What the model may call.
        max_steps: The most requests to the model in this turn.
        effort: How hard to think (`low`, `medium`, `high`), empty to leave it.
    """

    model: str
    instructions: str
    history: tuple[Message, ...]
    prompt: tuple[Content, ...]
    tools: tuple[ToolDefinition, ...]
    max_steps: int
    effort: str = ""


class Retrying(Struct, frozen=True, kw_only=True, tag="retrying"):
    """A request failed in passing and is made again after a wait.

    Attributes:
        attempt: Which repetition comes, from 1.
        attempts: How many there are at most.
        wait_s: The wait before it.
        reason: Why the last one failed, for a person.
    """

    attempt: int
    attempts: int
    wait_s: float
    reason: str


EngineEvent: TypeAlias = TextDelta | ThinkingDelta | Retrying


class EnginePorts(Protocol):
    """What an engine may use of the agent during one turn."""

    @property
    def cancel(self) -> CancelSignal:
        """Raised when the turn is to stop."""
        ...

    async def emit(self, event: EngineEvent) -> None:
        """Shows a piece of the answer. In the order in which it came."""
        ...

    async def record(self, message: Message) -> None:
        """Keeps a complete message. It is durable on return; calls are run only after their message is recorded."""
        ...

    async def call_tool(self, call: ToolCall) -> ToolResult:
        """Runs one call. Never raises, but for the task's own cancellation."""
        ...

    async def make_room(self, input_tokens: int, *, is_overflow: bool) -> tuple[Message, ...] | None:
        """Asked before a request is made, and after one that was too long (`is_overflow`).

        Args:
            input_tokens: What the conversation's last request took, 0 if that is not known.
            is_overflow: Whether the model refused the request for its length.

        Returns:
            The whole conversation as it is to go on, when it was made shorter; None to leave it.
        """
        ...

    async def may_stop(self) -> str:
        """Asks whether the turn may end: empty if so, else what the model is told to go on with."""
        ...


class TurnResult(Struct, frozen=True, kw_only=True):
    """How a turn ended.

    Attributes:
        stop_reason: Why.
        usage: Of all its requests.
        message: For a person, when it failed, was limited or refused; free of secrets.
    """

    stop_reason: StopReason
    usage: Usage
    message: str = ""


class Engine(Protocol):
    """Runs turns."""

    async def run_turn(self, request: TurnRequest, ports: EnginePorts) -> TurnResult:
        """Runs one turn to its end. A model's failure is a result, not an exception.

        When the ports' signal is raised it returns `cancelled` soon, having recorded what was complete and, as a partial
        message, what was not. If its task is cancelled instead, the same is recorded before the cancellation goes on.
        """
        ...

    async def summarise(
        self, model: str, messages: Sequence[Message], instructions: str
    ) -> tuple[str, Usage]:
        """Asks the model to sum up a conversation, without tools.

        Raises:
            HarnessError: `model_failed`; nothing was changed.
        """
        ...
