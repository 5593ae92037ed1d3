"""`bridge start|stop|status`: processes of their own, what they print, and how they end."""

from __future__ import annotations

import ast
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest

import inspan
from inspan.apps.bridge.command import run
from inspan.apps.bridge.journal import LARGEST_LOG_BYTES, Journal, last_lines, trim
from inspan.apps.faults import Misused
from inspan.apps.files import locked
from inspan.apps.processes import birth_of, is_alive
from inspan.apps.tools.table import TOOLS
from support.apps.bridge_ground import Ground, open_ground, until


@pytest.fixture
def ground() -> Generator[Ground]:
    with open_ground() as made:
        yield made


def idle(ground: Ground) -> str:
    """Starts a bridge in the background."""
    ran = ground.bridge("start", "--harness", "scripted", "--interval", "250", "--heartbeat", "250")
    assert ran.status == 0, ran.err
    return ran.out


@pytest.mark.requirement("P29")
def test_a_bridge_goes_to_the_background_brings_work_and_is_stopped(ground: Ground) -> None:
    said = json.loads(idle(ground))
    record = ground.record()
    assert record is not None
    assert said == {
        "ok": True,
        "started": True,
        "pid": record["pid"],
        "harness": "scripted",
        "mode": "headless",
        "startedAt": record["startedAt"],
        "baseUrl": f"http://127.0.0.1:{ground.port}",
    }
    assert record["birth"] == birth_of(record["pid"])
    assert (ground.folder / ".a2app" / "bridge.json").stat().st_mode & 0o077 == 0
    assert os.getsid(record["pid"]) == record["pid"]

    ground.until_status(ground.want("do"), "completed")

    again = ground.bridge("start", "--harness", "scripted")
    assert (again.status, again.json["alreadyRunning"], again.json["pid"]) == (0, True, record["pid"])
    assert again.json["started"] is False

    stopped = ground.bridge("stop")
    assert (stopped.status, stopped.json) == (0, {"ok": True, "stopped": record["pid"]})
    assert not is_alive(record["pid"])
    assert ground.record() is None
    assert ground.bridge("stop").json == {"ok": True, "stopped": None}


@pytest.mark.requirement("P26", "P28", "P29")
def test_status_says_what_would_be_used_what_runs_and_what_waits(ground: Ground) -> None:
    ground.want("do")
    ran = ground.bridge()
    assert ran.status == 0, ran.err
    said = ran.json
    assert said["app"] == {"id": "d0d0d0d0d0d0", "name": "Desk"}
    assert (said["a2app"], said["mode"], said["supported"], said["running"]) == (True, "headless", True, None)
    assert said["harness"] == {"id": "scripted", "name": "scripted"}
    assert [one["mode"] for one in said["ladder"]] == ["inbound", "headless", "gateway", "subscribe"]
    assert (said["tasksWaiting"], said["agentWork"]["queuesAgentWork"]) == (1, True)
    assert said["config"] == str(ground.home / "harnesses.json")
    assert "scripted" in said["profiles"]
    assert "No bridge runs" in ran.err
    assert f"  next: agent-app {ground.folder} bridge start\n" in ran.err

    idle(ground)
    running = ground.bridge("status")
    record = ground.record()
    assert record is not None
    assert running.json["running"]["pid"] == record["pid"]
    assert "no proof" in running.err
    assert "  log: " in running.err


@pytest.mark.requirement("P26")
def test_where_no_rung_can_be_used_it_says_so_and_starts_nothing(ground: Ground) -> None:
    ground.profile({"mode": "headless", "command": "no-such-program", "args": ["{prompt}"]})
    ran = ground.bridge("start", "--harness", "scripted")
    assert ran.status == 1
    assert (ran.json["ok"], ran.json["supported"], ran.json["harness"]) == (False, False, "scripted")
    assert "no-such-program" in next(one["detail"] for one in ran.json["ladder"] if one["mode"] == "headless")
    assert "nothing is started" in ran.err
    assert ground.record() is None
    assert not (ground.folder / ".a2app" / "bridge.log").exists()


@pytest.mark.requirement("P26")
def test_a_harness_that_fetches_work_by_itself_is_told_how_and_nothing_is_started(ground: Ground) -> None:
    ground.profile({"mode": "subscribe"})
    ran = ground.bridge("start", "--harness", "scripted")
    assert ran.status == 0
    assert ran.json == {
        "ok": True,
        "started": False,
        "mode": "subscribe",
        "harness": "scripted",
        "listen": f"a2app {ground.folder} tasks next --wait 60000",
    }
    assert ground.record() is None


