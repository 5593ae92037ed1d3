"""Agents for tests: in a folder of their own, with the scripted model, and tools that do as they are told."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from inspan.agent.agent import Agent, AgentLimits
from inspan.agent.calling import CallLimits
from inspan.agent.engine.loop import EngineLimits
from inspan.agent.events import SessionEvent, TurnEnded
from inspan.agent.permissions.values import Answer, PermissionQuestion
from inspan.agent.session import Session, SessionLimits
from inspan.agent.tools.contract import Tool, ToolCallContext
from inspan.agent.values import JsonObject, ToolResult

__all__ = [
    "QUICK",
    "allow",
    "events_of",
    "make_tool",
    "open_agent",
    "script",
    "temporary_folder",
]

QUICK = AgentLimits(
    engine=EngineLimits(first_wait_s=0.001, grace_s=0.5),
    session=SessionLimits(calls=CallLimits(heed_s=0.05, grace_s=0.5)),
)
"""Limits for tests: what is waited for on purpose is short."""

Work = Callable[[JsonObject, ToolCallContext], Awaitable[ToolResult]]


@asynccontextmanager
async def open_agent(folder: Path, **options: Any) -> AsyncGenerator[Agent]:
    """An agent whose home and workspace are in `folder`, on the scripted model, without built-in tools and with nothing of this process."""
    workspace = folder / "work"
    workspace.mkdir(exist_ok=True)
    given: dict[str, Any] = {
        "workspace": workspace,
        "home": folder / "home",
        "model": "scripted:demo",
        "environment": {},
        "builtin_tools": None,
        "limits": QUICK,
    }
    async with Agent.create(**(given | options)) as agent:
        yield agent


def make_tool(name: str = "note", work: Work | None = None, **fields: Any) -> Tool:
    """A tool whose one argument is `text`; it says it back, unless `work` does something else."""

    async def say_back(arguments: JsonObject, _: ToolCallContext) -> ToolResult:
        await asyncio.sleep(0)
        return ToolResult.of_text(f"noted {arguments.get('text', '')}")

    given: dict[str, Any] = {
        "name": name,
        "description": "Takes a note.",
        "input_schema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "additionalProperties": False,
        },
        "execute": work or say_back,
    }
    return Tool(**(given | fields))


async def allow(question: PermissionQuestion) -> Answer:
    """Answers every question with a yes, for once."""
    del question
    return Answer.ALLOW_ONCE


def script(*lines: str) -> str:
    """A prompt that brings a script."""
    return "\n".join(("Go on.", "```script", *lines, "```"))


async def events_of(session: Session, prompt: str) -> tuple[list[SessionEvent], TurnEnded]:
    """All events of a turn, and its end."""
    turn = session.prompt(prompt)
    events = [event async for event in turn]
    return events, await turn.wait()


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder with a short path, since some tests put sockets there."""
    return tempfile.TemporaryDirectory(prefix="isp-")
