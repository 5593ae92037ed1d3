"""The seventeen tools: names, arguments, command lines, and what cannot be smuggled into one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.apps.model.verbs import FRAMEWORK_VERBS, OPERATE_VERBS, REGISTRY_VERBS
from inspan.apps.tools.arguments import ArgumentsRefused
from inspan.apps.tools.running import program_argv, program_for_words, verb_of
from inspan.apps.tools.table import SUBSETS, TOOLS, input_schema, tool_named

# Name, program, arguments, words: as the specification's table has them.
ROWS: list[tuple[str, str, dict[str, Any], list[str]]] = [
    ("agent_app_describe", "a2app", {"dir": "."}, ["."]),
    ("agent_app_describe", "a2app", {"dir": "x", "path": "/a//b/", "all": True}, ["x", "a", "b", "--all"]),
    ("agent_app_describe", "a2app", {"dir": "x", "all": False}, ["x"]),
    ("agent_app_find", "a2app", {"dir": ".", "term": "card"}, [".", "--find", "card"]),
    ("agent_app_list", "a2app", {"dir": ".", "entity": "cards"}, [".", "data", "cards", "list"]),
    (
        "agent_app_list",
        "a2app",
        {"dir": ".", "entity": "cards", "filter": "done = true", "sort": "-due", "limit": 5.0},
        [".", "data", "cards", "list", "--filter", "done = true", "--sort", "-due", "--limit", "5"],
    ),
    (
        "agent_app_get",
        "a2app",
        {"dir": ".", "entity": "cards", "id": "c1"},
        [".", "data", "cards", "get", "c1"],
    ),
    (
        "agent_app_create",
        "a2app",
        {"dir": ".", "entity": "cards", "fields": {"title": "ä", "no": "007"}},
        [".", "data", "cards", "create", "--json", '{"title":"ä","no":"007"}'],
    ),
    (
        "agent_app_update",
        "a2app",
        {"dir": ".", "entity": "cards", "id": "c1", "fields": {"find": "--all"}},
        [".", "data", "cards", "update", "c1", "--json", '{"find":"--all"}'],
    ),
    (
        "agent_app_delete",
        "a2app",
        {"dir": ".", "entity": "cards", "id": "c1"},
        [".", "data", "cards", "delete", "c1"],
    ),
    (
        "agent_app_run_operation",
        "a2app",
        {
            "dir": ".",
            "path": "board/cards/c1",
            "operation": "finish",
            "fields": {"approve": "x"},
            "approve": "k",
        },
        [".", "board", "cards", "c1", "finish", "--json", '{"approve":"x"}', "--approve", "k"],
    ),
    (
        "agent_app_run_operation",
        "a2app",
        {"dir": ".", "path": "board", "operation": "count"},
        [".", "board", "count"],
    ),
    ("agent_app_poll_tasks", "a2app", {"dir": "."}, [".", "tasks"]),
    (
        "agent_app_poll_tasks",
        "a2app",
        {"dir": ".", "status": "working"},
        [".", "tasks", "--status", "working"],
    ),
    ("agent_app_next_task", "a2app", {"dir": "."}, [".", "tasks", "next"]),
    (
        "agent_app_next_task",
        "a2app",
        {"dir": ".", "waitMs": 1500, "capability": "sum"},
        [".", "tasks", "next", "--wait", "1500", "--capability", "sum"],
    ),
    (
        "agent_app_task_progress",
        "a2app",
        {"dir": ".", "id": "tsk_1", "step": "half", "percent": 50},
        [".", "tasks", "progress", "tsk_1", "--step", "half", "--percent", "50"],
    ),
    (
        "agent_app_complete_task",
        "a2app",
        {"dir": ".", "id": "tsk_1"},
        [".", "tasks", "complete", "tsk_1", "--result", "{}"],
    ),
    (
        "agent_app_complete_task",
        "a2app",
        {"dir": ".", "id": "tsk_1", "result": {"n": 1}},
        [".", "tasks", "complete", "tsk_1", "--result", '{"n":1}'],
    ),
    (
        "agent_app_complete_task",
        "a2app",
        {"dir": ".", "id": "tsk_1", "result": {"n": 1}, "reason": "gone"},
        [".", "tasks", "complete", "tsk_1", "--reason", "gone"],
    ),
    (
        "agent_app_build",
        "agent-app",
        {"dir": "new", "blueprint": "python", "name": "My app"},
        ["new", "scaffold", "--blueprint", "python", "--name", "My app"],
    ),
    ("agent_app_validate", "agent-app", {"dir": ".", "noBuild": True}, [".", "validate", "--no-build"]),
    (
        "agent_app_serve",
        "agent-app",
        {"dir": ".", "install": True, "open": True},
        [".", "serve", "--install", "--open"],
    ),
    ("agent_app_stop", "agent-app", {"dir": "."}, [".", "stop"]),
    ("agent_app_open", "agent-app", {"dir": ".", "printOnly": True}, [".", "open", "--print-only"]),
]


@pytest.mark.requirement("P11", "P13")
@pytest.mark.parametrize(("name", "program", "arguments", "words"), ROWS)
def test_each_tool_runs_its_own_program_with_these_words(
    name: str, program: str, arguments: dict[str, Any], words: list[str]
) -> None:
    tool = tool_named(name)
    assert tool is not None
    assert tool.program == program
    assert tool.argv(arguments) == words


@pytest.mark.requirement("P11")
def test_there_are_seventeen_and_the_subsets_are_made_of_them() -> None:
    assert {row[0] for row in ROWS} == {tool.name for tool in TOOLS}
    assert [len(SUBSETS[name]) for name in ("all", "tasks", "basic")] == [17, 14, 11]
    assert set(SUBSETS["basic"]) < set(SUBSETS["tasks"]) < set(SUBSETS["all"])
    assert {"agent_app_serve", "agent_app_stop", "agent_app_open"} == set(SUBSETS["all"]) - set(
        SUBSETS["tasks"]
    )


@pytest.mark.requirement("P11")
def test_a_schema_names_every_argument_and_takes_no_other() -> None:
    for tool in TOOLS:
        schema = input_schema(tool)
        assert schema["additionalProperties"] is False
        assert set(schema["properties"]) == {argument.name for argument in tool.arguments}
        assert schema["required"][0] == "dir"
        assert all(shape["description"].strip() for shape in schema["properties"].values())
        json.dumps(schema)


@pytest.mark.requirement("P12")
@pytest.mark.parametrize("first", OPERATE_VERBS)
def test_a_path_cannot_reach_a_verb_of_the_protocol(first: str) -> None:
    describe = tool_named("agent_app_describe")
    assert describe is not None
    with pytest.raises(ArgumentsRefused):
        describe.argv({"dir": ".", "path": f"/{first}/next"})


@pytest.mark.requirement("P12")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("agent_app_describe", {"dir": "--help"}),
        ("agent_app_describe", {"dir": "-x"}),
        ("agent_app_describe", {"dir": ""}),
        ("agent_app_describe", {"dir": "  "}),
        ("agent_app_describe", {"dir": "a\x00b"}),
        ("agent_app_describe", {"dir": "a\nb"}),
        ("agent_app_describe", {"dir": "list"}),
        ("agent_app_describe", {"dir": "skills"}),
        ("agent_app_describe", {"dir": ".", "path": "board/--all"}),
        ("agent_app_describe", {"dir": ".", "path": "board/-1"}),
        ("agent_app_get", {"dir": ".", "entity": "cards", "id": "--json"}),
        ("agent_app_get", {"dir": ".", "entity": "-cards", "id": "1"}),
        ("agent_app_list", {"dir": ".", "entity": "cards", "filter": "--all"}),
        ("agent_app_find", {"dir": ".", "term": "--approve"}),
        ("agent_app_find", {"dir": ".", "term": "a\x00"}),
        ("agent_app_run_operation", {"dir": ".", "path": "board", "operation": "--approve"}),
        ("agent_app_run_operation", {"dir": ".", "path": "/", "operation": "tasks"}),
        ("agent_app_complete_task", {"dir": ".", "id": "-1"}),
        ("agent_app_create", {"dir": ".", "entity": "cards", "fields": {"x": "y" * 200_000}}),
        ("agent_app_create", {"dir": ".", "entity": "cards", "fields": {"x": float("nan")}}),
        ("agent_app_create", {"dir": ".", "entity": "cards", "fields": {"x": "\ud800"}}),
        ("agent_app_create", {"dir": ".", "entity": "cards", "fields": "x"}),
        ("agent_app_create", {"dir": ".", "entity": "cards"}),
        ("agent_app_describe", {"dir": ".", "unknown": 1}),
        ("agent_app_describe", {"dir": ".", "all": "true"}),
        ("agent_app_describe", {"dir": 1}),
        ("agent_app_next_task", {"dir": ".", "waitMs": True}),
        ("agent_app_next_task", {"dir": ".", "waitMs": float("inf")}),
    ],
)
def test_what_would_be_read_as_something_else_is_refused(name: str, arguments: dict[str, Any]) -> None:
    tool = tool_named(name)
    assert tool is not None
    with pytest.raises(ArgumentsRefused):
        tool.argv(arguments)


def test_a_value_nested_a_thousand_deep_is_refused_in_words() -> None:
    deep: Any = {}
    for _ in range(1000):
        deep = {"a": [deep]}
    tool = tool_named("agent_app_create")
    assert tool is not None
    with pytest.raises(ArgumentsRefused, match="nested"):
        tool.argv({"dir": ".", "entity": "cards", "fields": deep})


_TEXT = st.text(max_size=40)
_VALUES = st.one_of(_TEXT, st.booleans(), st.integers(), st.dictionaries(_TEXT, _TEXT, max_size=3))


@pytest.mark.requirement("P12")
@given(tool=st.sampled_from(TOOLS), given_values=st.data())
def test_no_value_adds_a_flag_or_moves_a_verb(tool: Any, given_values: st.DataObject) -> None:
    arguments: dict[str, Any] = {
        argument.name: given_values.draw(
            {
                "string": st.one_of(
                    _TEXT, st.sampled_from(["--all", "tasks/next", "-", "data", "list", "--json"])
                ),
                "boolean": st.booleans(),
                "number": st.integers(0, 10_000),
                "object": st.dictionaries(_TEXT, _VALUES, max_size=3),
            }[argument.type]
        )
        for argument in tool.arguments
    }
    try:
        words = tool.argv(arguments)
    except ArgumentsRefused:
        return
    flags = [word for word in words if word.startswith("--")]
    own = {"--all", "--find", "--filter", "--sort", "--limit", "--json", "--approve", "--status", "--wait"}
    own |= {
        "--capability",
        "--step",
        "--percent",
        "--reason",
        "--result",
        "--blueprint",
        "--name",
        "--no-build",
    }
    own |= {"--install", "--open", "--print-only"}
    assert set(flags) <= own
    assert len(flags) == len(set(flags))
    assert not words[0].startswith("-")
    assert words[0] not in REGISTRY_VERBS
    if tool.name in ("agent_app_describe", "agent_app_run_operation") and len(words) > 1:
        assert words[1] not in OPERATE_VERBS


def test_a_typed_line_is_routed_by_its_verb_and_a_registry_verb_comes_first() -> None:
    assert verb_of(["list"]) == "list"
    assert verb_of([".", "serve"]) == "serve"
    assert verb_of(["."]) == ""
    assert program_for_words([".", "bridge", "start"]) == "agent-app"
    assert program_for_words([".", "tasks", "next"]) == "a2app"
    assert program_for_words(["skills"]) == "agent-app"
    assert {"scaffold", "validate", "serve", "stop", "open"} <= set(FRAMEWORK_VERBS)
    with pytest.raises(ArgumentsRefused):
        program_for_words([])


@pytest.mark.requirement("P13")
def test_a_program_is_the_one_that_its_own_variable_names() -> None:
    environment = {"A2APP_CLI": "/opt/a2", "AGENT_APP_CLI": "/opt/build.mjs"}
    assert program_argv("a2app", environment) == ["/opt/a2"]
    assert program_argv("agent-app", environment) == ["node", "/opt/build.mjs"]
    assert program_argv("a2app", {"A2APP_CLI": "  ", "PATH": ""})[0] != ""
