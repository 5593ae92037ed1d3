"""The moments in an agent's life that a hook can hear of, each a typed value.

`PreTool`, `UserPrompt` and `Stop` can be vetoed: a handler returns a `Veto`. All others only tell.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from .values import JsonObject, ToolResult, Usage

__all__ = [
    "HOOK_EVENTS",
    "VETOABLE",
    "HookEvent",
    "PostTool",
    "PreCompact",
    "PreTool",
    "SessionEnd",
    "SessionStart",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "ToolError",
    "TurnEnd",
    "TurnStart",
    "UserPrompt",
    "Veto",
]


class _Event(Struct, frozen=True, kw_only=True):
    session_id: str
    """The session it happened in; a secret in logs."""


class SessionStart(_Event, frozen=True, kw_only=True):
    """A session began or was resumed (`is_resumed`)."""

    is_resumed: bool


class SessionEnd(_Event, frozen=True, kw_only=True):
    """A session was closed; its conversation stays on disk."""


class UserPrompt(_Event, frozen=True, kw_only=True):
    """A prompt came in. A veto refuses it: the model never sees it."""

    text: str


class TurnStart(_Event, frozen=True, kw_only=True):
    """A turn began; `turn` counts from 1 in the session."""

    turn: int


class TurnEnd(_Event, frozen=True, kw_only=True):
    """A turn ended with this stop reason (`end_turn`, `cancelled`, `max_steps`, `refused`, `failed`)."""

    turn: int
    stop_reason: str
    usage: Usage


class PreTool(_Event, frozen=True, kw_only=True):
    """A call is allowed and about to run. A veto turns it into an error result for the model."""

    call_id: str
    tool: str
    arguments: JsonObject


class PostTool(_Event, frozen=True, kw_only=True):
    """A call ended with a result."""

    call_id: str
    tool: str
    result: ToolResult
    duration_s: float


class ToolError(_Event, frozen=True, kw_only=True):
    """A call raised; only the exception's class is told."""

    call_id: str
    tool: str
    exception: str
    duration_s: float


class Stop(_Event, frozen=True, kw_only=True):
    """The model wants to end its turn. A veto sends it on with the veto's reason, at most three times a turn."""

    turn: int


class SubagentStart(_Event, frozen=True, kw_only=True):
    """A child agent began."""

    name: str


class SubagentStop(_Event, frozen=True, kw_only=True):
    """A child agent ended."""

    name: str
    stop_reason: str


class PreCompact(_Event, frozen=True, kw_only=True):
    """A conversation is about to be made shorter: the session's, or that of a child agent (`subagent`)."""

    input_tokens: int
    subagent: str = ""


class Veto(Struct, frozen=True, kw_only=True):
    """Says no, and why, in words for the model or the person."""

    reason: str


HookEvent: TypeAlias = (
    SessionStart
    | SessionEnd
    | UserPrompt
    | TurnStart
    | TurnEnd
    | PreTool
    | PostTool
    | ToolError
    | Stop
    | SubagentStart
    | SubagentStop
    | PreCompact
)

HOOK_EVENTS: dict[str, type[HookEvent]] = {
    "session_start": SessionStart,
    "session_end": SessionEnd,
    "user_prompt": UserPrompt,
    "turn_start": TurnStart,
    "turn_end": TurnEnd,
    "pre_tool": PreTool,
    "post_tool": PostTool,
    "tool_error": ToolError,
    "stop": Stop,
    "subagent_start": SubagentStart,
    "subagent_stop": SubagentStop,
    "pre_compact": PreCompact,
}
"""Every event by the name under which a handler asks for it."""

VETOABLE = frozenset({"pre_tool", "user_prompt", "stop"})
"""The events whose handlers may return a `Veto`."""
