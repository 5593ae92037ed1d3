"""The `list` tool: what is in a folder, as a tree."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta, Struct

from inspan.agent.values import JsonObject, ToolResult

from .arguments import arguments_of, schema_of, short
from .confinement import Confinement, Place
from .contract import Tool, ToolCallContext
from .ground import Ground, run_blocking
from .names import show_name
from .problems import ToolProblem, telling_problems
from .searching.walking import Entry, IgnoreRules, read_folder, rules_for, visible

__all__ = ["list_tool"]

_INNER_SHARE = 100
_DESCRIPTION = """\
Lists a folder as a tree, down to a depth. Folders end with `/`, links show their target and are not followed. Files that \
.gitignore leaves out are not shown unless you ask. What does not fit is counted, level by level."""


class ListArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of the `list` tool."""

    path: Annotated[str, Meta(description="The folder.")] = "."
    depth: Annotated[int, Meta(ge=1, le=10, description="How many levels.")] = 2
    max_entries: Annotated[int, Meta(ge=1, le=2000, description="The most entries shown.")] = 300
    include_ignored: Annotated[bool, Meta(description="Whether to show what .gitignore leaves out.")] = False


def list_tool(ground: Ground) -> Tool:
    """Makes the tool."""

    @telling_problems
    async def execute(arguments: JsonObject, call: ToolCallContext) -> ToolResult:
        wanted = arguments_of(ListArguments, arguments)
        return await run_blocking(call, lambda stop: _list(ground.confinement(call), wanted, stop))

    return Tool(
        name="list",
        description=_DESCRIPTION,
        input_schema=schema_of(ListArguments),
        read_only=True,
        execute=execute,
        kind="read",
        title=lambda arguments: f"List {short(arguments.get('path', '.'))}",
        locations=ground.locations_of("path"),
    )


@dataclass(slots=True)
class _Node:
    entry: Entry
    place: Place
    target: str = ""
    children: list[_Node] = field(default_factory=list["_Node"])
    left_out: int = 0
    problem: str = ""
    is_open: bool = False


def _list(confinement: Confinement, wanted: ListArguments, stop: threading.Event) -> ToolResult:
    place = confinement.find(wanted.path)
    rules = None if wanted.include_ignored else rules_for(str(place.root), str(place.path))[0]
    top = _Node(Entry(place.shown, "folder"), place)
    room = wanted.max_entries
    level = [(top, rules)]
    for _ in range(wanted.depth):
        deeper: list[tuple[_Node, IgnoreRules | None]] = []
        for node, outer in level:
            if stop.is_set():
                raise ToolProblem("The call was cancelled.")
            if room <= 0 and node is not top:
                continue
            share = room if node is top else min(room, _INNER_SHARE)
            inner = _open(confinement, node, outer, share)
            room -= len(node.children)
            deeper += [(child, inner) for child in node.children if child.entry.kind == "folder"]
        level = deeper
    if top.problem:
        raise ToolProblem(top.problem)
    lines = _lines(top, 1)
    return ToolResult.of_text("\n".join([_title(place), *(lines or ["  [empty]"])]))


def _open(confinement: Confinement, node: _Node, outer: IgnoreRules | None, share: int) -> IgnoreRules | None:
    parts = node.place.path.parts[1:]
    inner = outer
    node.is_open = True
    try:
        with confinement.open_folder(node.place) as folder:
            entries = read_folder(folder)
            if outer is not None:
                inner = outer.entered(folder, parts, entries)
            shown = list(visible(entries, parts, inner))
            node.left_out = max(0, len(shown) - share)
            node.children = [_child(node, entry, folder) for entry in shown[:share]]
    except (ToolProblem, OSError) as error:
        node.problem = str(error) if isinstance(error, ToolProblem) else "It cannot be read."
    return inner


def _child(node: _Node, entry: Entry, folder: int) -> _Node:
    target = ""
    if entry.kind == "link":
        try:
            target = show_name(os.readlink(entry.name, dir_fd=folder))
        except OSError:
            target = "?"
    place = Place(root=node.place.root, parts=(*node.place.parts, entry.name), shown=show_name(entry.name))
    return _Node(entry, place, target)


def _lines(node: _Node, depth: int) -> list[str]:
    indent = "  " * depth
    lines: list[str] = []
    for child in node.children:
        name = show_name(child.entry.name)
        match child.entry.kind:
            case "folder":
                more = "" if child.is_open else " …"
                lines.append(f"{indent}{name}/{f' [{child.problem}]' if child.problem else more}")
                lines += _lines(child, depth + 1)
            case "link":
                lines.append(f"{indent}{name} -> {child.target}")
            case "other":
                lines.append(f"{indent}{name} [neither file nor folder]")
            case _:
                lines.append(f"{indent}{name}")
    if node.left_out:
        lines.append(f"{indent}[… {node.left_out:,} more]")
    return lines


def _title(place: Place) -> str:
    return "./" if place.shown == "." else f"{place.shown}/"
