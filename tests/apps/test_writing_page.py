"""The page that says how to write an app: its code is run as it stands there."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspan.apps.model.operations import operations_from_wire
from support.apps.programs import a2app, agent_app, home_for_test, scaffolded
from support.apps.served import Served

PAGE = Path(__file__).resolve().parents[2] / "docs" / "apps-write.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 1
    (tmp_path / "app.py").write_text(blocks[0], encoding="utf-8")
    return tmp_path


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    monkeypatch.setenv("PORT", str(port))
    process = subprocess.Popen([sys.executable, "app.py"], cwd=folder, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    served = Served(port, "")
    while True:
        try:
            served.get("/api/_a2app")
        except OSError:
            assert process.poll() is None
            assert time.monotonic() < deadline
            threading.Event().wait(0.05)
        else:
            break
    yield Served(port, (folder / ".agent-token").read_text().strip())
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=20)
    assert process.returncode in (0, -signal.SIGTERM)
    assert f"http://127.0.0.1:{port}" in said.decode()
    assert "Traceback" not in said.decode()


@pytest.mark.requirement("P2")
def test_the_app_of_the_page_does_what_the_page_says(here: Served, folder: Path) -> None:
    assert here.get("/api/_a2app").body["app"] == {"id": "errands", "name": "Errands"}
    assert "<title>App</title>" in here.get("/").body
    refused = here.post("/api/collections/errands/records", {"title": "Buy milk", "due": "tomorrow"})
    assert (refused.status, refused.code) == (400, "invalid_daykey")
    made = here.post("/api/collections/errands/records", {"title": "Buy milk", "due": "2026-08-01"}).body
    assert (made["urgency"], made["done"]) == ("low", None)
    assert here.post("/api/ops/finish", {"errand": "first"}).body["result"]["done"] is True
    again = here.post("/api/ops/finish", {"errand": "first"})
    assert again.body["blocked"] == "done is true"
    asked = here.post("/api/ops/forget-done", {}).body["approvalKey"]
    done = here.post("/api/ops/forget-done", {}, headers={"X-A2App-Approval": asked})
    assert done.body["result"] == {"deleted": 1}
    task = here.post("/api/ops/plan-the-day", {}).body["result"]
    queued = here.get("/api/_a2app/tasks").body["tasks"]
    assert queued[0]["request"] == {"capability": "plan-errands", "payload": {"errands": ["Buy milk"]}}
    assert queued[0]["id"] in str(task)
    events = here.get("/api/_a2app/events").body["events"]
    assert [event["type"] for event in events] == ["errand.finished", "plan.wanted"]
    assert here.get("/api/_a2app/describe").body["conventions"]["due"].startswith("A day")


@pytest.mark.requirement("P1")
def test_beside_it_stand_a_private_token_and_what_can_be_done(here: Served, folder: Path) -> None:
    assert (folder / ".agent-token").stat().st_mode & 0o777 == 0o600
    assert (folder / "data" / "app.db").stat().st_mode & 0o777 == 0o600
    operations, problems = operations_from_wire(json.loads((folder / "operations.json").read_text()))
    assert problems == []
    assert [operation.name for operation in operations] == ["finish", "forget-done", "plan-the-day"]
    assert operations[0].applies_when == {"field": "done", "ne": True}


@pytest.mark.requirement("P2", "P9", "P10")
def test_the_app_of_the_page_is_operated_by_its_address_and_served_from_a_scaffolded_folder(
    folder: Path, here: Served
) -> None:
    with home_for_test() as ground, scaffolded(ground, "errands") as kept:
        walked = a2app(f"http://127.0.0.1:{here.port}", "home", "errands")
        assert (walked.status, "entity home/errands" in walked.out) == (0, True)
        (kept / "app.py").write_bytes((folder / "app.py").read_bytes())
        served = agent_app(str(kept), "serve")
        assert served.status == 0, served.err
        made = a2app(str(kept), "data", "errands", "create", "--title", "Milk", "--due", "tomorrow")
        assert made.status == 0, made.err
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", made.json["due"])
        os.environ["A2APP_TOKEN"] = here.token
        address = f"http://127.0.0.1:{here.port}"
        made = a2app(address, "data", "errands", "create", "--title", "Bread")
        assert made.status == 0, made.err


def test_a_folder_without_a_manifest_is_said_to_be_none_and_how_to_make_one(folder: Path) -> None:
    with home_for_test():
        said = a2app(str(folder))
        assert said.status == 2
        assert f"next: agent-app {folder} scaffold\n" in said.err
        assert "next: agent-app list\n" in a2app("nosuch").err


def test_the_app_of_the_page_is_about_as_long_as_it_promises() -> None:
    block = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]

    assert len([line for line in block.splitlines() if line.strip()]) <= 45
