"""The `subagent` tool: a child never has more than its parent, and children do not go on for ever."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.agent.tools.contract import ToolCallContext
from inspan.agent.tools.subagent import ChildAllowance, ChildRequest, ChildResult, subagent_tool
from inspan.agent.values import ToolResult
from support.agent_tools import call_context, call_tool, make_ground

HERE = Path("/nowhere")


class Children:
    """Runs no child, but keeps what it is asked."""

    def __init__(self, tools: set[str], depth: int = 0, result: ChildResult | None = None) -> None:
        self._allowance = ChildAllowance(tools=frozenset(tools), depth=depth)
        self._result = result or ChildResult(text="Done.", stop_reason="end_turn")
        self.asked: list[ChildRequest] = []

    def allowance_of(self, call: ToolCallContext) -> ChildAllowance:
        return self._allowance

    async def run_child(self, request: ChildRequest, call: ToolCallContext) -> ChildResult:
        self.asked.append(request)
        return self._result


def ask(children: Children, depth: int = 2, **arguments: Any) -> ToolResult:
    tool = subagent_tool(make_ground(subagent_depth=depth), children)

    async def run() -> ToolResult:
        given = {"name": "look", "prompt": "Look.", **arguments}
        return await call_tool(tool, call_context(HERE), **given)

    return asyncio.run(run())


@given(
    own=st.sets(st.sampled_from(["read", "edit", "shell", "subagent"])),
    wanted=st.lists(st.sampled_from(["read", "edit", "shell", "subagent", "fetch"])),
    depth=st.integers(0, 4),
    deepest=st.integers(0, 4),
)
def test_a_child_has_at_most_its_parent_s_tools_and_is_no_deeper_than_allowed(
    own: set[str], wanted: list[str], depth: int, deepest: int
) -> None:
    children = Children(own, depth)
    result = ask(children, deepest, tools=wanted)

    for request in children.asked:
        assert request.tools <= own
        assert request.depth == depth + 1 <= deepest
        assert "subagent" not in request.tools or request.depth < deepest
    assert result.is_error is not bool(children.asked)
    assert bool(children.asked) == (depth < deepest and set(wanted) <= own)


def test_a_tool_that_the_parent_does_not_have_is_refused_by_name() -> None:
    assert "shell" in ask(Children({"read"}), tools=["read", "shell"]).text


def test_without_a_choice_the_child_has_all_that_its_parent_has() -> None:
    children = Children({"read", "edit", "subagent"})
    assert ask(children).text == "Done."
    assert children.asked[0].tools == {"read", "edit", "subagent"}
    assert (children.asked[0].name, children.asked[0].prompt, children.asked[0].model) == (
        "look",
        "Look.",
        "",
    )


@pytest.mark.parametrize("stop_reason", ["failed", "cancelled", "max_steps", "limited"])
def test_a_child_that_did_not_end_by_itself_is_an_error_with_what_it_said(stop_reason: str) -> None:
    result = ask(Children(set(), result=ChildResult(text="Half.", stop_reason=stop_reason, message="Why.")))

    assert result.is_error
    assert result.text == f"Half.\n[The child agent stopped early ({stop_reason}): Why.]"


def test_a_long_answer_is_cut_in_the_middle() -> None:
    result = ask(Children(set(), result=ChildResult(text="a" * 10**6 + "z", stop_reason="end_turn")))

    assert len(result.text) < 33_000
    assert result.text.endswith("z")


def test_it_changes_nothing_by_itself() -> None:
    tool = subagent_tool(make_ground(), Children(set()))
    assert tool.session_local
    assert not tool.read_only
    assert tool.title is not None
    assert tool.title({"name": "look\naround"}) == "Subagent: look around"
