"""Which of the daemon's variables a harness is handed: what signs in on request, what says where its provider is always."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from inspan.host import HarnessHost
from inspan.model.installation import FORWARD_AUTH
from inspan.model.plan import LaunchRequest
from inspan.model.posture import Posture
from inspan.model.views import SendPrompt
from inspan.seats.core import Seats
from support.harness_folders import add_harness, add_program, manifest_text
from support.host_ground import HostGround, open_host_ground
from support.isolation_ground import open_isolation_ground, ran
from support.seat_ground import until

SHELL = {"ACME_API_KEY": "k-1", "ACME_BASE_URL": "http://127.0.0.1:1", "OTHER_TOKEN": "t-1", "LC_ALL": "C"}


def on_ground(story: Callable[[HostGround, Seats], Awaitable[None]], **environ: str) -> None:
    """Runs a story on a fresh ground, whose daemon has the shell's variables and further ones."""

    async def run() -> None:
        async with open_isolation_ground(environ={**SHELL, **environ}) as ground, ground.seats() as seats:
            await story(ground, seats)

    asyncio.run(run())


@pytest.mark.requirement("H-A36")
def test_a_variable_that_signs_in_is_handed_over_only_if_the_operator_says_so_too() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        plain = await ground.add(seats, "plain")
        assert plain.withheld == ("ACME_API_KEY",)
        assert "ACME_API_KEY" not in (await ran(ground, seats, "plain"))["environment"]
        forwarded = await ground.add(seats, "forwarded", forwards_auth=True)
        assert forwarded.withheld == ()
        assert (await ran(ground, seats, "forwarded"))["environment"]["ACME_API_KEY"] == "k-1"
        await ground.add(seats, "given", environment={"ACME_API_KEY": "k-2"})
        assert (await ran(ground, seats, "given"))["environment"]["ACME_API_KEY"] == "k-2"

    on_ground(story)


@pytest.mark.requirement("H-A36")
def test_a_policy_of_the_daemon_hands_it_to_every_seat() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        assert (await ground.add(seats)).withheld == ()
        assert (await ran(ground, seats))["environment"]["ACME_API_KEY"] == "k-1"

    on_ground(story, **{FORWARD_AUTH: "1"})


@pytest.mark.requirement("H-A36")
def test_a_locator_is_always_handed_over_even_where_little_else_is() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        await ground.add(seats, "plain")
        plain = (await ran(ground, seats, "plain"))["environment"]
        assert plain["ACME_BASE_URL"] == "http://127.0.0.1:1"
        assert plain["OTHER_TOKEN"] == "t-1"
        state = {"ACME_STATE": str(ground.state)}
        await ground.add(seats, "clean", clean_environment=True, environment=state)
        clean = (await ran(ground, seats, "clean"))["environment"]
        assert clean["ACME_BASE_URL"] == "http://127.0.0.1:1"
        assert {"PATH", "HOME", "LC_ALL"} <= clean.keys()
        assert not {"OTHER_TOKEN", "ACME_API_KEY", "SOMETHING"} & clean.keys()
        await ground.add(seats, "both", clean_environment=True, forwards_auth=True, environment=state)
        both = (await ran(ground, seats, "both"))["environment"]
        assert both["ACME_API_KEY"] == "k-1"
        assert "OTHER_TOKEN" not in both

    on_ground(story, SOMETHING="else")


@pytest.mark.requirement("H-A36")
def test_a_sign_in_that_is_missing_names_the_variable_that_was_not_handed_over_and_the_option() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        await ground.add(seats, isolated=True)
        await seats.send_prompt("worker", SendPrompt(text="sign-in"))
        view = await until(seats, "worker", lambda one: one.last_turn is not None or one.status == "held")
        error = view.last_turn.error if view.last_turn is not None else None
        assert error is not None
        assert error.code == "auth_required"
        assert "Run `acme login`." in error.hint
        assert "ACME_API_KEY is set here" in error.hint
        assert "--forward-auth" in error.hint
        assert "configuration folder of its own" in error.hint

    on_ground(story)


