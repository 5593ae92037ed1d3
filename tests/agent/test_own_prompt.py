"""The system prompt and the skills in whole turns of an agent: what the model is sent, and how often it is made."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inspan.agent.cancelling import CancelSignal
from inspan.agent.conversation import CallPart, ToolMessage
from inspan.agent.memory.store import MemoryStore
from inspan.agent.models.contract import ModelDefinition, ModelEvent, ModelRequest, PartDone, TextDelta
from inspan.agent.plugins.contract import PromptContext, PromptSource, RuntimeSkill
from inspan.agent.tools.settings import ToolSettings
from inspan.agent.values import ToolCall
from support.agent_ground import open_agent


class Reader:
    """A model that reads each skill it is told of, one a request, and then says that it is done."""

    id = "reader"

    def __init__(self, skills: list[str]) -> None:
        self._skills = skills
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
        number = len(self.requests)
        self.requests.append(request)
        if number < len(self._skills):
            call = ToolCall(id=f"c{number}", tool="skill", arguments={"name": self._skills[number]})
            yield PartDone(part=CallPart(call=call))
        else:
            yield TextDelta(text="done")


def put_skill(folder: Path, name: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(
        f"---\nname: {name}\ndescription: About {name}.\n---\nBody of {name}.\n"
    )


@pytest.mark.requirement("RD11", "RD12", "R43", "R44")
def test_the_model_is_sent_one_prompt_a_turn_in_order_and_reads_bodies_of_skills_by_the_tool(
    tmp_path: Path,
) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    put_skill(work / ".agents/skills", "ours")
    put_skill(home / "agent/skills", "mine")
    (work / "AGENTS.md").write_text("Use tabs.")
    MemoryStore(home / "agent" / "memory").save("a-note", "What it says.", "Text.", None)
    skills = ["ours", "mine", "live", "write-a-skill"]
    model = Reader(skills)
    made: list[int] = []

    async def render(context: PromptContext) -> str:
        made.append(context.turn)
        return "From the embedder."

    async def broken(_: PromptContext) -> str:
        raise ValueError

    async def story() -> list[str]:
        async with open_agent(
            tmp_path,
            models=[(model, [ModelDefinition(id="m")])],
            model="reader:m",
            builtin_tools=ToolSettings(),
        ) as agent:
            agent.register.prompt(PromptSource(name="broken", render=broken))
            agent.register.prompt(PromptSource(name="mine", render=render))
            agent.register.skill(RuntimeSkill(name="live", description="About live.", body="Body of live."))
            session = await agent.new_session()
            await session.run("Read them.")
            tools = [one for one in session.transcript if isinstance(one, ToolMessage)]
            return [result.result.text for one in tools for result in one.results]

    read = asyncio.run(story())

    assert made == [1]
    assert len(model.requests) == 5
    (prompt,) = {request.instructions for request in model.requests}
    assert re.findall(r'<section name="([^"]+)" owner="([^"]+)">', prompt) == [
        ("base", "builtin"),
        ("environment", "builtin"),
        ("guidance", "project"),
        ("skills", "builtin"),
        ("index", "memory"),
        ("mine", "embedder"),
    ]
    assert "Use tabs." in prompt
    assert "- a-note: What it says." in prompt
    for name, text in zip(skills, read, strict=True):
        assert re.search(rf"^- {name}( \(project\))?: ", prompt, re.MULTILINE)
        assert f"# Skill {name} (" in text
    assert "Body of" not in prompt
    assert ["Body of" in text for text in read] == [True, True, True, False]
