"""The `list` tool: a tree that is bounded, in order, and goes nowhere through links."""

import os
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.tools.listing import list_tool
from inspan.agent.values import ToolResult
from support.agent_tools import make_ground, run_tool


def listed(workspace: Path, **arguments: Any) -> ToolResult:
    return run_tool(list_tool(make_ground()), workspace, **arguments)


def put(workspace: Path, *names: str) -> None:
    for name in names:
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def test_a_folder_is_shown_as_a_tree_to_a_depth(tmp_path: Path) -> None:
    put(tmp_path, "b.txt", "a/inner/deep.txt", "a/x.txt", ".hidden", ".git/config")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")

    assert listed(tmp_path).text.split("\n") == [
        "./",
        "  .hidden",
        "  a/",
        "    inner/ …",
        "    x.txt",
        "  b.txt",
        "  empty/",
        "  link -> /etc",
        "  pipe [neither file nor folder]",
    ]
    assert "      deep.txt" in listed(tmp_path, depth=3).text
    assert listed(tmp_path, path="a", depth=1).text.split("\n") == ["a/", "  inner/ …", "  x.txt"]
    assert listed(tmp_path, path="empty").text == "empty/\n  [empty]"


def test_ignored_files_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    put(tmp_path, "keep.txt", "build/out.txt", "sub/x.log", "sub/keep.log", "sub/x.txt")
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    (tmp_path / "sub" / ".gitignore").write_text("!keep.log\n")

    assert listed(tmp_path).text.split("\n") == [
        "./", "  .gitignore", "  keep.txt", "  sub/", "    .gitignore", "    keep.log", "    x.txt",
    ]  # fmt: skip
    assert "x.log" in listed(tmp_path, include_ignored=True).text
    assert listed(tmp_path, path="build").text == "build/\n  out.txt"
    assert listed(tmp_path, path="sub").text.split("\n") == ["sub/", "  .gitignore", "  keep.log", "  x.txt"]


def test_a_huge_folder_is_counted_and_leaves_room_for_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "huge").mkdir()
    for number in range(1500):
        (tmp_path / "huge" / f"{number:05}").touch()
    put(tmp_path, "other/x.txt")

    text = listed(tmp_path).text
    assert "    [… 1,400 more]" in text
    assert "    x.txt" in text
    whole = listed(tmp_path, path="huge", max_entries=1000).text.split("\n")
    assert len(whole) == 1002
    assert whole[-1] == "  [… 500 more]"


def test_all_is_bounded_however_deep_it_goes(tmp_path: Path) -> None:
    for outer in range(20):
        put(tmp_path, *(f"{outer}/{inner}/x" for inner in range(20)))

    lines = listed(tmp_path, depth=10, max_entries=120).text.split("\n")
    assert sum(not line.strip().startswith("[…") for line in lines) <= 121
    assert sum(line.startswith("  ") and not line.startswith("    ") for line in lines) == 20


def test_names_of_any_bytes_are_shown(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9\n")).mkdir()
    (tmp_path / os.fsdecode(b"caf\xe9\n") / "x").touch()

    assert listed(tmp_path).text == "./\n  caf\\xe9\\x0a/\n    x"
    assert listed(tmp_path, path=r"caf\xe9\x0a").text.endswith("/\n  x")


@pytest.mark.parametrize("path", ["..", "/", "missing", "file", "link"])
def test_what_is_outside_or_no_folder_is_refused(tmp_path: Path, path: str) -> None:
    put(tmp_path, "file")
    (tmp_path / "link").symlink_to("/etc")

    assert listed(tmp_path, path=path).is_error


def test_a_link_to_a_folder_inside_can_be_listed_by_its_name(tmp_path: Path) -> None:
    put(tmp_path, "real/x")
    (tmp_path / "link").symlink_to("real")

    assert listed(tmp_path, path="link").text == "real/\n  x"
