"""What the command line says of a seat's surroundings, and what it asks for: isolation, keys, options, caution."""

from pathlib import Path
from typing import Any

import pytest

from support.program import inspan
from support.scripted_http import ScriptedHttp

SEAT: dict[str, Any] = {
    "name": "review",
    "harness": "acme",
    "mode": "acp",
    "status": "stopped",
    "workspace": "/tmp",
    "caution": "Acme is a community harness, kept by Somebody and not tested by Inspan.",
    "withheld": ["ACME_API_KEY"],
    "config": {
        "isolated": True,
        "folder": "/h/seats/c_1",
        "variable": "ACME_HOME",
        "isolation": "whole",
        "shares": ["sign_in"],
    },
}
ADD = ("seat", "add", "review", "--harness", "acme", "--workspace", "/tmp")


@pytest.mark.requirement("H-A46")
def test_a_caution_is_told_before_anything_is_launched(daemon: ScriptedHttp) -> None:
    daemon.on("POST", "/v1/seats", SEAT)
    daemon.on("GET", "/v1/seats/review", SEAT)
    daemon.on("POST", "/v1/seats/review/start", SEAT)

    added, started = inspan(*ADD), inspan("start", "review")

    for result in (added, started):
        assert result.status == 0, result
        assert "caution: Acme is a community harness, kept by Somebody" in result.err
    paths = [(one.method, one.path) for one in daemon.requests]
    assert paths.index(("GET", "/v1/seats/review")) < paths.index(("POST", "/v1/seats/review/start"))


def test_a_key_that_is_held_back_is_said_with_the_option(daemon: ScriptedHttp) -> None:
    daemon.on("POST", "/v1/seats", SEAT)

    assert "ACME_API_KEY is set here and is not handed to the harness; --forward-auth" in inspan(*ADD).err


def test_a_seat_shows_whose_configuration_it_has(daemon: ScriptedHttp) -> None:
    daemon.on("GET", "/v1/seats/review", SEAT)

    shown = inspan("seat", "show", "review")

    assert "/h/seats/c_1, its own by ACME_HOME (isolation: whole; has your sign-in)" in shown.out


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ((), {}),
        (("--isolated",), {"isolated": True}),
        (("--shared-config",), {"isolated": False}),
        (
            ("--share", "sign_in", "--share", "settings"),
            {"isolated": True, "shares": ["sign_in", "settings"]},
        ),
        (("--forward-auth", "--clean-env"), {"forwards_auth": True, "clean_environment": True}),
        (("--option", "folder=a", "--option", "folder=b=c"), {"axes": {"folder": ["a", "b=c"]}}),
    ],
)
def test_options_become_what_the_daemon_is_asked_for(
    daemon: ScriptedHttp, options: tuple[str, ...], asked: dict[str, Any]
) -> None:
    daemon.on("POST", "/v1/seats", SEAT)

    assert inspan(*ADD, *options).status == 0

    (body,) = daemon.bodies("POST", "/v1/seats")
    assert {key: value for key, value in body.items() if key not in ("name", "harness", "workspace")} == asked


@pytest.mark.parametrize(
    "options",
    [
        ("--isolated", "--shared-config"),
        ("--share", "sign_in", "--shared-config"),
        ("--share", "everything"),
        ("--option", "folder"),
        ("--option", "=x"),
    ],
)
def test_options_that_contradict_are_refused(daemon: ScriptedHttp, options: tuple[str, ...]) -> None:
    assert inspan(*ADD, *options).status == 2
    assert daemon.bodies("POST", "/v1/seats") == []


def test_a_removed_seat_says_where_its_configuration_stays(daemon: ScriptedHttp) -> None:
    daemon.on("DELETE", "/v1/seats/review", SEAT)

    assert "its configuration stays in /h/seats/c_1" in inspan("seat", "remove", "review").err
    assert "stays in" not in inspan("seat", "remove", "review", "--delete-config").err


def test_guidance_is_read_from_a_file_and_one_that_cannot_be_read_is_said(
    daemon: ScriptedHttp, tmp_path: Path
) -> None:
    daemon.on("POST", "/v1/seats", SEAT)
    (tmp_path / "g.md").write_text("Be brief.\n")
    (tmp_path / "g.bin").write_bytes(b"\xff\xfe")

    assert inspan(*ADD, "--guidance", str(tmp_path / "g.md")).status == 0
    for name in ("g.bin", "nowhere"):
        refused = inspan(*ADD, "--guidance", str(tmp_path / name))
        assert refused.status == 2
        assert name in refused.err

    assert [body["guidance"] for body in daemon.bodies("POST", "/v1/seats")] == ["Be brief.\n"]
