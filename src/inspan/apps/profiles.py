"""Registers how work reaches one harness in `harnesses.json`, without ever touching what somebody else wrote there.

A plugin of a harness calls this each time it is loaded, so the calls come often, from several processes, and into a
file that a person may be editing.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from .client import JsonObject
from .faults import Fault
from .files import LockHeld, locked, write_json

__all__ = ["Registration", "harnesses_path", "register_harness_profile"]

FILE_NAME = "harnesses.json"

_LARGEST_BYTES = 1 << 20
_LOCK_S = 10.0


class Registration(NamedTuple):
    """What became of a registration.

    Attributes:
        status: `registered`: the entry was added. `kept`: an entry of that id was there, and nothing was written.
            `refused`: the file cannot be added to, and is byte for byte what it was.
        file: The file.
        detail: One line for people.
    """

    status: Literal["registered", "kept", "refused"]
    file: Path
    detail: str


def harnesses_path(home: Path) -> Path:
    """Where the profiles of the apps' home `home` are."""
    return home / FILE_NAME


def register_harness_profile(profile: JsonObject, *, home: Path, lock_s: float = _LOCK_S) -> Registration:
    """Adds `profile` at the end of `harnesses.json` if no entry has its id. Safe to call again, and by many at once.

    Everything else in the file stays: other entries, `default`, keys that nobody here knows, its permissions. If the
    file is a link, its target is changed. Nothing is raised for what is wrong with the file.

    Args:
        profile: The entry, as it is to stand in the file.
        home: The apps' home, `inspan.apps.registry.a2app_home()`.
        lock_s: How long to wait for another process that registers, in seconds.

    Raises:
        ValueError: `profile` is none: every bridge command would fail of it.
    """
    id_ = _check(profile)
    file = harnesses_path(home)
    try:
        # Nothing is locked, or made, where nothing is to be done.
        if id_ in _ids(_read(file)):
            return Registration(
                "kept", file, f"{file} has an entry {id_!r} already, and it was left as it is."
            )
        target = Path(os.path.realpath(file))
        with locked(target.with_name(f".{target.name}.lock"), timeout_s=lock_s):
            table = _read(file)
            if id_ in _ids(table):
                return Registration(
                    "kept", file, f"{file} has an entry {id_!r} by now, and it was left as it is."
                )
            entries = cast("list[Any]", table.setdefault("harnesses", []))
            entries.append(profile)
            write_json(file, table, keep_mode=True)
    except LockHeld as error:
        return Registration("refused", file, f"{file} was left as it is: {error.message}")
    except (_Unfit, Fault, ValueError, RecursionError) as error:
        return Registration("refused", file, f"{file} was left as it is: {error}")
    except OSError as error:
        return Registration("refused", file, f"{file} was left as it is: {error.strerror or error}")
    return Registration("registered", file, f"Added {id_!r} to {file}.")


class _Unfit(Exception):
    """The file is not one that can be added to."""


def _check(profile: JsonObject) -> str:
    from .bridge.harnesses_file import read_profile

    try:
        return read_profile(Path(FILE_NAME), "profile", profile).id
    except Fault as error:
        raise ValueError(str(error)) from error


def _read(file: Path) -> JsonObject:
    try:
        with file.open("rb") as opened:
            content = opened.read(_LARGEST_BYTES + 1)
    except FileNotFoundError:
        return {"version": 1, "harnesses": []}
    if len(content) > _LARGEST_BYTES:
        raise _Unfit(f"it is over {_LARGEST_BYTES} bytes.")
    try:
        table: Any = json.loads(
            content.decode(), object_pairs_hook=_distinct, parse_float=_finite, parse_constant=_refuse
        )
    except (ValueError, RecursionError) as error:
        raise _Unfit(f"it is no JSON that can be written back ({error}).") from error
    if not isinstance(table, dict):
        raise _Unfit("it is no object.")
    found = cast(JsonObject, table)
    if not isinstance(found.get("harnesses", []), list):
        raise _Unfit("`harnesses` is no array.")
    return found


def _ids(table: JsonObject) -> list[object]:
    entries = cast("list[object]", table.get("harnesses", []))
    return [cast(JsonObject, one).get("id") for one in entries if isinstance(one, dict)]


def _distinct(pairs: list[tuple[str, Any]]) -> JsonObject:
    # Of a key that stands there twice, one would be lost.
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key stands in an object twice")
    return table


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is too large")
    return value


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")
