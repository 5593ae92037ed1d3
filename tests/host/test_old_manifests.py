"""Manifests of the first schema, as they were published: they load, and launch, exactly as before.

`schema_1/` holds manifests as they stood at the first release, each with what the code of that time made of it: the
whole manifest with its defaults, and its launch plans. These files are never edited; a new field may come, and what
was there keeps its meaning.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inspan.model.manifest import MANIFEST_SCHEMA_VERSION, Manifest
from inspan.model.plan import LaunchRequest
from inspan.model.posture import Posture
from inspan.model.session import Provenance, SessionReference
from inspan.plugin.manifest_file import load_manifest
from inspan.plugin.planning import build_plan
from inspan.plugin.programs import FoundProgram

FOLDERS = sorted((Path(__file__).parent / "schema_1").iterdir())
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


def whole(value: Any) -> Any:
    """A value with all of its fields, those that have their default too, as JSON shows it."""
    if isinstance(value, msgspec.Struct):
        return {one.name: whole(getattr(value, one.name)) for one in msgspec.structs.fields(value)}
    if isinstance(value, dict):
        return {str(key): whole(one) for key, one in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return [whole(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
    return getattr(value, "value", value)


def changes(before: Any, now: Any, at: str = "") -> list[str]:
    """Where something is gone or has another meaning; what came new is no change."""
    if isinstance(before, dict) and isinstance(now, dict):
        found: list[str] = []
        for key, value in before.items():  # pyright: ignore[reportUnknownVariableType]
            where = f"{at}.{key}"
            found += changes(value, now[key], where) if key in now else [f"{where} is gone"]
        return found
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):  # pyright: ignore[reportUnknownArgumentType]
        return [
            one
            for index, (old, new) in enumerate(zip(before, now, strict=True))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            for one in changes(old, new, f"{at}[{index}]")
        ]
    return [] if before == now else [f"{at} was {before!r} and is {now!r}"]


def plans_of(manifest: Manifest) -> list[Any]:
    """The plans of every mode and attempt, with random ids made alike."""
    plans: list[Any] = []
    for name, mode in manifest.modes.items():
        rule = mode.postures[0]
        posture = Posture(approvals=rule.approvals, sandbox=rule.sandbox)
        reference = SessionReference(
            harness=manifest.id,
            resume_type=manifest.session.resume_type,
            id="session-1",
            workspace="/w",
            posture=posture,
            provenance=Provenance.REPORTED,
        )
        for attempt in ("fresh", "resume", "fork"):
            request = LaunchRequest(
                seat="one",
                harness=manifest.id,
                mode=name,
                attempt=attempt,
                workspace="/w",
                posture=posture,
                reference=None if attempt == "fresh" else reference,
            )
            plan = build_plan(
                manifest, request, program=FoundProgram(path="/bin/program"), present=frozenset()
            )
            plans.append(json.loads(_UUID.sub("(uuid)", json.dumps(whole(plan)))))
    return plans


@pytest.mark.requirement("H-B34")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_manifest_of_the_first_schema_means_what_it_meant(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    manifest = load_manifest(folder)

    assert manifest.schema == MANIFEST_SCHEMA_VERSION == 1
    assert changes(expected["manifest"], whole(manifest), folder.name) == []
    assert changes(expected["plans"], plans_of(manifest), folder.name) == []


def test_there_is_something_to_hold_to() -> None:
    assert len(FOLDERS) >= 4
    assert changes({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}], "c": 4}) == [".a[1].b was 2 and is 3"]
    assert changes({"a": 1}, {}) == [".a is gone"]
    assert changes([1], [1, 2]) == [" was [1] and is [1, 2]"]
