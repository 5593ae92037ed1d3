"""The rungs beside headless: a harness that listens, a gateway that is started, and a running seat of Inspan."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from pathlib import Path
from typing import Any, TypeVar

import pytest

import inspan
from inspan.apps.bridge.handoff import is_up
from inspan.apps.processes import is_alive
from inspan.model.posture import Approvals, Posture
from support.apps.bridge_ground import AGENT, Ground, open_ground, until
from support.apps.programs import free_port
from support.harness_folders import add_harness, manifest_text

T = TypeVar("T")

LISTENER = """\
import http.server, json, os, sys
from pathlib import Path

port, log, status = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        line = {"body": json.loads(body), "headers": dict(self.headers), "names": sorted(os.environ)}
        with log.open("a") as file:
            file.write(json.dumps(line) + "\\n")
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


class Listener:
    """A harness that listens, as a program that a route can start."""

    def __init__(self, ground: Ground, *, status: int = 202) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = ground.root / "listener.log"
        program = ground.root / "listener.py"
        program.write_text(LISTENER, encoding="utf-8")
        self.words = [sys.executable, str(program), str(self.port), str(self.log), str(status)]

    def heard(self) -> list[dict[str, Any]]:
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def route(self, mode: str, **more: object) -> dict[str, Any]:
        return {"mode": mode, "url": f"{self.url}/work", "health": f"{self.url}/up", **more}


@pytest.fixture
def ground() -> Generator[Ground]:
    with open_ground() as made:
        yield made


@pytest.mark.requirement("P26", "P29")
def test_a_gateway_is_started_where_it_is_not_up_takes_work_and_ends_with_its_bridge(ground: Ground) -> None:
    listener = Listener(ground)
    ground.profile(listener.route("gateway", start=" ".join(listener.words)))
    ran = ground.bridge("start", "--harness", "scripted", "--interval", "250")
    assert ran.status == 0, ran.err
    record = ground.record()
    assert record is not None
    assert record["mode"] == "gateway"
    gateway = until(lambda: (ground.record() or {}).get("gatewayPid"), "the gateway")
    task = ground.want("anything", {"n": 1})
    until(listener.heard, "the handoff")
    # It was taken, so it is the harness's to close; the bridge does not.
    assert ground.task(task)["status"] == "working"
    assert ground.bridge("stop").json["stopped"] == record["pid"]
    until(lambda: not is_alive(gateway), "the gateway's end")


@pytest.mark.requirement("P26")
def test_a_gateway_that_never_answers_is_ended_and_nothing_is_delivered(ground: Ground) -> None:
    listener = Listener(ground)
    start = f"{sys.executable} -c 'import time; time.sleep(600)'"
    ground.profile(listener.route("gateway", start=start, readyMs=600))
    task = ground.want("anything")
    for ran in (ground.once(), ground.bridge("start", "--harness", "scripted")):
        assert ran.status == 1
        assert "did not answer within 600 ms" in ran.err
        assert ground.task(task)["status"] == "submitted"
        assert ground.record() is None


@pytest.mark.requirement("P29")
def test_a_bridge_that_is_told_to_end_ends_the_gateway_that_it_started_and_no_other(ground: Ground) -> None:
    listener = Listener(ground)
    ground.profile(listener.route("gateway", start=" ".join(listener.words)))
    first = ground.start_bridge()
    gateway = until(lambda: (ground.record() or {}).get("gatewayPid"), "the gateway")
    first.terminate()
    assert first.wait(60) == 0
    assert not is_alive(gateway)

    own = subprocess.Popen(listener.words)
    try:
        until(lambda: is_up(f"{listener.url}/up", allow_remote=False), "the user's own gateway")
        second = ground.start_bridge()
        until(ground.record, "the second bridge")
        second.terminate()
        assert second.wait(60) == 0
        assert own.poll() is None
    finally:
        own.kill()
        own.wait()