def test_a_sign_in_method_is_not_chosen_by_a_variable_that_the_harness_does_not_get(tmp_path: Path) -> None:
    keys = '[modes.acp.acp]\nauth = [{ method = "key", when_env = "ACME_KEY" }]\n'
    add_harness(tmp_path / "home" / "harnesses", "acme", manifest_text(more=keys))
    add_program(tmp_path / "bin", "acme-agent", "")
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path), "ACME_KEY": "k"}

    async def method(withheld: tuple[str, ...]) -> str | None:
        request = LaunchRequest(
            seat="worker",
            harness="acme",
            mode="acp",
            attempt="fresh",
            workspace=str(tmp_path),
            posture=Posture(),
            withheld=withheld,
        )
        async with HarnessHost(tmp_path / "home", environ=environ) as host:
            return (await host.plan(request)).settings.auth_method

    assert asyncio.run(method(())) == "key"
    assert asyncio.run(method(("ACME_KEY",))) is None


@pytest.mark.requirement("H-A36")
@pytest.mark.parametrize(
    ("more", "environ", "by", "codes"),
    [
        ("", {}, "ACME_KEY", ["auth_withheld"]),
        ("", {FORWARD_AUTH: "1"}, "ACME_KEY", []),
        ('markers = ["~/signed-in"]', {}, "~/signed-in", []),
    ],
)
def test_a_probe_says_that_a_key_is_there_but_not_handed_over(
    tmp_path: Path, more: str, environ: dict[str, str], by: str, codes: list[str]
) -> None:
    sign_in = f'[sign_in]\nenvironment = ["ACME_KEY"]\n{more}\n'
    add_harness(tmp_path / "harnesses", "acme", manifest_text(more=sign_in))
    add_program(tmp_path / "bin", "acme-agent", "print('acme-agent 1.2.3')")
    (tmp_path / "signed-in").touch()
    around = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path), "ACME_KEY": "k", **environ}

    async def probe() -> None:
        async with HarnessHost(tmp_path, environ=around) as host:
            found = await host.probe("acme")
        assert (found.signed_in, found.signed_in_by) == ("yes", by)
        assert [problem.code for problem in found.problems] == codes
        for problem in found.problems:
            assert "ACME_KEY" in problem.message
            assert "--forward-auth" in problem.hint
            assert not problem.is_fatal

    asyncio.run(probe())


REFUSES = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        body = {"result": {"protocolVersion": 1, "agentCapabilities": {}}}
    else:
        body = {"error": {"code": -32000, "message": "Authentication required"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)
"""
LEAVES = "import sys\nsys.stderr.write('You are not logged in\\n')\nsys.exit(1)\n"
KEYED = """
[sign_in]
environment = ["ACME_API_KEY"]
hint = "Run `acme login` first."
[[modes.acp.diagnoses]]
message_pattern = "(?i)not logged in"
code = "auth_required"
title = "Acme is not signed in"
remedy = "Run `acme login` first."
"""


@pytest.mark.requirement("H-A36")
@pytest.mark.parametrize("program", [REFUSES, LEAVES])
@pytest.mark.parametrize("forwards", [False, True])
def test_a_session_that_is_refused_for_want_of_a_key_names_the_key_that_was_held_back(
    program: str, forwards: bool
) -> None:
    async def story() -> None:
        async with (
            open_host_ground(program=program, more=KEYED, environ=SHELL) as ground,
            ground.seats() as seats,
        ):
            await ground.add(seats, forwards_auth=forwards)
            await seats.send_prompt("worker", SendPrompt(text="hello"))
            launch = (await until(seats, "worker", lambda one: one.status == "held")).launch
            assert launch is not None
            assert launch.error is not None
            assert launch.error.code == "auth_required"
            assert "Run `acme login` first." in launch.error.hint
            assert ("--forward-auth" in launch.error.hint) is not forwards

    asyncio.run(story())
