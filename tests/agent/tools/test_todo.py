"""The `todo` tool: a session's plan, told to whoever shows it."""

from pathlib import Path

import jsonschema
import pytest

from inspan.agent.tools.todo import PlanBoard, PlanEntry, PlanPriority, PlanStatus, plan_of_call, todo_tool
from support.agent_tools import run_tool

HERE = Path("/nowhere")
ENTRIES = [
    {"content": "Read", "status": "completed", "priority": "low"},
    {"content": "Write\nit", "status": "in_progress"},
    {"content": "Test"},
]


def test_the_plan_is_kept_and_told_whole() -> None:
    board = PlanBoard()
    heard: list[tuple[str, tuple[PlanEntry, ...]]] = []
    leave = board.listen(lambda session, entries: heard.append((session, entries)))
    tool = todo_tool(board)

    assert run_tool(tool, HERE, session="s_a", entries=ENTRIES).text == "[x] Read\n[~] Write it\n[ ] Test"
    run_tool(tool, HERE, session="s_b", entries=[])
    leave()
    leave()
    run_tool(tool, HERE, session="s_a", entries=ENTRIES[:1])

    plan = (
        PlanEntry(content="Read", status=PlanStatus.COMPLETED, priority=PlanPriority.LOW),
        PlanEntry(content="Write it", status=PlanStatus.IN_PROGRESS),
        PlanEntry(content="Test"),
    )
    assert heard == [("s_a", plan), ("s_b", ())]
    assert board.of("s_a") == plan[:1]
    assert board.of("s_c") == ()


@pytest.mark.parametrize(
    "entries",
    [
        [{"content": ""}],
        [{"content": "x", "status": "done"}],
        [{"content": "x", "more": 1}],
        [{"content": "x" * 501}],
        [{"content": "x"}] * 101,
        "x",
        None,
    ],
)
def test_what_is_no_plan_is_refused_by_the_schema_and_by_the_tool(entries: object) -> None:
    board = PlanBoard()
    board.put("s_1", (PlanEntry(content="kept"),))
    tool = todo_tool(board)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"entries": entries}, dict(tool.input_schema))
    with pytest.raises(jsonschema.ValidationError):
        run_tool(tool, HERE, entries=entries)
    assert plan_of_call({"entries": entries}) == ()  # pyright: ignore[reportArgumentType]
    assert board.of("s_1") == (PlanEntry(content="kept"),)


def test_a_plan_can_be_read_again_from_its_call_and_names_itself() -> None:
    tool = todo_tool(PlanBoard())
    assert [one.content for one in plan_of_call({"entries": ENTRIES})] == ["Read", "Write it", "Test"]
    assert tool.title is not None
    assert tool.title({"entries": ENTRIES}) == "Plan: 1 of 3 done"
    assert tool.title({}) == "Plan"
    assert tool.session_local


def test_old_sessions_are_forgotten() -> None:
    board = PlanBoard()
    for number in range(300):
        board.put(f"s_{number}", (PlanEntry(content="x"),))
    assert board.of("s_0") == ()
    assert board.of("s_299")