@pytest.mark.requirement("P33")
def test_a_handoff_carries_task_prompt_and_token_and_a_gateway_no_key_that_was_not_named(
    ground: Ground,
) -> None:
    listener = Listener(ground)
    ground.profile(listener.route("gateway", start=" ".join(listener.words), tokenEnv="ACME_TOKEN"))
    task = ground.want("anything", {"n": 1})
    environ = {"ACME_TOKEN": "abc", "OTHER_KEY": "secret"}
    ran = ground.bridge("start", "--once", "--harness", "scripted", environ=environ)
    assert (ran.status, ran.json["delivered"]) == (0, 1), ran.err
    (heard,) = listener.heard()
    assert heard["headers"]["Authorization"] == "Bearer abc"
    body = heard["body"]
    assert (body["a2app"], body["protocol"]) == (True, "0.1")
    assert body["app"] == {"id": "d0d0d0d0d0d0", "name": "Desk", "ref": str(ground.folder)}
    assert (body["task"]["id"], body["task"]["status"]) == (task, "working")
    assert f"a2app {ground.folder} tasks complete {task}" in body["prompt"]
    assert "Nobody else will close this task" in body["prompt"]
    assert "OTHER_KEY" not in heard["names"]
    assert "abc" not in ran.err + ran.out


@pytest.mark.requirement("P30")
def test_a_harness_that_refuses_or_is_not_there_has_the_task_fail_with_the_reason(ground: Ground) -> None:
    refusing = Listener(ground, status=503)
    ground.profile(refusing.route("gateway", start=" ".join(refusing.words)))
    refused = ground.want("anything")
    assert ground.once().json["failed"] == 1
    assert ground.task(refused)["reason"] == "delivery_refused"
    ground.profile({"mode": "inbound", "url": f"http://127.0.0.1:{free_port()}/"})
    missed = ground.want("anything")
    assert ground.once().json["failed"] == 1
    assert ground.task(missed)["reason"] == "delivery_failed"


@pytest.mark.requirement("P30")
def test_a_task_that_was_taken_and_comes_back_is_delivered_again_with_a_loud_word() -> None:
    with open_ground(lease_s=2.0) as ground:
        listener = Listener(ground)
        ground.profile(listener.route("gateway", start=" ".join(listener.words)))
        ground.start_bridge()
        task = ground.want("anything")
        until(lambda: len(listener.heard()) >= 2, "a second delivery")
        assert f"WARNING: {task} was handed to scripted before" in ground.bridge_log()


# Seats

SEATED = """\
[modes.once]
transport = "headless"
capabilities.cancel = { support = "supported", source = "a test" }

[[modes.once.postures]]
approvals = "ask"

[modes.once.headless]
output = "text"
"""


@contextlib.asynccontextmanager
async def daemon() -> AsyncGenerator[inspan.Client]:
    """A daemon of the test's own home, ended with all its harnesses."""
    async with inspan.connect() as client:
        try:
            yield client
        finally:
            await client.stop_daemon(harnesses=True)


async def eventually(look: Callable[[], Awaitable[T | None]]) -> T:
    """What `look` gives once it gives something."""
    async with asyncio.timeout(60):
        while True:
            if found := await look():
                return found
            await asyncio.sleep(0.05)


async def is_ready(client: inspan.Client, name: str) -> bool | None:
    launch = (await client.get_seat(name)).launch
    return launch is not None and launch.status == "ready"


async def outcome_of(client: inspan.Client, name: str) -> str | None:
    return (await client.list_turns(name))[-1].outcome


