"""Merging: our entries put into the text of a hooks file and taken out again; everything else stays byte for byte."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence

from inspan.model.hooks import HookInstall

from .entries import MARKER, MARKER_BEGIN, render_document, render_entry
from .json_edit import MergeError, cut, put_element, put_member, reach, read_object
from .json_text import Member, Node, value_of

__all__ = ["MergeError", "find_events", "merge", "unmerge"]

ARRAY, OBJECT, LINE_END = "array", "object", "line-end"
"""What was made around an entry, as its marker says it."""

_TOML_BEGIN = f"# {MARKER} begin"
_TOML_END = f"# {MARKER} end"
_TOML_BLOCK = re.compile(
    rf"(?P<line>^# {MARKER_BEGIN}/\d+ begin(?P<made>[^\n]*)\n).*?^# {MARKER_BEGIN}/\d+ end\n",
    re.MULTILINE | re.DOTALL,
)
_EVENT = re.compile(rf"relay\.py'? (\S+) {MARKER_BEGIN}/\d+")


def merge(install: HookInstall, text: str, events: Sequence[str]) -> str:
    """The text with our entries in it, and nothing of an earlier version of them. An empty text is a file that is new.

    Raises:
        MergeError: The text is not of the format, or holds something else where ours belong.
    """
    match install.format:
        case "json":
            kept = unmerge(install, text) if text.strip() else "{}\n"
            merged = kept
            for key, value in install.preamble.items():
                merged = _add_member(merged, key, value)
            for event in events:
                merged = _add_entry(install, merged, event)
            _check_kept(install, kept, merged)
            return merged
        case "toml":
            return _merge_toml(install, unmerge(install, text), events)
        case "file":
            if text.strip() and MARKER_BEGIN not in text:
                raise MergeError("it is a file of somebody else's")
            return render_document(install, events)


def unmerge(install: HookInstall, text: str) -> str:
    """The text without our entries, as it was before them.

    Raises:
        MergeError: As `merge`.
    """
    match install.format:
        case "json":
            return _remove_entries(install, text) if MARKER_BEGIN in text else _checked(text)
        case "toml":
            _check_toml(text)
            found = _TOML_BLOCK.search(text)
            if found is None:
                return text
            # A line end that was added before ours is needed, where something follows ours by now.
            is_last = found.end() == len(text)
            begin = found.start() - (1 if is_last and LINE_END in found["made"] else 0)
            return text[:begin] + text[found.end() :]
        case "file":
            if text.strip() and MARKER_BEGIN not in text:
                raise MergeError("it is a file of somebody else's")
            return ""


def find_events(text: str) -> tuple[str, ...]:
    """The events that our entries in a text are for."""
    return tuple(dict.fromkeys(_EVENT.findall(text)))


def _checked(text: str) -> str:
    if text.strip():
        read_object(text)
    return text


def _add_member(text: str, key: str, value: str) -> str:
    root = read_object(text)
    return text if root.member(key) is not None else put_member(text, root, f"{json.dumps(key)}: {value}")


def _add_entry(install: HookInstall, text: str, event: str) -> str:
    place, missing = reach(install.under, read_object(text))
    member = place.member(event) if not missing else None
    if member is not None:
        if member.value.kind != "array":
            raise MergeError(f"{event!r} in it is no array")
        return put_element(text, member.value, render_entry(install, event))
    made = (ARRAY, *(OBJECT for _ in missing))
    entry = f"{json.dumps(event)}: [{render_entry(install, event, made=made)}]"
    for key in reversed(missing):
        entry = f"{json.dumps(key)}: {{{entry}}}"
    return put_member(text, place, entry)


def _remove_entries(install: HookInstall, text: str) -> str:
    objects = 0
    while True:
        place, missing = reach(install.under, read_object(text))
        found = None if missing else _find_ours(text, place)
        if found is None:
            break
        member, index = found
        array = member.value
        element = array.elements[index]
        ours = text[element.begin : element.end]
        objects = max(objects, ours.count(f" +{OBJECT}"))
        if f" +{ARRAY}" in ours and len(array.elements) == 1:
            parts = [(one.begin, one.value.end) for one in place.members]
            text = cut(text, place, parts, place.members.index(member))
        else:
            text = cut(text, array, [(one.begin, one.end) for one in array.elements], index)
    return _remove_empty(install, text, objects)


def _find_ours(text: str, place: Node) -> tuple[Member, int] | None:
    for member in place.members:
        for index, element in enumerate(member.value.elements):
            if f" {MARKER_BEGIN}/" in text[element.begin : element.end]:
                return member, index
    return None


def _remove_empty(install: HookInstall, text: str, objects: int) -> str:
    """Takes away the objects that were made for our entries, the innermost first, where nothing is in them now."""
    for depth in range(len(install.under), len(install.under) - objects, -1):
        here = read_object(text)
        for key in install.under[: depth - 1]:
            member = here.member(key)
            if member is None:
                return text
            here = member.value
        member = here.member(install.under[depth - 1])
        if member is None or member.value.kind != "object" or member.value.members:
            return text
        parts = [(one.begin, one.value.end) for one in here.members]
        text = cut(text, here, parts, here.members.index(member))
    return text


def _check_kept(install: HookInstall, before: str, after: str) -> None:
    """A last look: without ours, it is what it was."""
    again = _remove_entries(install, after)
    was, now = (value_of(one, read_object(one)) for one in (before, again))
    if now != {
        **was,
        **{key: json.loads(value) for key, value in install.preamble.items() if key not in was},
    }:
        raise MergeError("it cannot be changed without touching what is in it")


def _merge_toml(install: HookInstall, text: str, events: Sequence[str]) -> str:
    needs_end = bool(text) and not text.endswith("\n")
    begin = f"{_TOML_BEGIN} +{LINE_END}" if needs_end else _TOML_BEGIN
    lines = "\n".join(render_entry(install, event) for event in events)
    merged = text + ("\n" if needs_end else "") + f"{begin}\n{lines}\n{_TOML_END}\n"
    _check_toml(merged)
    return merged


def _check_toml(text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MergeError(f"it is no TOML, or would be none: {error}") from error
