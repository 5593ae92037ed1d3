"""One MCP server in a harness's own file: put in, found and taken out again, and nothing else touched."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.hooks.mcp_entry import Entry, MergeError, add_server, has_server, remove_server
from inspan.model.mcp import McpPlace

JSON = McpPlace(path="/f")
NESTED = McpPlace(path="/f", under=("mcp", "servers"))
TABLE = McpPlace(
    path="/f",
    format="toml",
    under=("servers",),
    entry="[servers.{name}]\ncommand = {program}\nargs = {args}\n",
)
LIST = McpPlace(
    path="/f",
    format="toml",
    under=("servers",),
    entry='[[servers]]\nname = "{name}"\ncommand = {program}\nargs = {args}\n',
)
YAML = McpPlace(path="/f", format="yaml", under=("servers",), entry="command: {program}\nargs: {args}\n")
OURS = Entry("ours", '/a "b"/python', ("-m", "x"))
NEWER = Entry("ours", "/other/python", ("-m", "y"))


@pytest.mark.requirement("P16")
@pytest.mark.parametrize("place", [JSON, NESTED])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "{}\n",
        '{"a": 1}',
        '{\n  // mine\n  "a": [1, 2,],\n}\n',
        '{"mcpServers": {}, "mcp": {}}',
        '{"mcpServers": {"other": {"command": "x"}}, "mcp": {"servers": {"other": {}}}}\n',
        '{"mcp": {"servers": {}}, "z": null}',
    ],
)
def test_json_is_as_it_was_after_the_server_is_gone(place: McpPlace, text: str) -> None:
    added = add_server(place, text, OURS)
    assert has_server(place, added, "ours")
    assert add_server(place, added, OURS) == added
    newer = add_server(place, added, NEWER)
    assert "/other/python" in newer
    assert 'python\\"' not in newer
    for full in (added, newer):
        assert remove_server(place, full, "ours") == (text or "{}\n")
    assert not has_server(place, text, "ours") if text else True


def test_the_program_and_its_arguments_stand_in_json_as_they_are() -> None:
    document = json.loads(add_server(JSON, "{}", OURS))
    assert document["mcpServers"]["ours"]["command"] == '/a "b"/python'
    assert document["mcpServers"]["ours"]["args"][:2] == ["-m", "x"]


@pytest.mark.requirement("P16")
@pytest.mark.parametrize("place", [TABLE, LIST])
@pytest.mark.parametrize("text", ["", "a = 1", "a = 1\n", "# mine\n[servers.other]\ncommand = 'x'\n"])
def test_toml_is_as_it_was_after_the_server_is_gone(place: McpPlace, text: str) -> None:
    if place is LIST and "servers" in text:
        text = text.replace("[servers.other]", "[[servers]]\nname = 'other'")
    added = add_server(place, text, OURS)
    found: Any = tomllib.loads(added)["servers"]
    server: Any = found[-1] if place is LIST else found["ours"]
    assert server["command"] == '/a "b"/python'
    assert add_server(place, added, OURS) == added
    assert remove_server(place, add_server(place, added, NEWER), "ours") == text
    behind = added + "[later]\nb = 2\n"
    assert tomllib.loads(remove_server(place, behind, "ours"))["later"] == {"b": 2}


@pytest.mark.parametrize("text", ["", "a: 1\n", "a: 1"])
def test_yaml_gets_a_block_of_its_own(text: str) -> None:
    added = add_server(YAML, text, OURS)
    assert '\nservers:\n  ours:\n    command: "/a \\"b\\"/python"\n    args: ["-m", "x"' in f"\n{added}"
    assert add_server(YAML, added, OURS) == added
    assert remove_server(YAML, added, "ours") == text


def test_yaml_with_servers_of_its_own_is_left_to_a_person_who_is_given_the_lines() -> None:
    with pytest.raises(MergeError) as refused:
        add_server(YAML, "servers:\n  other: {}\n", OURS)
    assert refused.value.lines.startswith("servers:\n  ours:\n    command:")


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (JSON, '{"mcpServers": {"ours": {"command": "mine"}}}'),
        (NESTED, '{"mcp": {"servers": {"ours": 1}}}'),
        (TABLE, "[servers.ours]\ncommand = 'mine'\n"),
        (LIST, "[[servers]]\nname = 'ours'\n"),
    ],
)
def test_a_server_of_that_name_that_is_not_ours_is_neither_replaced_nor_removed(
    place: McpPlace, text: str
) -> None:
    with pytest.raises(MergeError, match="not ours"):
        add_server(place, text, OURS)
    assert remove_server(place, text, "ours") == text


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (JSON, "no json"),
        (JSON, "[]"),
        (JSON, '{"mcpServers": []}'),
        (JSON, '{"a": 1, "a": 2}'),
        (JSON, "[" * 5000),
        (TABLE, "a ="),
        (TABLE, "servers = 1\n"),
    ],
)
def test_a_file_that_cannot_be_read_is_left_alone(place: McpPlace, text: str) -> None:
    with pytest.raises(MergeError):
        add_server(place, text, OURS)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)


@given(
    document=st.dictionaries(st.sampled_from(["a", "mcp", "b", "mcpServers"]), _VALUES, max_size=4),
    indent=st.sampled_from([None, 1, 4]),
    place=st.sampled_from([JSON, NESTED]),
)
def test_whatever_json_was_there_is_there_again_byte_for_byte(
    document: dict[str, Any], indent: int | None, place: McpPlace
) -> None:
    text = json.dumps(document, indent=indent)
    try:
        added = add_server(place, text, OURS)
    except MergeError:
        assert not isinstance(document.get(place.under[0], {}), dict) or len(place.under) > 1
        return
    kept = json.loads(added)
    assert all(kept[key] == value for key, value in document.items() if key != place.under[0])
    assert remove_server(place, added, "ours") == text