@pytest.mark.requirement("P27")
def test_a_seat_that_was_named_takes_a_task_as_a_prompt_and_its_agent_closes_it(
    ground: Ground, throwaway_home: Path
) -> None:
    program = throwaway_home / "acme-agent"
    program.write_text(f"#!{sys.executable}\n{AGENT}", encoding="utf-8")
    program.chmod(0o755)
    text = manifest_text(more=SEATED)
    text = text.replace('names = ["acme-agent"]', f'names = ["acme-agent"]\npaths = ["{program}"]')
    add_harness(throwaway_home / "inspan" / "harnesses", "acme", text)

    async def story() -> None:
        async with daemon() as client:
            await client.add_seat(
                "writer",
                harness="acme",
                mode="once",
                workspace=throwaway_home,
                posture=Posture(approvals=Approvals.ASK),
                environment={
                    "ISP_AGENT_LOG": str(ground.log),
                    "A2APP_HOME": str(ground.home),
                    "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
                },
            )
            done, left = ground.want("do"), ground.want("nothing")
            ran = await asyncio.to_thread(ground.bridge, "start", "--once", "--harness", "seat:writer")
            assert (ran.json["mode"], ran.json["delivered"], ran.json["failed"]) == ("inbound", 1, 1), ran.err
            closed = ground.task(done)
            assert (closed["status"], closed["result"]) == ("completed", {"by": "the agent"})
            # What P31 asks of a process holds for a turn.
            assert ground.task(left)["reason"] == "no_outcome_reported"
            assert len(await client.list_turns("writer")) == 2

    asyncio.run(story())


@pytest.mark.requirement("P26", "P27")
def test_a_running_seat_in_the_apps_folder_is_the_deepest_rung_of_its_harness_and_a_stopped_one_is_none(
    ground: Ground,
) -> None:
    def inbound() -> dict[str, Any]:
        ran = ground.bridge("status", "--harness", "demo")
        return next(one for one in ran.json["ladder"] if one["mode"] == "inbound")

    async def story() -> None:
        assert "Inspan does not run" in inbound()["detail"]
        async with daemon() as client:
            assert "no seat of it works in the app's folder" in (await asyncio.to_thread(inbound))["detail"]
            await client.add_seat("clerk", harness="demo", workspace=ground.folder)
            stopped = await asyncio.to_thread(inbound)
            assert (stopped["available"], "`inspan start clerk`" in stopped["detail"]) == (False, True)
            await client.start_seat("clerk")
            await eventually(lambda: is_ready(client, "clerk"))
            running = await asyncio.to_thread(inbound)
            assert (running["available"], "clerk" in running["detail"]) == (True, True)
            task = ground.want("anything")
            ran = await asyncio.to_thread(ground.bridge, "start", "--once", "--harness", "demo")
            assert ran.json["mode"] == "inbound", ran.err
            # The demonstration agent answers and reports nothing.
            assert ground.task(task)["reason"] == "no_outcome_reported"
            (turn,) = await client.list_turns("clerk")
            assert turn.outcome == "completed"

    asyncio.run(story())


@pytest.mark.requirement("P7", "P30")
def test_a_cancel_reaches_a_seat_and_its_turn_is_cancelled(ground: Ground, throwaway_home: Path) -> None:
    program = throwaway_home / "acme-agent"
    program.write_text(f"#!{sys.executable}\n{AGENT}", encoding="utf-8")
    program.chmod(0o755)
    text = manifest_text(more=SEATED)
    text = text.replace('names = ["acme-agent"]', f'names = ["acme-agent"]\npaths = ["{program}"]')
    add_harness(throwaway_home / "inspan" / "harnesses", "acme", text)

    async def story() -> None:
        async with daemon() as client:
            await client.add_seat(
                "writer",
                harness="acme",
                mode="once",
                workspace=throwaway_home,
                environment={"ISP_AGENT_LOG": str(ground.log)},
            )
            task = ground.want("hang")
            words = ("start", "--once", "--harness", "seat:writer", "--heartbeat", "250")
            running = asyncio.create_task(asyncio.to_thread(ground.bridge, *words))
            await asyncio.to_thread(ground.until_agent, task)
            assert ground.client.cancel(task).is_ok
            ran = await running
            assert (ran.json["skipped"], ran.json["failed"]) == (1, 0), ran.err
            assert await eventually(lambda: outcome_of(client, "writer")) == "cancelled"

    asyncio.run(story())
