"""Calls the own agent's tools as the agent does: their arguments checked, each call with a context."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema

from inspan.agent.cancelling import CancelSignal, CancelSource
from inspan.agent.tools.contract import Tool, ToolCallContext
from inspan.agent.tools.ground import Ground
from inspan.agent.tools.settings import ToolSettings
from inspan.agent.values import ToolResult

__all__ = ["call_context", "call_tool", "make_ground", "run_tool"]


def make_ground(**settings: Any) -> Ground:
    """What the tools of one agent share."""
    return Ground(ToolSettings(**settings))


def call_context(
    workspace: Path,
    *,
    session: str = "s_1",
    cancel: CancelSignal | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> ToolCallContext:
    """A call in this workspace. Needs a running event loop unless `cancel` is given."""
    return ToolCallContext(
        call_id="call-1",
        session_id=session,
        workspace=workspace,
        cancel=cancel or CancelSource().signal,
        logger=logging.getLogger("test"),
        progress=progress,
    )


async def call_tool(tool: Tool, call: ToolCallContext, /, **arguments: Any) -> ToolResult:
    """Checks the arguments by the tool's schema, then runs it."""
    jsonschema.validate(arguments, dict(tool.input_schema))
    return await tool.execute(arguments, call)


def run_tool(tool: Tool, workspace: Path, /, *, session: str = "s_1", **arguments: Any) -> ToolResult:
    """One call in a loop of its own."""

    async def run() -> ToolResult:
        return await call_tool(tool, call_context(workspace, session=session), **arguments)

    return asyncio.run(run())
