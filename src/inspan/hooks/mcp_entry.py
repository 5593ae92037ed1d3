"""Puts one MCP server into the file in which a harness is told of such servers, and takes it out again.

Ours is known by the marker among its arguments, so that a server of the same name that somebody else put there is
never replaced or removed. All else in the file stays byte for byte.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from inspan.model.mcp import McpPlace

from .json_edit import MergeError, cut, put_member, reach, read_object
from .json_text import value_of

__all__ = ["MARKER", "Entry", "MergeError", "add_server", "has_server", "remove_server"]

MARKER = "inspan-mcp/1"
"""The last but one of the server's arguments; what follows says how many objects were made around it."""

_BLOCK = re.compile(
    rf"(?P<lead>\n?)^# {re.escape(MARKER)} begin(?P<made>[^\n]*)\n.*?^# {re.escape(MARKER)} end\n",
    re.MULTILINE | re.DOTALL,
)
_LINE_END = " +line-end"


class Entry(NamedTuple):
    """One server.

    Attributes:
        name: What the harness calls it.
        program: Its program, absolute.
        args: Its arguments; the marker is added.
    """

    name: str
    program: str
    args: tuple[str, ...]


def add_server(place: McpPlace, text: str, entry: Entry) -> str:
    """The text with the server in it, once; an earlier version of ours goes.

    Raises:
        MergeError: The text is not of the format, or has another server of that name.
    """
    text = remove_server(place, text, entry.name)
    match place.format:
        case "json":
            return _add_json(place, text, entry)
        case "toml":
            _no_other(place, _toml(text), entry.name)
            added = _with_block(text, _render(place, entry, 0).strip("\n"))
            _toml(added)
            return added
        case "yaml":
            body = "\n".join(f"    {line}" for line in _render(place, entry, 0).strip("\n").splitlines())
            lines = f"{place.under[0]}:\n  {entry.name}:\n{body}"
            if re.search(rf"^['\"]?{re.escape(place.under[0])}['\"]?\s*:", text, re.MULTILINE):
                raise MergeError(f"it has {place.under[0]!r} already, and YAML is not merged", lines)
            return _with_block(text, lines)


def remove_server(place: McpPlace, text: str, name: str) -> str:
    """The text without our server, as it was before; the same text where it is not there.

    Raises:
        MergeError: The text is not of the format.
    """
    if place.format == "json":
        return _remove_json(place, text, name) if text.strip() else text
    if place.format == "toml":
        _toml(text)
    found = _BLOCK.search(text)
    if found is None:
        return text
    begin = found.start("made") - len(f"# {MARKER} begin")
    is_last = found.end() == len(text)
    return text[: begin - (1 if is_last and _LINE_END in found["made"] else 0)] + text[found.end() :]


def has_server(place: McpPlace, text: str, name: str) -> bool:
    """Whether our server is in the text.

    Raises:
        MergeError: The text is not of the format.
    """
    return remove_server(place, text, name) != text


def _render(place: McpPlace, entry: Entry, made: int) -> str:
    args = [*entry.args, MARKER, f"+{made}"]
    values = {
        "program": json.dumps(entry.program),
        "args": json.dumps(args),
        "command": json.dumps([entry.program, *args]),
        "name": entry.name,
    }
    return re.sub(r"\{(program|args|command|name)\}", lambda found: values[found[1]], place.entry)


def _with_block(text: str, lines: str) -> str:
    needs_end = bool(text) and not text.endswith("\n")
    begin = f"# {MARKER} begin{_LINE_END if needs_end else ''}"
    return f"{text}{chr(10) if needs_end else ''}{begin}\n{lines}\n# {MARKER} end\n"


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MergeError(f"it is no TOML, or would be none: {error}") from error


def _no_other(place: McpPlace, document: Mapping[str, Any], name: str) -> None:
    here: Any = document
    for key in place.under:
        here = cast("Mapping[str, Any]", here).get(key, {}) if isinstance(here, dict) else {}
    listed: Sequence[Any] = cast("list[Any]", here) if isinstance(here, list) else []
    is_taken = (isinstance(here, dict) and name in here) or any(
        isinstance(one, dict) and cast("dict[str, Any]", one).get("name") == name for one in listed
    )
    if is_taken:
        raise MergeError(f"it has a server {name!r} that is not ours")


def _add_json(place: McpPlace, text: str, entry: Entry) -> str:
    kept = text if text.strip() else "{}\n"
    here, missing = reach(place.under, read_object(kept))
    if not missing and here.member(entry.name) is not None:
        raise MergeError(f"it has a server {entry.name!r} that is not ours")
    member = f"{json.dumps(entry.name)}: {_render(place, entry, len(missing))}"
    for key in reversed(missing):
        member = f"{json.dumps(key)}: {{{member}}}"
    added = put_member(kept, here, member)
    if value_of(kept, read_object(kept)) != value_of(
        again := _remove_json(place, added, entry.name), read_object(again)
    ):
        raise MergeError("it cannot be changed without touching what is in it")
    return added


def _remove_json(place: McpPlace, text: str, name: str) -> str:
    here, missing = reach(place.under, read_object(text))
    member = None if missing else here.member(name)
    if member is None or json.dumps(MARKER) not in text[member.begin : member.value.end]:
        return text
    ours = text[member.begin : member.value.end]
    made = re.search(rf'{re.escape(json.dumps(MARKER))},\s*"\+(\d)"', ours)
    text = cut(text, here, [(one.begin, one.value.end) for one in here.members], here.members.index(member))
    return _remove_empty(place, text, int(made[1]) if made else 0)


def _remove_empty(place: McpPlace, text: str, objects: int) -> str:
    """Takes away the objects that were made for ours, the innermost first, where nothing is in them now."""
    for depth in range(len(place.under), len(place.under) - objects, -1):
        here, missing = reach(place.under[: depth - 1], read_object(text))
        member = None if missing else here.member(place.under[depth - 1])
        if member is None or member.value.kind != "object" or member.value.members:
            return text
        text = cut(
            text, here, [(one.begin, one.value.end) for one in here.members], here.members.index(member)
        )
    return text
