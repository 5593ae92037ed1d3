"""What a session says while it works: messages, tool calls, plans, usage.

These values are both reports (from a transport) and events (in the log): core stores them as they come.
Their shapes follow the second draft of the Agent Client Protocol: upserts by id, unknown kinds kept raw.
`replay` marks what a harness tells again of an earlier launch; it is history and settles nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from .console import ConsoleJudged, ConsoleOpened
from .context_usage import ContextSource
from .conversation import (
    OptionsOffered,
    SessionClosed,
    SessionDeleted,
    SessionsListed,
    SettingAnswered,
)
from .turn import CallError

__all__ = [
    "CommandsUpdated",
    "ConfigUpdated",
    "Content",
    "ErrorReported",
    "MessageChunk",
    "ModeUpdated",
    "Noise",
    "PermissionDenied",
    "PlanUpdated",
    "ProtocolFault",
    "Retrying",
    "SessionInfoUpdated",
    "ToolCallUpdated",
    "UnknownMessage",
    "UnknownUpdate",
    "UsageUpdated",
]


class MessageChunk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="message_chunk"):
    """A piece of a message.

    Attributes:
        role: Whose words: the person's, the harness's answer, or its reasoning.
        text: The text of the piece; empty where the piece is not text.
        message_id: The harness's id of the message that it belongs to, where it gives one.
        raw: The content block as it came, where it is not plain text.
        replay: Told again from an earlier launch.
    """

    role: Literal["user", "agent", "thought"]
    text: str = ""
    message_id: str | None = None
    raw: dict[str, Any] | None = None
    replay: bool = False


class ToolCallUpdated(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="tool_call"):
    """A tool call began or changed: an upsert by `id`, where `None` leaves a field as it was."""

    id: str
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: Any = None
    locations: Any = None
    raw_input: Any = None
    raw_output: Any = None
    replay: bool = False


class PlanUpdated(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="plan"):
    """The harness's plan, whole: entries of `content`, `priority`, `status`, as they came."""

    entries: tuple[dict[str, Any], ...] = ()
    replay: bool = False


class CommandsUpdated(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="commands"):
    """The commands that the session offers, by name."""

    names: tuple[str, ...] = ()
    replay: bool = False


class ModeUpdated(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="mode"):
    """The session mode that the harness says is in force, and those that it offers where it said so."""

    current: str
    available: tuple[str, ...] = ()
    replay: bool = False


class ConfigUpdated(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="config"):
    """Session options in force, by id: what the harness says is effective, not what was asked for."""

    values: dict[str, Any] = {}
    replay: bool = False


class UsageUpdated(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="usage"):
    """How full the context is.

    Attributes:
        used: Tokens in the context.
        size: The context's size in tokens.
        cost: The harness's own cost value, unchanged.
        percent: How much of it is used, where the harness says no more than that; a whole percent.
        source: What told it.
    """

    used: int | None = None
    size: int | None = None
    cost: dict[str, Any] | None = None
    percent: int | None = None
    source: ContextSource = ContextSource.PROTOCOL
    replay: bool = False


class SessionInfoUpdated(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="session_info"):
    """The session's title and the like."""

    title: str | None = None
    raw: dict[str, Any] | None = None
    replay: bool = False


class PermissionDenied(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="permission_denied"
):
    """The harness denied a tool call by itself, since it could ask nobody.

    Attributes:
        tool: The tool's name.
        title: A line for people.
        call: The tool call's id.
        reason: The harness's own reason.
        rule: The exact rule that would allow it, empty where none is known.
        settings: The file that the rule belongs into.
        is_shared: Every seat on the machine reads that file, so that the rule would hold for all of them.
        replay: Told again from an earlier launch.
    """

    tool: str
    title: str = ""
    call: str = ""
    reason: str = ""
    rule: str = ""
    settings: str = ""
    is_shared: bool = False
    replay: bool = False


class Retrying(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="retrying"):
    """The harness waits before it asks its model again: the turn is open, and nothing is done meanwhile.

    Attributes:
        reason: What failed, in the harness's own words; empty where it did not say.
        attempt: Which attempt comes next, counted from 1.
        limit: After how many attempts it gives up.
        retry_at: When it tries again.
        replay: Told again from an earlier launch.
    """

    reason: str = ""
    attempt: int | None = None
    limit: int | None = None
    retry_at: datetime | None = None
    replay: bool = False


class ErrorReported(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="error_reported"):
    """The harness said that something failed, and did not end its turn by that: it may get over it, or be stuck."""

    error: CallError
    replay: bool = False


class UnknownUpdate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="unknown_update"):
    """An update of a kind that Inspan does not know, kept as it came."""

    kind: str
    raw: dict[str, Any] = {}
    replay: bool = False


class UnknownMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="unknown_message"):
    """A request or notification that Inspan does not know.

    Attributes:
        method: Its method.
        answered: Whether it was a request, and so was answered with `-32601`.
        raw: Its parameters.
    """

    method: str
    answered: bool = False
    raw: Any = None


class Noise(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="noise"):
    """Output that belongs to no protocol message: a banner, a log line.

    Attributes:
        lines: How many lines.
        sample: The first of them, shortened.
    """

    lines: int
    sample: str = ""


class ProtocolFault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="protocol_fault"):
    """The harness broke its protocol, and what was done about it.

    Attributes:
        code: `frame_too_large`, `bad_encoding`, `bad_message`, `unmatched_answer` or `truncated`.
        message: One sentence.
        fatal: Whether the launch cannot go on.
    """

    code: str
    message: str
    fatal: bool = False


Content = (
    MessageChunk
    | ToolCallUpdated
    | PlanUpdated
    | CommandsUpdated
    | ModeUpdated
    | ConfigUpdated
    | UsageUpdated
    | SessionInfoUpdated
    | PermissionDenied
    | Retrying
    | ErrorReported
    | OptionsOffered
    | SettingAnswered
    | SessionsListed
    | SessionDeleted
    | SessionClosed
    | UnknownUpdate
    | UnknownMessage
    | Noise
    | ProtocolFault
    | ConsoleOpened
    | ConsoleJudged
)
"""Everything that is stored as it comes."""
