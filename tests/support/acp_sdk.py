"""The protocol's own SDK as the client of our ACP server, on a pair of sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import acp
from acp import schema

from inspan.agent.acp.peer import LONGEST_LINE_BYTES
from inspan.agent.acp.server import AcpServer
from inspan.agent.agent import Agent
from support.agent_ground import QUICK

__all__ = ["Person", "connected", "text", "with_sdk"]


class Person:
    """The SDK's client: keeps every update, and answers permissions as it was told."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[Any] = []
        self.answer: str | None = "allow_once"
        self.is_asked = asyncio.Event()
        self.never = asyncio.Event()
        self.spoke = asyncio.Event()
        self.has_commands = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)
        if update.session_update == "agent_message_chunk":
            self.spoke.set()
        if update.session_update == "available_commands_update":
            self.has_commands.set()

    async def request_permission(
        self, options: list[Any], session_id: str, tool_call: Any, **_: Any
    ) -> schema.RequestPermissionResponse:
        self.asked.append((tool_call, [option.kind for option in options]))
        self.is_asked.set()
        if self.answer is None:
            await self.never.wait()
        if self.answer == "fails":
            raise acp.RequestError.method_not_found("session/request_permission")
        if self.answer == "cancelled":
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        return schema.RequestPermissionResponse(
            outcome=schema.AllowedOutcome(outcome="selected", option_id=str(self.answer))
        )

    def on_connect(self, conn: Any) -> None:
        """Nothing to keep."""

    def said(self) -> str:
        return "".join(
            one.content.text for one in self.updates if one.session_update == "agent_message_chunk"
        )

    def of(self, kind: str) -> list[Any]:
        return [one for one in self.updates if one.session_update == kind]


@asynccontextmanager
async def connected(folder: Path, **options: Any) -> AsyncGenerator[tuple[Any, Person]]:
    """The SDK's client and our server on the two ends of a pair of sockets."""
    (folder / "work").mkdir(exist_ok=True)
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours, limit=LONGEST_LINE_BYTES)

    async def write(line: bytes) -> None:
        writer.write(line)
        await writer.drain()

    given: dict[str, Any] = {}
    given |= {
        "workspace": folder / "work",
        "home": folder / "home",
        "model": "scripted:demo",
        "environment": dict[str, str](),
        "limits": QUICK,
    }
    given |= options
    server = AcpServer(
        reader,
        write,
        make_agent=lambda responder: Agent.create(responder=responder, **given),
        model=given["model"],
        environment=given["environment"],
    )
    serving = asyncio.create_task(server.serve())
    their_reader, their_writer = await asyncio.open_connection(sock=theirs, limit=LONGEST_LINE_BYTES)
    person = Person()
    client = acp.connect_to_agent(person, their_writer, their_reader, use_unstable_protocol=True)  # type: ignore[arg-type]
    try:
        yield client, person
    finally:
        await client.close()
        their_writer.close()
        async with asyncio.timeout(20):
            await serving
        writer.close()


def with_sdk(folder: Path, story: Callable[[Any, Person], Awaitable[None]], **options: Any) -> None:
    async def run() -> None:
        async with asyncio.timeout(60), connected(folder, **options) as (client, person):
            await client.initialize(protocol_version=1)
            await story(client, person)

    asyncio.run(run())


def text(words: str) -> list[Any]:
    return [acp.text_block(words)]