@pytest.mark.requirement("P28")
@pytest.mark.parametrize("how", ["flag", "variable", "file"])
def test_a_harness_that_nobody_knows_is_an_error_and_starts_no_other(ground: Ground, how: str) -> None:
    environ = {"A2APP_HARNESS": "nobody"} if how == "variable" else {}
    if how == "file":
        ground.profile(default="nobody")
    ran = ground.bridge("start", *(["--harness", "nobody"] if how == "flag" else []), environ=environ)
    assert ran.status == 1
    assert "nobody" in ran.err
    assert "scripted" in ran.err
    assert ground.record() is None


@pytest.mark.requirement("P27")
def test_a_file_that_is_wrong_fails_every_command_with_its_place(ground: Ground) -> None:
    ground.profile({"mode": "headless", "command": "x", "args": []})
    for words in (("status",), ("start", "--once")):
        ran = ground.bridge(*words)
        assert ran.status == 1
        assert f"{ground.home / 'harnesses.json'}: harnesses[0].routes[0].args must" in ran.err


@pytest.mark.requirement("P29")
@pytest.mark.parametrize(
    "words", [("restart",), ("stop", "now"), ("start", "--interval", "1"), ("start", "--x")]
)
def test_a_wrong_word_is_a_usage_error_before_anything_happens(
    ground: Ground, words: tuple[str, ...]
) -> None:
    with pytest.raises(Misused):
        run(ground.folder, words)
    assert ground.bridge(*words).status == 2
    assert ground.record() is None


@pytest.mark.requirement("P29")
def test_an_app_that_does_not_run_or_is_another_is_refused_before_anything_starts() -> None:
    with open_ground(starts_app=False) as ground:
        for words in (("start",), ("start", "--once"), ("start", "--dry-run"), ("start", "--foreground")):
            ran = ground.bridge(*words, "--harness", "scripted")
            assert ran.status == 2
            assert "Launch it first" in ran.err
        with open_ground(starts_app=False, port=ground.port) as other:
            manifest = json.loads((other.folder / "manifest.json").read_text())
            (other.folder / "manifest.json").write_text(json.dumps({**manifest, "id": "e1e1e1e1e1e1"}))
            other.start_app(as_id="e1e1e1e1e1e1")
            ran = ground.bridge("start", "--harness", "scripted")
            assert ran.status == 2
            assert "somebody else" in ran.err
        assert ground.record() is None


@pytest.mark.requirement("P29")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_task_at_hand_be_finished_and_takes_no_other(ground: Ground, number: int) -> None:
    bridge = ground.start_bridge()
    first, second = ground.want("slow"), ground.want("do")
    ground.until_agent(first)
    bridge.send_signal(number)
    assert bridge.wait(60) == 0
    assert ground.task(first)["status"] == "completed"
    assert ground.task(second)["status"] == "submitted"
    assert ground.record() is None


@pytest.mark.requirement("P29", "P36")
def test_a_stop_in_mid_task_ends_agent_and_bridge_and_the_task_returns_to_the_queue() -> None:
    with open_ground(lease_s=3.0) as ground:
        idle(ground)
        task = ground.want("deaf")
        agent = ground.until_agent(task)["pid"]
        record = ground.record()
        assert record is not None
        stopped = ground.bridge("stop")
        assert stopped.json == {"ok": True, "stopped": record["pid"]}
        assert [one for one in psutil.pids() if _group_of(one) == agent and is_alive(one)] == []
        assert ground.record() is None
        back = ground.until_status(task, "submitted")
        assert (back["claim"], back["deliveries"]) == (None, 1)


@pytest.mark.requirement("P29")
def test_a_record_whose_pid_is_somebody_elses_by_now_ends_nobody(ground: Ground) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        record = {
            "pid": stranger.pid,
            "birth": "another:1",
            "harness": "x",
            "mode": "headless",
            "startedAt": "then",
        }
        state = ground.folder / ".a2app"
        state.mkdir(exist_ok=True)
        agent = {"pid": stranger.pid, "birth": "another:1", "task": "tsk_1"}
        (state / "bridge.json").write_text(json.dumps({**record, "agent": agent}))
        assert ground.bridge("status").json["running"] is None
        assert ground.bridge("stop").json == {"ok": True, "stopped": None, "cleared": True}
        assert stranger.poll() is None
        assert ground.record() is None
    finally:
        stranger.communicate(b"\n")


