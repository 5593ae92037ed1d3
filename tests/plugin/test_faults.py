"""Faults of a file's tables: whatever is wrong is said with the whole way to it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

import inspan.harnesses
from inspan.conformance.console_fixtures import read_sets
from inspan.conformance.outcomes import read_expected
from inspan.model.errors import ManifestError
from inspan.model.headless import HeadlessSettings
from inspan.model.manifest import Manifest
from inspan.model.screen_rules import ScreenRules
from inspan.model.typing_recipe import TypingRecipe
from inspan.plugin.faults import find_faults
from inspan.plugin.toml_file import read_table

Key = str | int
Way = tuple[Key, ...]
FILES = sorted(
    str(file.relative_to(inspan.harnesses.__path__[0]))
    for name in ("manifest.toml", "terminal-rules.toml")
    for file in Path(inspan.harnesses.__path__[0]).glob(f"*/{name}")
)
WRONG: tuple[object, ...] = ({"no-such-key": 1}, [3], 3.5, "no such word")


def ways(value: object, way: Way = ()) -> Iterator[Way]:
    """Every place of a table."""
    if way:
        yield way
    if isinstance(value, dict):
        for key, one in cast("dict[str, object]", value).items():
            yield from ways(one, (*way, key))
    elif isinstance(value, list):
        for place, one in enumerate(cast("list[object]", value)):
            yield from ways(one, (*way, place))


def parts_of(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The file in pieces that are tables of the same shape, so that each is read quickly."""
    for name, mode in table.get("modes", {}).items():
        yield {**table, "modes": {name: mode}, "default_mode": name}
    for rule in table.get("rules", []):
        yield {**table, "rules": [rule]}


@functools.cache
def places() -> dict[str, list[tuple[dict[str, Any], Way]]]:
    """Every place that a built-in file has, once for all files that have one like it, by its file."""
    seen: set[tuple[str, ...]] = set()
    found: dict[str, list[tuple[dict[str, Any], Way]]] = {}
    for file in FILES:
        table = read_table(Path(inspan.harnesses.__path__[0]) / file)
        for part in parts_of(table):
            for way in ways(part):
                named = (way[0], "#", *way[2:]) if way[0] == "modes" and len(way) > 1 else way
                like = (Path(file).name, *("#" if isinstance(key, int) else key for key in named))
                if like not in seen:
                    seen.add(like)
                    found.setdefault(file, []).append((part, way))
    return found


def dotted(way: Way) -> str:
    told = ""
    for key in way:
        if isinstance(key, int):
            told += f"[{key}]"
        else:
            plain = key if all(c.isalnum() or c in "_-" for c in key) else repr(key)
            told += f".{plain}" if told else plain
    return told


def at(table: Any, way: Way) -> Any:
    return functools.reduce(lambda value, key: value[key], way, table)


def refusal_of(table: dict[str, Any], shape: type[msgspec.Struct]) -> str:
    """What the decoder says of a table; empty where it takes it."""
    try:
        msgspec.convert(table, shape, strict=True)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


@pytest.mark.requirement("H-A7")
@pytest.mark.parametrize("file", sorted(places()))
def test_whatever_is_wrong_at_whatever_place_is_said_with_the_way_to_that_place(file: str) -> None:
    shape = ScreenRules if file.endswith("terminal-rules.toml") else Manifest
    tried = 0
    for table, way in places()[file]:
        inner, right = at(table, way[:-1]), at(table, way)
        for wrong in WRONG:
            inner[way[-1]] = wrong
            if not (refusal := refusal_of(table, shape)):
                continue
            tried += 1
            found = find_faults(table, shape)
            told, there = found[0].key_path if found else "", dotted(way)
            # The whole of a table may be at fault, and not one of its keys.
            assert told, (there, wrong, refusal)
            assert told.startswith(there) or there.startswith(told), (there, told, refusal)
        inner[way[-1]] = right
    assert tried > 0


@pytest.mark.requirement("H-A7")
@pytest.mark.parametrize(
    ("shape", "table", "key_path", "expected"),
    [
        (HeadlessSettings, {"grant": {"reach": "all"}}, "grant.reach", "one of everything, program, sandbox"),
        (HeadlessSettings, {"grant": {"args": []}}, "grant.reach", "one of everything, program, sandbox"),
        (
            HeadlessSettings,
            {"grant": {"reach": "program", "merges": {"9": "rules"}}},
            "grant.merges.9",
            "a name that matches ^[A-Za-z_][A-Za-z0-9_]*$",
        ),
        (
            HeadlessSettings,
            {"records": [{"when": {}, "tool": {"id": "id", "kinds": 3}}]},
            "records[0].tool.kinds",
            "a table",
        ),
        (TypingRecipe, {"composer": {"home": "x"}, "submit": []}, "submit", "a list of at least 1 entry"),
    ],
)
def test_what_is_wrong_within_a_part_that_may_be_left_out_is_said_with_its_own_place(
    shape: type[msgspec.Struct], table: dict[str, Any], key_path: str, expected: str
) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(table, shape, strict=True)
    assert [(one.key_path, one.expected) for one in find_faults(table, shape)] == [(key_path, expected)]


@pytest.mark.requirement("H-A7")
def test_a_json_file_of_fixtures_says_where_it_is_wrong_too(tmp_path: Path) -> None:
    fixtures = tmp_path / "recordings" / "terminal"
    fixtures.mkdir(parents=True)
    (fixtures / "80x24.json").write_text(
        '{"columns": 80, "rows": 24, "provenance": "live", '
        '"states": {"idle": {"state": "idle"}, "busy": {"state": "runnin"}}}'
    )
    with pytest.raises(ManifestError) as refused:
        read_sets(tmp_path)
    assert "states.busy.state is 'runnin'; expected one of " in str(refused.value)
    (tmp_path / "expected.json").write_text('{"acp.jsonl": {"launches": 1, "sessions": 1, "turns": "many"}}')
    with pytest.raises(ManifestError) as refused:
        read_expected(tmp_path)
    assert "'acp.jsonl'.turns" in str(refused.value)
