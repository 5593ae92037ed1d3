"""How far plugins reach in a whole agent: into child agents, the skill tool, the catalogue of models, and streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inspan.agent.audit.events import AuditEvent, PermissionEvent, ToolExecution
from inspan.agent.cancelling import CancelSignal
from inspan.agent.events import ToolEnded
from inspan.agent.models.contract import ModelDefinition, ModelEvent, ModelRequest, TextDelta
from inspan.agent.plugins.contract import PromptContext, PromptSource, RuntimeSkill
from inspan.agent.plugins.entries import InlinePlugin
from inspan.agent.tools.settings import ToolSettings
from support.agent_ground import allow, events_of, make_tool, open_agent, script
from support.holders import until
from support.runtime_plugins import Context, MadePlugin


@pytest.mark.requirement("R53", "R71", "R72")
def test_a_sink_is_told_of_a_child_agents_permissions_and_calls(tmp_path: Path) -> None:
    async def story() -> list[tuple[str, str, str]]:
        events: list[AuditEvent] = []

        class Sink:
            async def write(self, event: AuditEvent) -> None:
                events.append(event)

        def set_up(ctx: Context) -> None:
            ctx.tools.register(make_tool("note"))
            ctx.audit.register_sink(Sink())

        plugin = MadePlugin(id="mine", setup=set_up)
        task = "```script\\ncall note {}\\n---\\nsay done\\n```"
        async with open_agent(
            tmp_path, runtime_plugins=[plugin], responder=allow, builtin_tools=ToolSettings()
        ) as agent:
            session = await agent.new_session()
            shown, _ = await events_of(
                session,
                script(f'call subagent {{"name": "looker", "prompt": "Look.\\n{task}"}}', "---", "say done"),
            )
            assert all(event.outcome == "done" for event in shown if isinstance(event, ToolEnded))
        told = [event.record if isinstance(event, PermissionEvent) else event for event in events]
        assert {type(event) for event in events} == {PermissionEvent, ToolExecution}
        return [(one.tool, one.owner, one.subagent) for one in told]

    told = asyncio.run(story())

    assert told.count(("note", "mine", "looker")) == 2
    assert told.count(("subagent", "builtin", "")) == 2


@pytest.mark.requirement("R43", "R45")
def test_a_runtime_skills_body_comes_through_the_skill_tool_as_any_other(tmp_path: Path) -> None:
    folder = tmp_path / "work" / ".inspan" / "skills" / "kept"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        "---\nname: kept\ndescription: Of the project.\n---\nThe body that is kept.\n"
    )
    skill = RuntimeSkill(name="brought", description="Of a plugin.", body="The body that was brought.")
    plugin = MadePlugin(id="mine", setup=lambda ctx: ctx.skills.register(skill))

    async def story() -> list[str]:
        async with open_agent(tmp_path, runtime_plugins=[plugin], builtin_tools=ToolSettings()) as agent:
            session = await agent.new_session()
            shown, _ = await events_of(
                session,
                script('call skill {"name": "kept"}', 'call skill {"name": "brought"}', "---", "say done"),
            )
        return sorted(event.result.text for event in shown if isinstance(event, ToolEnded))

    brought, kept = asyncio.run(story())
    assert "The body that was brought." in brought
    assert "The body that is kept." in kept


class Provider:
    """A provider of one model."""

    def __init__(self, name: str) -> None:
        self.id = name
        self.began = asyncio.Event()
        self.log: list[str] = []

    async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
        self.began.set()
        yield TextDelta(text="word")
        await cancel.wait()
        self.log.append("stream ended")


@pytest.mark.requirement("R48", "R60")
@pytest.mark.parametrize("name", ["scripted", "openai", "anthropic"])
def test_a_plugin_takes_no_providers_name_that_the_catalogue_has(tmp_path: Path, name: str) -> None:
    plugin = MadePlugin(
        id="mine", setup=lambda ctx: ctx.models.register(Provider(name), [ModelDefinition(id="m")])
    )

    async def story() -> tuple[str, list[str]]:
        async with open_agent(
            tmp_path, runtime_plugins=[InlinePlugin(plugin=plugin, required=False)]
        ) as agent:
            return agent.runtime_plugin_status()[-1].state, [one.owner for one in agent.models]

    state, owners = asyncio.run(story())
    assert state == "failed"
    assert set(owners) == {"builtin"}


@pytest.mark.requirement("R84", "RD4")
def test_a_stream_of_a_plugins_model_has_ended_before_the_plugins_disposers_run(tmp_path: Path) -> None:
    async def story() -> list[str]:
        provider = Provider("mine")

        def set_up(ctx: Context) -> None:
            ctx.models.register(provider, [ModelDefinition(id="m")])
            ctx.on_dispose(lambda: provider.log.append("disposed"))

        async with open_agent(
            tmp_path, runtime_plugins=[MadePlugin(id="mine", setup=set_up)], model="mine:m"
        ) as agent:
            session = await agent.new_session()
            turn = session.prompt("hello")
            await until(provider.began.is_set, "the stream began")
        await turn.wait()
        return provider.log

    assert asyncio.run(story())[-1] == "disposed"


@pytest.mark.requirement("R52", "RD10")
def test_hooks_hear_of_child_agents_and_of_a_conversation_that_is_made_shorter(tmp_path: Path) -> None:
    async def story() -> list[str]:
        heard: list[str] = []

        def set_up(ctx: Context) -> None:
            for name in ("subagent_start", "subagent_stop", "pre_compact"):
                ctx.hooks.on(name, lambda event: heard.append(type(event).__name__))

        plugin = MadePlugin(id="mine", setup=set_up)
        async with open_agent(
            tmp_path, runtime_plugins=[plugin], responder=allow, builtin_tools=ToolSettings()
        ) as agent:
            session = await agent.new_session()
            await session.run(
                script('call subagent {"name": "looker", "prompt": "Look."}', "---", "say done")
            )
            for word in ("more", "and more"):
                await session.run(word)
            await session.compact()
        return heard

    assert asyncio.run(story()) == ["SubagentStart", "SubagentStop", "PreCompact"]


@pytest.mark.requirement("R54", "RD12")
def test_a_section_is_made_once_a_turn_however_often_the_model_is_asked(tmp_path: Path) -> None:
    async def story() -> tuple[int, int]:
        count = 0

        async def render(_: PromptContext) -> str:
            nonlocal count
            count += 1
            return "a section"

        source = PromptSource(name="counted", render=render)
        plugin = MadePlugin(id="mine", setup=lambda ctx: ctx.prompts.register(source))
        async with open_agent(
            tmp_path, runtime_plugins=[plugin], tools=[make_tool()], responder=allow
        ) as agent:
            session = await agent.new_session()
            ended = await session.run(script("call note {}", "---", "call note {}", "---", "say done"))
        return count, ended.usage.requests

    assert asyncio.run(story()) == (1, 3)
