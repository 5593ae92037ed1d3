"""`inspan hooks`: what is asked of the daemon, and what people read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.fake_daemon import DEADLINE_S, open_fake
from support.program import inspan
from support.scripted_http import ScriptedHttp

VIEW: dict[str, Any] = {
    "harness": "acme",
    "is_told": True,
    "note": "Its console tells a seat.",
    "places": [
        {"scope": "seat", "path": "x.json", "state": "taken", "warnings": ["It would hide /etc/x."]},
        {
            "scope": "shared",
            "path": "/h/.acme/hooks.json",
            "state": "installed",
            "is_changed": True,
            "events": ["Prompt", "Stop"],
            "needs": "Trust it once.",
        },
        {
            "scope": "shared",
            "path": "/h/other.json",
            "state": "unreadable",
            "problem": {"code": "hooks_file_invalid", "message": "It is no JSON.", "hint": "Mend it."},
        },
    ],
}


@pytest.mark.parametrize(
    ("words", "method", "query"),
    [
        (["status", "acme"], "GET", {}),
        (["install", "acme"], "POST", {}),
        (["install", "acme", "--shared"], "POST", {"shared": "true"}),
        (["remove", "acme"], "DELETE", {}),
    ],
)
def test_each_action_asks_the_daemon_and_shows_every_place(
    daemon: ScriptedHttp, words: list[str], method: str, query: dict[str, str]
) -> None:
    daemon.on(method, "/v1/hooks/acme", VIEW)

    shown = inspan("hooks", *words)
    printed = inspan("--json", "hooks", *words)

    lines = [" ".join(line.split()) for line in shown.out.splitlines()]
    assert "/h/.acme/hooks.json installed now Prompt, Stop" in lines
    assert "each launch's own folder not used" in lines
    for said in (
        "It would hide /etc/x.",
        "Trust it once.",
        "It is no JSON.",
        "Mend it.",
        "Its console tells a seat.",
    ):
        assert said in shown.err
    assert printed.value == VIEW
    assert [one.query for one in daemon.requests] == [query, query]


def test_a_seat_can_be_added_without_hooks(daemon: ScriptedHttp, tmp_path: Path) -> None:
    daemon.on("POST", "/v1/seats", {"name": "one", "harness": "acme"})

    inspan("seat", "add", "one", "--harness", "acme", "--workspace", str(tmp_path), "--no-hooks")

    assert daemon.requests[0].body["environment"] == {"INSPAN_NO_HOOKS": "1"}


def test_the_library_asks_for_hooks_too(throwaway_home: Path) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            client = fake.client
            assert (await client.show_hooks("acme")).note == "shown"
            assert (await client.install_hooks("acme")).note == "installed"
            assert (await client.install_hooks("acme", shared=True)).note == "installed, shared"
            assert (await client.remove_hooks("acme")).note == "removed"

    del throwaway_home
    asyncio.run(asyncio.wait_for(test(), DEADLINE_S))


@pytest.mark.parametrize(
    ("hooks", "told"),
    [
        (
            {"heard": 3, "last_event": "Stop", "dropped": {"no_token": 2}},
            "3 events, the newest Stop; dropped no_token: 2",
        ),
        ({"heard": 1, "is_full": True}, "1 event; more than was kept came while no daemon listened"),
        (None, "none are listened to"),
    ],
)
def test_why_a_console_is_believed_says_what_came_of_its_hooks(
    daemon: ScriptedHttp, hooks: dict[str, Any] | None, told: str
) -> None:
    explained: dict[str, Any] = {
        "seat": "review",
        "status": "idle",
        "activity": {"value": "idle", "source": "hook", "rule": "hook.Stop", "why": "it says so"},
        "evidence": [],
        "console": {"foreground": {"is_harness": True}, **({} if hooks is None else {"hooks": hooks})},
    }
    daemon.on("GET", "/v1/seats/review/explain", explained)

    assert told in inspan("explain", "review").out
