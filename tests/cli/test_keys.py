"""Keys and the manner of a prompt on the command line: what is asked of the daemon."""

from __future__ import annotations

from support.program import inspan
from support.scripted_http import ScriptedHttp


def test_keys_are_pressed_for_a_reason(daemon: ScriptedHttp) -> None:
    daemon.on("POST", "/v1/seats/first/keys", {"name": "first"})

    pressed = inspan("keys", "first", "down", "enter", "--reason", "it hangs in a menu")

    assert pressed.status == 0
    assert "pressed in first: down enter" in pressed.out
    assert daemon.bodies("POST", "/v1/seats/first/keys") == [
        {"keys": ["down", "enter"], "reason": "it hangs in a menu"}
    ]


def test_keys_without_a_reason_are_not_pressed(daemon: ScriptedHttp) -> None:
    refused = inspan("keys", "first", "enter")

    assert refused.status == 2
    assert "--reason" in refused.err


def test_a_prompt_says_whether_it_is_to_be_typed_now_or_whatever_is_seen(daemon: ScriptedHttp) -> None:
    daemon.on("POST", "/v1/seats/first/prompts", {"id": "d_1", "state": "queued"})

    inspan("send", "first", "--now", "Steer.")
    inspan("send", "first", "--override", "the dialog takes text", "Go on.")
    inspan("send", "first", "--queue", "Later.")

    now, override, queued = daemon.bodies("POST", "/v1/seats/first/prompts")
    assert (now["now"], "override" in now) == (True, False)
    assert (override["override"], "now" in override) == ("the dialog takes text", False)
    assert "now" not in queued
    assert "override" not in queued
    assert inspan("send", "first", "--now", "--queue", "Both.").status == 2
