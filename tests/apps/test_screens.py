"""Whatever an app answers, a screen of it is plain lines that end with commands of this program alone."""

import json
import os
import shlex
import subprocess
import tempfile
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.apps.client import AppClient, Reply
from inspan.apps.credentials import Credential
from inspan.apps.programs.a2app import screens
from inspan.apps.programs.a2app.answers import refusal_lines
from inspan.apps.programs.a2app.levels import LevelCache
from inspan.apps.programs.a2app.session import Session
from inspan.apps.programs.a2app.waiting import rest_ms
from inspan.apps.programs.targets import Target
from support.apps.programs import board, find_program, home_for_test

BIDI = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
ODD = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=30)
    | st.sampled_from(["a\nb", "\x1b[2J", "$(id)", "--all", "a b", "'", "\u202e", "next"])
)
KEYS = [
    "name", "entities", "operations", "access", "summary", "destructive", "readOnly", "idempotent", "params", "type",
    "required", "max", "values", "entity", "format", "description", "available", "blocked", "count", "id", "label",
    "path", "level", "operation",
]  # fmt: skip
ROWS = st.lists(
    ODD | st.dictionaries(st.sampled_from(KEYS), ODD | st.lists(ODD, max_size=3), max_size=8), max_size=4
)
TABLE = st.dictionaries(
    st.text(max_size=12), ODD | st.dictionaries(st.sampled_from(KEYS), ODD, max_size=6), max_size=4
)
LEVELS = st.dictionaries(
    st.sampled_from(
        ["modules", "entities", "operations", "relations", "items", "matches", "fields", "conventions", "next",
         "truncated", "summary", "label", "entity", "app"]
    ),
    ODD | ROWS | TABLE,
    max_size=10,
)  # fmt: skip


def _is_safe(line: str) -> bool:
    """No control, no line of its own, no half letter, nothing that reorders what is read."""
    return not any(
        unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(one) in BIDI
        for one in line
    )


def _session() -> Session:
    identity: dict[str, Any] = {
        "app": {"id": "x\x1b", "name": "N\nnext\n  rm -rf"},
        "env": "dev",
        "schemaVersion": "",
    }
    target = Target("my app", Path("/nowhere"), None, None)
    client = AppClient("http://127.0.0.1:1")
    return Session(target, client, identity, LevelCache(Path("/nowhere/x"), identity, Credential(None, None)))


@settings(deadline=None, max_examples=300)
@given(LEVELS, st.text(max_size=10), st.booleans())
def test_a_screen_of_any_answer_is_safe_lines_that_end_with_our_own_commands(
    level: dict[str, Any], word: str, shows_all: bool
) -> None:
    session = _session()
    shown = [
        screens.root_screen(session, level, shows_all=shows_all),
        screens.module_screen(session, level, word, shows_all=shows_all),
        screens.entity_screen(session, level, word, "e", shows_all=shows_all),
        screens.record_screen(session, level, ["m", "e", word], shows_all=shows_all),
        screens.relation_screen(session, level, ["m", "e", "i", word], shows_all=shows_all),
        screens.find_screen(session, level, word, shows_all=shows_all),
    ]
    for lines in shown:
        assert all(map(_is_safe, lines))
        commands = lines[len(lines) - lines[::-1].index("next") :]
        assert commands
        for command in commands:
            assert shlex.split(command)[:2] == ["a2app", "my app"]


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["code", "message", "violations", "how", "retryAfterSeconds"]), ODD | ROWS | TABLE
    )
)
def test_a_no_of_any_form_is_said_in_safe_lines(body: dict[str, Any]) -> None:
    lines = refusal_lines(Reply(400, body))
    assert lines
    assert all(map(_is_safe, lines))


@settings(deadline=None)
@given(
    ODD,
    ODD,
    st.sampled_from([200, 429]),
    st.floats(0, 1e9),
    st.sampled_from(["http://127.0.0.1:1", "https://h"]),
)
def test_the_rest_between_two_looks_is_never_nothing_and_never_over_what_is_left(
    wished: object, retry: object, status: int, left_ms: float, url: str
) -> None:
    reply = Reply(status, {"pollAfterMs": wished, "retryAfterSeconds": retry})
    assert 50 <= rest_ms(url, reply, left_ms=left_ms) <= max(left_ms, 50)


def test_an_app_here_is_asked_soon_again_and_one_elsewhere_as_it_wishes() -> None:
    two_seconds = Reply(200, {"pollAfterMs": 2000})
    assert rest_ms("http://127.0.0.1:8090", two_seconds, left_ms=60_000) == 300
    assert rest_ms("https://h", two_seconds, left_ms=60_000) == 2000
    assert rest_ms("http://127.0.0.1:8090", Reply(200, {"pollAfterMs": 100}), left_ms=60_000) == 100
    assert rest_ms("http://127.0.0.1:8090", Reply(429, {"retryAfterSeconds": 7}), left_ms=60_000) == 7000


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_stays_json_whatever_the_output_can_write(encoding: str) -> None:
    with home_for_test() as folder, board(folder) as one:
        one.served.call(
            "PATCH", "/api/collections/lists/records/list_todo", {"title": "Zu tun: é 中 \u2028 🙂"}
        )
        done = subprocess.run(
            [find_program("a2app"), one.ref, "data", "lists", "get", "list_todo"],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            check=True,
        )
    assert json.loads(done.stdout.decode(encoding))["title"] == "Zu tun: é 中 \u2028 🙂"


def test_a_folder_that_cannot_be_written_is_a_plain_error_and_no_fault_of_the_program() -> None:
    with tempfile.TemporaryDirectory(prefix="isp-") as folder:
        (Path(folder) / "file").write_text("x")
        done = subprocess.run(
            [find_program("agent-app"), str(Path(folder) / "app"), "scaffold"],
            capture_output=True,
            env={**os.environ, "A2APP_HOME": str(Path(folder) / "file")},
            check=False,
        )
        assert done.returncode == 1
        assert b"fault of the program" not in done.stderr
        assert not (Path(folder) / "app").exists()
