"""Renamed keys of a manifest: the old name is read for as long as the policy says, with a word about the new one.

docs/compatibility.md is the policy. A key is renamed by adding it here, so that manifests that are out there go on
working exactly as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

__all__ = ["RENAMED_KEYS", "KeyConflictError", "RenamedKey", "read_old_names"]


class RenamedKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key that has another name now.

    Attributes:
        old: Its old path, dotted; `*` stands for any key of a table, and for each table of an array.
        new: The new name of its last part.
        since: The version of Inspan that renamed it.
    """

    old: str
    new: str
    since: str


class KeyConflictError(ValueError):
    """A table has a key under both of its names.

    Attributes:
        key_path: The old one.
        new: The new name.
    """

    def __init__(self, key_path: str, new: str) -> None:
        super().__init__(f"{key_path} is the old name of {new}, which is there too")
        self.key_path = key_path
        self.new = new


RENAMED_KEYS: tuple[RenamedKey, ...] = ()
"""All of them. Nothing was renamed yet."""


def read_old_names(
    table: Mapping[str, Any], renamed: Sequence[RenamedKey] = RENAMED_KEYS
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The tables with every old name in its new form, and one sentence for each.

    Args:
        table: The tables of a manifest's file, which stay as they are.
        renamed: What was renamed.

    Raises:
        KeyConflictError: A key is there under both names.
    """
    result, notes = dict(table), list[str]()
    for one in renamed:
        result = cast("dict[str, Any]", _rename(result, one.old.split("."), one, "", notes))
    return result, tuple(notes)


def _rename(value: Any, path: Sequence[str], renamed: RenamedKey, at: str, notes: list[str]) -> Any:
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if path[0] != "*":
            return items
        return [_rename(one, path[1:], renamed, f"{at}[{index}]", notes) for index, one in enumerate(items)]
    if not isinstance(value, Mapping):
        return value
    table = dict(cast("Mapping[str, Any]", value))
    name, rest = path[0], path[1:]
    if rest:
        for key in _matching(table, name):
            table[key] = _rename(table[key], rest, renamed, _join(at, key), notes)
        return table
    if name not in table:
        return table
    here = _join(at, name)
    if renamed.new in table:
        raise KeyConflictError(here, renamed.new)
    notes.append(f"{here} is called {renamed.new} since {renamed.since}; the old name is still read.")
    return {renamed.new if key == name else key: one for key, one in table.items()}


def _matching(table: Mapping[str, Any], name: str) -> Iterator[str]:
    yield from (key for key in tuple(table) if name in ("*", key))


def _join(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key
