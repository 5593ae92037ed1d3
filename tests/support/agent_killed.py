"""An agent in a process of its own, which a test kills: `python -m support.agent_killed HOME WORKSPACE SESSION`.

It runs one turn whose second call waits for ever, and prints a line for each event. With an empty SESSION it begins one.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from inspan.agent import Agent
from inspan.agent.tools.contract import ToolCallContext
from inspan.agent.values import JsonObject, ToolResult
from support.agent_ground import allow, make_tool, script

STORY = script(
    "say I count",
    'call count {"text": "one"}',
    "---",
    'call count {"text": "two"}',
    'call look {"text": "three"}',
    'call look {"text": "wait"}',
    "---",
    "say never",
)


async def main(home: str, workspace: str, session_id: str) -> None:
    """Runs the turn."""

    async def count(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
        with (ctx.workspace / "counted").open("a", encoding="utf-8") as file:
            file.write(f"{arguments['text']}\n")
        if arguments["text"] in ("two", "wait"):
            print(f"waiting {arguments['text']}", flush=True)
            await asyncio.Event().wait()
        return ToolResult.of_text(f"counted {arguments['text']}")

    tools = [make_tool("count", count), make_tool("look", count, read_only=True)]
    async with Agent.create(
        workspace=workspace, home=home, model="scripted:demo", tools=tools, responder=allow
    ) as agent:
        session = await (agent.resume_session(session_id) if session_id else agent.new_session())
        print(f"session {session.id}", flush=True)
        async for event in session.prompt(STORY):
            print(type(event).__name__, flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    asyncio.run(main(*sys.argv[1:]))
