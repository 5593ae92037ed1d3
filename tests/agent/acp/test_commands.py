"""The agent's own commands over the protocol: they can be cancelled, and one plugin's page spoils none of the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from inspan.agent.cancelling import CancelSignal
from inspan.agent.conversation import UserMessage
from inspan.agent.models.contract import ModelDefinition, ModelEvent, ModelRequest
from inspan.agent.models.scripted import ScriptedModel
from inspan.agent.plugins.contract import Page, PageContext
from inspan.agent.plugins.entries import InlinePlugin
from inspan.agent.sessions.compaction import COMPACTION_SOURCE
from support.acp_sdk import Person, text, with_sdk
from support.runtime_plugins import Context, MadePlugin


class SlowToSumUp(ScriptedModel):
    """Never ends to sum up."""

    def __init__(self) -> None:
        super().__init__(id="slow")
        self.is_asked = asyncio.Event()

    async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
        newest = request.messages[-1]
        if isinstance(newest, UserMessage) and newest.source == COMPACTION_SOURCE:
            self.is_asked.set()
            await asyncio.Event().wait()
        async for event in super().stream(request, cancel):
            yield event


def test_a_command_that_asks_the_model_can_be_cancelled_and_ends_with_its_session(tmp_path: Path) -> None:
    model = SlowToSumUp()

    async def story(client: Any, person: Person) -> None:
        id = (await client.new_session(cwd=str(tmp_path / "work"), mcp_servers=[])).session_id
        await client.prompt(session_id=id, prompt=text("hello"))
        summing = asyncio.create_task(client.prompt(session_id=id, prompt=text("/compact")))
        await model.is_asked.wait()
        await client.cancel(session_id=id)
        assert (await summing).stop_reason == "cancelled"
        person.updates.clear()
        await client.prompt(session_id=id, prompt=text("still here"))
        assert "still here" in person.said()
        model.is_asked.clear()
        summing = asyncio.create_task(client.prompt(session_id=id, prompt=text("/compact")))
        await model.is_asked.wait()
        await client.close_session(session_id=id)
        await summing
        assert "The session is closed." in person.said()

    with_sdk(tmp_path, story, models=[(model, [ModelDefinition(id="m")])], model="slow:m")


def test_a_page_whose_data_cannot_be_drawn_is_told_and_the_others_are_drawn(tmp_path: Path) -> None:
    async def odd(_: PageContext) -> Any:
        return {"when": object()}

    async def sound(_: PageContext) -> Any:
        return {"colour": "green"}

    def set_up(ctx: Context) -> None:
        ctx.pages.register(Page(id="odd", title="Odd", read=odd))
        ctx.pages.register(Page(id="sound", title="Sound", read=sound))

    async def story(client: Any, person: Person) -> None:
        id = (await client.new_session(cwd=str(tmp_path / "work"), mcp_servers=[])).session_id
        await client.prompt(session_id=id, prompt=text("/pages"))
        assert "## Odd\n\nThe page could not be drawn (TypeError)." in person.said()
        assert "green" in person.said()

    plugin = InlinePlugin(plugin=MadePlugin(id="mine", setup=set_up))
    with_sdk(tmp_path, story, runtime_plugins=[plugin])
