"""`inspan harness resources`: what is asked of the daemon, and what people read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.fake_daemon import DEADLINE_S, open_fake
from support.program import inspan
from support.scripted_http import ScriptedHttp

PLACE: dict[str, Any] = {
    "kind": "skill",
    "mode": "directory",
    "target": "{projectRoot}/.acme/skills/{id}",
    "path": "/w/.acme/skills/{id}",
    "exists": "yes",
    "found": ["build", "review"],
}
OUTSIDE: dict[str, Any] = {
    **PLACE,
    "kind": "guidance",
    "exists": "unknown",
    "found": [],
    "problem": {"code": "resource_outside", "message": "It leads out.", "hint": "Remove the link."},
}


@pytest.mark.requirement("H-A5")
def test_the_places_are_shown_with_what_lies_there_and_what_is_refused(
    daemon: ScriptedHttp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    daemon.on("GET", "/v1/harnesses/acme/resources", {"places": [PLACE, OUTSIDE]})

    shown = inspan("harness", "resources", "acme")
    inspan("harness", "resources", "acme", "--workspace", "sub", "--id", "review")
    printed = inspan("--json", "harness", "resources", "acme")

    assert "/w/.acme/skills/{id}  build, review" in shown.out
    assert "refused: It leads out." in shown.err
    assert printed.value == {"places": [PLACE, OUTSIDE]}
    first, second, _ = daemon.requests
    assert first.query == {"workspace": str(tmp_path)}
    assert second.query == {"workspace": str(tmp_path / "sub"), "resource": "review"}


def test_a_harness_without_places_says_so(daemon: ScriptedHttp) -> None:
    daemon.on("GET", "/v1/harnesses/acme/resources", {"places": []})

    assert "names no place" in inspan("harness", "resources", "acme").err


def test_the_library_asks_for_the_places_too(throwaway_home: Path) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            found = await fake.client.list_resources("acme", throwaway_home, resource="review")
            assert found.places[0].path == f"{throwaway_home}/skills/review"

    asyncio.run(asyncio.wait_for(test(), DEADLINE_S))