@pytest.mark.requirement("P29", "P36")
def test_a_copy_of_an_app_knows_nothing_of_the_bridge_of_the_other_and_ends_it_not(ground: Ground) -> None:
    bridge = ground.start_bridge()
    until(lambda: ground.record() is not None, "the record")
    copy = ground.root / "copy"
    shutil.copytree(ground.folder, copy)
    try:
        said = ground.bridge("status", folder=copy).json
        assert (said["running"], said["agentWork"]["state"]) == (None, "absent")
        assert ground.bridge("stop", folder=copy).json == {"ok": True, "stopped": None}
        assert bridge.poll() is None
        assert not (copy / ".a2app" / "bridge.json").exists()
        assert ground.bridge("status").json["running"]["pid"] == bridge.pid
    finally:
        ground.bridge("stop")


@pytest.mark.requirement("P36")
def test_an_agent_whose_bridge_was_killed_is_ended_before_another_bridge_begins(ground: Ground) -> None:
    bridge = ground.start_bridge()
    task = ground.want("hang")
    agent = ground.until_agent(task)["pid"]
    until(lambda: (ground.record() or {}).get("agent"), "the agent's mark")
    bridge.kill()
    bridge.wait()
    assert is_alive(agent)
    assert ground.once().status == 0
    assert not is_alive(agent)
    assert ground.record() is None


@pytest.mark.requirement("P29")
def test_no_module_starts_a_bridge_but_its_own_command_and_no_tool_offers_it() -> None:
    package = Path(inspan.__file__).parent
    importers: set[str] = set()
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            named = getattr(node, "module", "") or "" if isinstance(node, ast.ImportFrom) else ""
            if re.search(r"(^|\.)bridge\.(command|starting|working)$", named):
                importers.add(file.relative_to(package).as_posix())
    outside = {one for one in importers if not one.startswith("apps/bridge/")}
    assert outside <= {"apps/programs/agent_app/main.py"}
    assert not [one.name for one in TOOLS if "bridge" in one.name]


def test_two_starts_at_once_leave_one_bridge(ground: Ground) -> None:
    words = (
        sys.executable,
        "-P",
        "-m",
        "inspan.apps.bridge",
        str(ground.folder),
        "start",
        "--harness",
        "scripted",
    )
    both = [
        subprocess.Popen(words, env=ground.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [json.loads(one.communicate(timeout=60)[0]) for one in both]
    assert sorted(one["started"] for one in said) == [False, True]
    assert len({one["pid"] for one in said}) == 1


def test_a_bridge_that_cannot_start_in_the_background_says_why(ground: Ground) -> None:
    (ground.folder / ".a2app").mkdir(exist_ok=True)
    (ground.folder / ".a2app" / "bridge.json").mkdir()
    ran = ground.bridge("start", "--harness", "scripted")
    assert ran.status == 1
    assert "did not start" in ran.err
    assert "  log: " in ran.err
    assert not [one for one in psutil.process_iter() if str(ground.folder) in " ".join(_words_of(one))]


def test_a_lock_that_another_holds_is_waited_for_and_named(ground: Ground) -> None:
    with locked(ground.folder / ".a2app" / "bridge.lock"):
        ran = ground.bridge("stop")
    assert ran.status == 1
    assert "bridge.lock" in ran.err


@pytest.mark.requirement("P29")
def test_the_log_keeps_its_newer_half_whoever_writes_to_it(tmp_path: Path) -> None:
    log = tmp_path / "bridge.log"
    with log.open("ab") as writer:
        for number in range(20_000):
            writer.write(f"line {number} {'x' * 30}\n".encode())
        writer.flush()
        trim(log)
        assert log.stat().st_size <= LARGEST_LOG_BYTES // 2
        writer.write(b"line after\n")
        writer.flush()
    text = log.read_text()
    assert "\0" not in text
    assert all(line.startswith("line ") for line in text.splitlines())
    assert last_lines(log, 2) == [f"line 19999 {'x' * 30}", "line after"]
    assert last_lines(tmp_path / "none", 3) == []


def test_a_log_on_a_full_disk_stops_no_delivery() -> None:
    def full(line: str) -> None:
        raise OSError(errno.ENOSPC, f"no room for {line}")

    Journal(write=full).say("A task was done.")


def test_a_line_of_the_log_cannot_drive_a_terminal(tmp_path: Path) -> None:
    log = tmp_path / "bridge.log"
    log.write_bytes(b"before \x1b[2J\x9b1m \xe2\x80\xae after\n")
    (line,) = last_lines(log, 5)
    assert line.isprintable()


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return 0


def _words_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
