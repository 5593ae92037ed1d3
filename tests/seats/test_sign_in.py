"""A missing sign-in is a typed error with the manifest's own hint, however the harness lets it be known."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from inspan.host import HarnessHost
from inspan.model.turn import CallError
from inspan.model.views import DeliveryView, LaunchView, SendPrompt
from inspan.plugin.diagnosing import say_how_given
from inspan.seats.early_exit import early_exit_error, read_last_lines
from support.host_ground import open_host_ground
from support.seat_ground import until

SIGN_IN = """
[sign_in]
hint = "Run `acme login` first."
"""
DIAGNOSIS = """
[[modes.acp.diagnoses]]
message_pattern = "(?i)not logged in"
code = "auth_required"
title = "Acme is not signed in"
remedy = "Run `acme login --again`."

[[modes.acp.diagnoses]]
message_pattern = "over the limit"
code = "limited"
title = "No more today"
remedy = "Wait."
"""

ANSWERS = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        body = {"result": {"protocolVersion": 1, "agentCapabilities": {}}}
    else:
        body = {"error": {"code": -32000, "message": "Authentication required"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)
"""


def leaves(*lines: str, status: int = 1) -> str:
    """A program that says some lines to its standard error and exits, before it answers anything."""
    text = "".join(line + "\n" for line in lines)
    return f"import sys\nsys.stderr.write({text!r})\nsys.exit({status})\n"


WAITS = """
import sys
sys.stderr.write("You are not logged in: open the browser.\\n")
sys.stderr.flush()
sys.stdin.read()
"""


def end_of(program: str, more: str, *, keys: str = "") -> tuple[LaunchView, DeliveryView]:
    """How the launch ended that a prompt asked for, and how its prompt stands."""

    async def run() -> tuple[LaunchView, DeliveryView]:
        async with open_host_ground(program=program, more=more, keys=keys) as ground, ground.seats() as seats:
            await ground.add(seats)
            sent = await seats.send_prompt("worker", SendPrompt(text="hello"))
            view = await until(seats, "worker", lambda one: one.status == "held")
            assert view.launch is not None
            return view.launch, await seats.get_delivery(sent.id)

    return asyncio.run(run())


@pytest.mark.requirement("H-B20")
@pytest.mark.parametrize(
    ("more", "hint"),
    [
        (SIGN_IN, "Run `acme login` first."),
        (
            SIGN_IN + "[[modes.acp.diagnoses]]\nraw_code = -32000\ncode = 'auth_required'\n"
            "title = 'No account'\nremedy = 'Make one.'\n",
            "No account: Make one.",
        ),
        ("", "Sign in with the harness's own program, then start the seat again."),
    ],
)
def test_a_session_that_is_refused_for_want_of_a_sign_in_says_how_to_sign_in(more: str, hint: str) -> None:
    launch, delivery = end_of(ANSWERS, more)

    for error in (launch.error, delivery.error):
        assert error is not None
        assert (error.code, error.raw_code, error.hint) == ("auth_required", -32000, hint)
        assert error.message == "Authentication required"
    assert delivery.state == "held"


@pytest.mark.requirement("H-B20")
def test_a_hint_that_names_a_variable_says_how_a_seat_gets_it() -> None:
    more = (
        '[sign_in]\nenvironment = ["ACME_KEY", "OTHER_KEY"]\nhint = "Set OTHER_KEY, or run `acme login`."\n'
    )
    launch, _ = end_of(ANSWERS, more)

    assert launch.error is not None
    assert launch.error.hint.startswith("Set OTHER_KEY, or run `acme login`.")
    # A daemon knows no variable that was set after its start, so that setting it alone changes nothing.
    assert launch.error.hint.count("`--env OTHER_KEY`") == 1
    assert say_how_given(launch.error.hint, ["OTHER_KEY"]) == launch.error.hint


@pytest.mark.requirement("H-B20")
@pytest.mark.parametrize("status", [0, 1])
def test_an_exit_before_the_handshake_is_read_by_its_last_words(status: int) -> None:
    program = leaves("starting", "\x1b[31merror: You are not logged in\x1b[0m", "bye", status=status)
    launch, delivery = end_of(program, SIGN_IN + DIAGNOSIS)

    assert (launch.reason, launch.exit_code) == ("exit", status)
    for error in (launch.error, delivery.error):
        assert error is not None
        assert error.code == "auth_required"
        assert error.message == "error: You are not logged in"
        assert error.hint == "Acme is not signed in: Run `acme login --again`."
    assert delivery.state == "held"


@pytest.mark.requirement("H-B20")
def test_a_harness_that_waits_for_a_sign_in_and_answers_nothing_ends_as_one_that_wants_it() -> None:
    launch, delivery = end_of(WAITS, SIGN_IN + DIAGNOSIS, keys="handshake_timeout_s = 1")

    assert launch.error is not None
    assert (launch.reason, launch.error.code) == ("failed", "auth_required")
    assert delivery.error is not None
    assert delivery.error.hint == "Acme is not signed in: Run `acme login --again`."


def test_an_exit_that_nothing_explains_keeps_the_harness_s_last_line() -> None:
    launch, delivery = end_of(leaves("cannot open libfoo"), SIGN_IN + DIAGNOSIS)

    assert launch.error is not None
    assert launch.error.code == "harness_exited"
    assert launch.error.message.endswith("before a session was open: cannot open libfoo")
    assert "sign-in" in launch.error.hint
    assert delivery.error == launch.error


@pytest.mark.requirement("H-B20")
def test_the_built_in_harness_that_exits_before_the_handshake_is_known_by_its_words(tmp_path: Path) -> None:
    said = "error: You are not logged in, please log in with kiro-cli login"

    async def run() -> CallError:
        async with HarnessHost(tmp_path, environ={}) as host:
            return await host.classify_error("kiro", "acp", CallError(code="harness_exited", message=said))

    known = asyncio.run(run())
    assert (known.code, known.message) == ("auth_required", said)
    assert "kiro-cli login" in known.hint


def classify_by(words: dict[str, str]) -> list[str]:
    """The codes of the last match among some lines."""

    async def classify(error: CallError) -> CallError:
        code = next((code for part, code in words.items() if part in error.message), error.code)
        return CallError(code=code, message=error.message)

    async def run() -> list[str]:
        texts = ["not logged in\nover the limit\nbye", "over the limit\nnot logged in", "", "x\n\n"]
        found = [await read_last_lines(text, classify) for text in texts]
        return ["" if one is None else one.code for one in found]

    return asyncio.run(run())


@pytest.mark.requirement("L18")
def test_of_the_lines_that_the_manifest_knows_the_last_one_counts() -> None:
    words = {"not logged in": "auth_required", "over the limit": "limited"}
    assert classify_by(words) == ["limited", "auth_required", "", ""]


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        (
            "Error: no file /x\n    at open (node:fs:1:2) {\n  errno: -2,\n}\n\nNode.js v22.1.0\n",
            ": Error: no file /x",
        ),
        ("TypeError: it broke\n    at main (a.js:1:2)\n    at b.js:3\n}\n", ": TypeError: it broke"),
        ("\x1b[31mcannot open\x1b[0m\n---\n}\n", ": cannot open"),
        ("}\n42\n", "."),
        ("", "."),
    ],
)
def test_the_words_of_an_exit_are_those_of_its_last_line_that_has_any(tail: str, said: str) -> None:
    error = early_exit_error(CallError(code="harness_exited", message="It exited with 1."), tail)
    assert error.message == f"It exited with 1 before a session was open{said}"
