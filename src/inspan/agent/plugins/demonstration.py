"""An agent with plugins, without a key and without a network: `inspan demo plugins`.

A scripted model calls a local tool of one plugin and a tool of a simulated connector; an audit observer tells what was
decided and done.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from inspan.agent import Agent
from inspan.agent.audit.events import AuditEvent, PermissionEvent
from inspan.agent.permissions.values import Answer, PermissionQuestion
from inspan.agent.plugins.connector import ConnectContext, ConnectorClient, create_connector_plugin
from inspan.agent.plugins.contract import API_VERSION, PluginContext, RuntimePlugin
from inspan.agent.plugins.overview import overview_text
from inspan.agent.tools.contract import Tool, ToolCallContext
from inspan.agent.values import Json, JsonObject, ToolResult

__all__ = ["main"]

PROMPT = """\
Count the words and file a ticket.
```script
say I count the words and file a ticket.
call count_words {"text": "four words of text"}
call tracker__file_ticket {"title": "Four words"}
---
say Done: $result
```
"""


class Counting:
    """A plugin with a tool of its own and an audit observer."""

    id = "counting"
    version = "1.0.0"
    api_version = API_VERSION

    def parse_config(self, raw: Json, /) -> None:
        """Takes no configuration."""
        if raw is not None:
            raise ValueError("there is nothing to configure")

    def setup(self, ctx: PluginContext[None], /) -> None:
        """Registers both."""

        async def count(arguments: JsonObject, _: ToolCallContext) -> ToolResult:
            return ToolResult.of_text(f"{len(str(arguments['text']).split())} words")

        ctx.tools.register(
            Tool(
                name="count_words",
                description="Counts the words of a text.",
                input_schema={
                    "type": "object",
                    "properties": {"text": {"type": "string"}},
                    "required": ["text"],
                },
                read_only=True,
                execute=count,
            )
        )
        ctx.audit.register_sink(Telling())


class Telling:
    """An audit observer that says what it is told."""

    async def write(self, event: AuditEvent, /) -> None:
        """Says one line."""
        if isinstance(event, PermissionEvent):
            record = event.record
            verdict = "allowed" if record.decision.is_allowed else "denied"
            sys.stdout.write(
                f"  audit: {record.tool} of {record.owner} is {verdict} ({record.decision.reason})\n"
            )
        else:
            sys.stdout.write(f"  audit: {event.tool} of {event.owner} ran, error: {event.is_error}\n")


class SimulatedTracker:
    """Stands for a vendor's client. It claims that its tool is harmless; nobody believes it."""

    async def tools(self) -> Sequence[Tool]:
        """The vendor's tools."""

        async def file_ticket(arguments: JsonObject, _: ToolCallContext) -> ToolResult:
            return ToolResult.of_text(f"ticket 1: {arguments['title']}")

        schema: JsonObject = {
            "type": "object",
            "properties": {"title": {"type": "string"}},
            "required": ["title"],
        }
        return [
            Tool(
                name="file_ticket",
                description="Files a ticket.",
                input_schema=schema,
                read_only=True,
                execute=file_ticket,
            ),
            Tool(name="drop_tracker", description="Not approved.", input_schema=schema, execute=file_ticket),
        ]

    async def close(self) -> None:
        """Ends the connection."""
        sys.stdout.write("  connector: closed\n")


async def connect(_: None, ctx: ConnectContext) -> ConnectorClient:
    """Connects to nothing."""
    ctx.logger.info("connected")
    return SimulatedTracker()


def no_config(raw: Json) -> None:
    """Takes no configuration."""
    if raw is not None:
        raise ValueError("there is nothing to configure")


def tracker() -> RuntimePlugin[None]:
    """The connector, with the one tool that is approved."""
    return create_connector_plugin(
        id="tracker",
        version="1.0.0",
        parse_config=no_config,
        connect=connect,
        approved=lambda _: {"file_ticket"},
    )


async def say_yes(question: PermissionQuestion) -> Answer:
    """Stands for the person."""
    sys.stdout.write(f"  asked: may {question.tool} run? yes, once\n")
    return Answer.ALLOW_ONCE


async def run(folder: Path) -> None:
    """One turn of one session."""
    async with Agent.create(
        workspace=folder,
        home=folder / "home",
        model="scripted:demo",
        environment={},
        responder=say_yes,
        is_ephemeral=True,
        runtime_plugins=[
            {"plugin": Counting(), "required": True},
            {"plugin": tracker(), "required": False},
        ],
    ) as agent:
        sys.stdout.write(overview_text(agent.runtime_plugin_status(), agent.package_status()) + "\n\nTurn\n")
        session = await agent.new_session()
        ended = await session.run(PROMPT)
        sys.stdout.write(f"  ended: {ended.stop_reason}\n")


def main() -> None:
    """Runs it in a folder that is thrown away."""
    with tempfile.TemporaryDirectory(prefix="isp-") as name:
        asyncio.run(run(Path(name)))


if __name__ == "__main__":
    main()
