"""Pages are drawn from data by the host, and nothing in the data can be more than data."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.agent.commands import run_command
from inspan.agent.plugins.contract import Page, PageContext
from inspan.agent.plugins.page_drawing import draw_page
from support.agent_ground import allow, open_agent, script
from support.runtime_plugins import MadePlugin


async def read(_: PageContext) -> Any:
    return None


def page(*blocks: Any) -> Page:
    return Page(id="p", title="A page", read=read, blocks=blocks)


@pytest.mark.requirement("R55", "RD13")
def test_each_block_is_drawn_from_its_part_of_the_data() -> None:
    data = {"notes": [{"name": "a", "size": 1}, {"name": "b|c"}], "tags": ["x", 2], "facts": {"k": True}}
    drawn = draw_page(
        page(
            {"type": "text", "text": "Some words."},
            {"type": "table", "rows": "notes", "columns": ["name", "size"]},
            {"type": "list", "rows": "tags"},
            {"type": "keyvalue", "rows": "facts"},
            {"type": "form", "action": "delete", "fields": ["name"]},
        ),
        data,
    )

    assert drawn.split("\n\n") == [
        "## A page",
        "Some words.",
        "| name | size |\n|---|---|\n| a | 1 |\n| b\\|c |  |",
        "- x\n- 2",
        "- **k**: true",
        "Action `delete`, which takes `name`.",
    ]


@pytest.mark.requirement("R55", "RD13")
def test_what_is_long_is_cut_and_markup_stays_text() -> None:
    long = draw_page(page({"type": "list"}), [str(number) for number in range(300)])
    marked = draw_page(page({"type": "text", "text": "<script>alert(1)</script> `x`\x1b[31m"}), None)

    assert long.endswith("- 199\n… and 100 more")
    assert "<" not in marked
    assert "\x1b" not in marked


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
block_values = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "table", "list", "form", "keyvalue"])},
    optional=dict.fromkeys(("rows", "columns", "text", "action", "fields"), json_values),
)


@given(st.lists(block_values, max_size=3), json_values)
def test_whatever_a_page_holds_it_is_drawn(blocks: list[Any], data: Any) -> None:
    drawn = draw_page(page(*blocks), data)

    assert drawn.startswith("## A page")
    assert "<" not in drawn


@pytest.mark.requirement("R55", "R102", "RD13")
def test_the_command_pages_draws_memory_and_whatever_plugins_bring(tmp_path: Path) -> None:
    async def fail(_: PageContext) -> Any:
        raise ValueError("sk-planted")

    broken = Page(id="broken", title="Broken", read=fail)
    plugin = MadePlugin(id="mine", setup=lambda ctx: ctx.pages.register(broken))
    save = 'call remember {"action": "save", "name": "tabs", "summary": "Not blanks", "text": "So."}'

    async def story() -> str:
        async with open_agent(tmp_path, runtime_plugins=[plugin], responder=allow) as agent:
            session = await agent.new_session()
            await session.run(script(save, "---", "say done"))
            return await run_command(agent, session, "pages")

    drawn = asyncio.run(story())

    assert drawn.startswith("## Memory\n\n")
    assert "| tabs | workspace | Not blanks | " in drawn
    assert drawn.endswith("## Broken\n\nThe page 'broken' of 'mine' failed with ValueError.")
