"""The page on models says what the code does, and its script does what it says."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from inspan.agent.events import TextDelta, ThinkingDelta
from inspan.agent.models.failure import FailureKind
from inspan.agent.models.well_known import WELL_KNOWN
from inspan.agent.permissions.values import PermissionMode
from inspan.agent.result_bounds import ResultLimits
from inspan.agent.session import SessionLimits
from inspan.agent.tools.settings import ToolSettings
from support.agent_ground import events_of, open_agent, temporary_folder

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "agent-models.md").read_text(encoding="utf-8")


def test_the_table_of_providers_is_that_of_the_code() -> None:
    rows = [line for line in PAGE.splitlines() if re.match(r"\| `[a-z]+:` ", line)]
    defaults = [provider for provider in WELL_KNOWN if provider.default_model]
    assert len(rows) == len(defaults)
    for row, provider in zip(rows, defaults, strict=True):
        words = set(re.findall(r"`([^`]+)`", row))
        assert words == {
            f"{provider.id}:",
            *provider.key_variables,
            provider.base_url_variable,
            provider.default_model,
        }


def test_the_numbers_and_the_words_on_the_page_are_those_of_the_code() -> None:
    limits = ResultLimits()
    assert f"{limits.text_chars:,} characters" in PAGE
    assert f"{limits.image_bytes >> 20} MiB" in PAGE
    assert SessionLimits().answer_s == 600.0
    for mode in PermissionMode:
        assert mode is PermissionMode.DEFAULT or f"`{mode}`" in PAGE
    told = re.search(r"fails: ([^|]+)\|", PAGE)
    assert told is not None
    kinds = set(re.findall(r"`([a-z_]+)`", told[1]))
    assert kinds <= {kind.value for kind in FailureKind}
    assert len(kinds) == 9


def test_the_script_on_the_page_does_what_it_says() -> None:
    found = re.search(r"````text\n(.*?)````", PAGE, re.DOTALL)
    assert found is not None
    prompt = found[1]

    async def story(folder: Path) -> None:
        async with open_agent(folder, builtin_tools=ToolSettings()) as agent:
            (folder / "work" / "words.txt").write_text("three small words\n", encoding="utf-8")
            events, _ = await events_of(await agent.new_session(), prompt)
            said = [event.text for event in events if isinstance(event, TextDelta)]
            assert "".join(said[:3]) == "I read the file now.\n"
            assert "three small words" in said[3]
            assert any(isinstance(event, ThinkingDelta) for event in events)

    with temporary_folder() as path:
        asyncio.run(story(Path(path)))
