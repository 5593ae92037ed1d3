"""What a session tells while a turn runs, each a typed value, in the order in which it happened.

A turn ends with exactly one `TurnEnded`, whatever happens.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from .engine.contract import Retrying, StopReason
from .models.contract import TextDelta, ThinkingDelta
from .permissions.values import PermissionQuestion
from .tools.todo import PlanEntry
from .values import JsonObject, Location, ToolResult, Usage

__all__ = [
    "ContextCompacted",
    "PermissionAnswered",
    "PermissionAsked",
    "PlanEntry",
    "PlanUpdated",
    "Retrying",
    "SessionEvent",
    "TextDelta",
    "ThinkingDelta",
    "ToolCalled",
    "ToolEnded",
    "ToolProgressed",
    "ToolStarted",
    "TurnEnded",
    "UsageUpdated",
]


class ToolCalled(Struct, frozen=True, kw_only=True, tag="tool_called"):
    """The model made a call. It was neither checked nor allowed yet.

    Attributes:
        call_id: The call.
        tool: The tool's name, as the model gave it.
        title: The call in a few words.
        kind: As in `Tool.kind`; `other` for a tool that does not exist.
        arguments: As the model gave them.
        locations: The files that it touches.
        subagent: The child agent that calls, empty for the session itself.
    """

    call_id: str
    tool: str
    title: str
    kind: str
    arguments: JsonObject
    locations: tuple[Location, ...] = ()
    subagent: str = ""


class ToolStarted(Struct, frozen=True, kw_only=True, tag="tool_started"):
    """A call was allowed and runs now."""

    call_id: str


class ToolProgressed(Struct, frozen=True, kw_only=True, tag="tool_progressed"):
    """A running call says how far it is. Some of these are left out when they come faster than they are read."""

    call_id: str
    text: str


class ToolEnded(Struct, frozen=True, kw_only=True, tag="tool_ended"):
    """A call ended, or did not run; `result` says so to the model, and holds the files that it changed.

    Attributes:
        call_id: The call.
        tool: The tool's name.
        result: As the model gets it.
        duration_s: Of its execution; 0 if it did not run.
        outcome: `done`; `failed`: its result is an error; `denied`: it was not allowed; `refused`: it was no valid call,
            came too often, or a hook vetoed it; `cancelled`.
    """

    call_id: str
    tool: str
    result: ToolResult
    duration_s: float
    outcome: Literal["done", "failed", "denied", "refused", "cancelled"]


class PermissionAsked(Struct, frozen=True, kw_only=True, tag="permission_asked"):
    """A question was put to the responder; the call waits."""

    question: PermissionQuestion


class PermissionAnswered(Struct, frozen=True, kw_only=True, tag="permission_answered"):
    """The wait for an answer is over. `reason` is that of the decision."""

    call_id: str
    is_allowed: bool
    reason: str


class PlanUpdated(Struct, frozen=True, kw_only=True, tag="plan_updated"):
    """The whole plan as it stands now."""

    entries: tuple[PlanEntry, ...]


class UsageUpdated(Struct, frozen=True, kw_only=True, tag="usage_updated"):
    """What was spent.

    Attributes:
        turn: In this turn so far.
        session: In the session so far, its earlier runs included.
        context_tokens: What the conversation takes of the model's context, as the last request said.
        context_limit_tokens: How much fits; None if that is not known.
    """

    turn: Usage
    session: Usage
    context_tokens: int
    context_limit_tokens: int | None


class ContextCompacted(Struct, frozen=True, kw_only=True, tag="context_compacted"):
    """What came before was summed up; it stays on disk and is no longer sent.

    Attributes:
        summary: What is sent instead.
        before_tokens: What it took before, estimated where the model did not say.
        after_tokens: What it takes now, estimated.
    """

    summary: str
    before_tokens: int
    after_tokens: int


class TurnEnded(Struct, frozen=True, kw_only=True, tag="turn_ended"):
    """The turn is over.

    Attributes:
        stop_reason: Why.
        message: For a person, when it failed, was limited or refused; free of secrets.
        usage: Of the turn.
    """

    stop_reason: StopReason
    message: str
    usage: Usage


SessionEvent: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | ToolCalled
    | ToolStarted
    | ToolProgressed
    | ToolEnded
    | PermissionAsked
    | PermissionAnswered
    | PlanUpdated
    | UsageUpdated
    | ContextCompacted
    | Retrying
    | TurnEnded
)
