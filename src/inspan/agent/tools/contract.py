"""What a tool is: a definition that the model sees, and a function that the agent calls.

The agent calls it in one place alone (`inspan.agent.calling`), after the permission engine allowed it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from inspan.agent.cancelling import CancelSignal
from inspan.agent.values import JsonObject, Location, ToolResult

__all__ = ["TOOL_NAME", "Execute", "Tool", "ToolCallContext", "ToolKind"]

TOOL_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")
"""What a tool may be called, whole. All providers take such a name."""

ToolKind: TypeAlias = str
"""What the call is to a person, in ACP's words: read, edit, delete, move, search, execute, think, fetch, other."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCallContext:
    """What a call is given beside its arguments.

    Attributes:
        call_id: The model's id of this call.
        session_id: The session it runs in; a secret in logs.
        workspace: The folder the session works in, absolute and resolved.
        cancel: Raised when the turn is cancelled, when the tool's owner stops, or when the agent closes. A tool that
            waits for long must heed it; after it is raised the result is thrown away.
        logger: For sanitised diagnostics: no arguments, no results, no secrets.
        progress: Shows a line of progress to whoever watches; never sent to the model.
        subagent: The child agent that calls, as its runner names it; empty for the session itself.
    """

    call_id: str
    session_id: str
    workspace: Path
    cancel: CancelSignal
    logger: logging.Logger
    progress: Callable[[str], None] = field(default=lambda _: None)
    subagent: str = ""


Execute: TypeAlias = Callable[[JsonObject, ToolCallContext], Awaitable[ToolResult]]
"""Does the work. The arguments fit the input schema. An exception becomes an error result that names its class alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A tool.

    Attributes:
        name: Matches `TOOL_NAME`; unique among the agent's tools.
        description: For the model: what it does, when to use it, what it gives back.
        input_schema: JSON Schema of the arguments, of type `object`.
        read_only: Whether a call changes nothing outside the agent. It is allowed unasked, so it has to be true.
        session_local: Whether a call changes nothing but this session's own state (a to-do list, a plan).
        execute: Does the work.
        kind: For whoever shows the call.
        title: Says the call in a few words, from its arguments; None shows the name.
        locations: The files that a call touches, from its arguments; None shows none.
    """

    name: str
    description: str
    input_schema: JsonObject
    read_only: bool = False
    session_local: bool = False
    execute: Execute
    kind: ToolKind = "other"
    title: Callable[[JsonObject], str] | None = None
    locations: Callable[[JsonObject, Path], tuple[Location, ...]] | None = None
