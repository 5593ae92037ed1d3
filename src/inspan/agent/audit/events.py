"""What an audit sink is told: each permission decision, and each call that was completed."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from inspan.agent.permissions.values import PermissionRecord

__all__ = ["AuditEvent", "PermissionEvent", "ToolExecution"]


class PermissionEvent(Struct, frozen=True, kw_only=True, tag="permission", tag_field="kind"):
    """One evaluation of the permission engine, a child agent's included."""

    record: PermissionRecord


class ToolExecution(Struct, frozen=True, kw_only=True, tag="tool_execution", tag_field="kind"):
    """One call that ran to its end, one that raised included. It holds no arguments, no result and no credentials.

    Attributes:
        at: When it ended, UTC.
        session_id: The session.
        call_id: The call.
        tool: The tool's name.
        owner: Who registered the tool: a plugin's id, `builtin` or `embedder`.
        duration_s: From the start of its execution to its end.
        is_error: Whether the model got an error result.
        exception: The class of what it raised; empty if it raised nothing.
        subagent: The child agent that called, empty for the session itself.
    """

    at: datetime
    session_id: str
    call_id: str
    tool: str
    owner: str
    duration_s: float
    is_error: bool
    exception: str = ""
    subagent: str = ""


AuditEvent: TypeAlias = PermissionEvent | ToolExecution
