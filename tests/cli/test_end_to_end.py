"""The program, the daemon, the holder and the scripted harness: all of them real."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.program import inspan, inspan_process, wait_until_gone

DEADLINE_S = 60.0
HARNESS = "demo"
RECORDINGS = sorted(
    (Path(__file__).resolve().parents[2] / "src" / "inspan" / "harnesses").glob("*/recordings/*.jsonl")
)

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(autouse=True)
def stopped_at_the_end(throwaway_home: Path) -> Iterator[None]:
    """Stops what a test started, and looks whether it did."""
    workspace = throwaway_home / "w"
    workspace.mkdir()
    yield
    if not (Path(os.environ["INSPAN_HOME"]) / "launches").exists():
        return
    assert inspan("daemon", "stop", "--harnesses").status == 0
    wait_until_gone(os.environ["INSPAN_HOME"])


def _until(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.02)
    return found


def _value(*words: str, status: int = 0) -> Any:
    result = inspan("--json", *words)
    assert result.status == status, result
    return result.value


def _seat(workspace: Path, *words: str) -> str:
    _value("seat", "add", "worker", "--harness", HARNESS, "--workspace", str(workspace / "w"), *words)
    return "worker"


@contextlib.contextmanager
def _waiting(*words: str) -> Generator[subprocess.Popen[bytes]]:
    process = inspan_process("--json", *words)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _ending(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    output, _ = process.communicate(timeout=DEADLINE_S)
    value = json.loads(output)
    assert process.returncode == value["exit_status"], value
    return value


@pytest.mark.parametrize(
    ("prompt", "status"), [("hello", 0), ("refuse", 10), ("overrun", 11), ("quota", 11), ("crash", 13)]
)
@pytest.mark.requirement("H-E4", "H-N23")
def test_one_prompt_runs_and_its_outcome_is_the_exit_status(
    throwaway_home: Path, prompt: str, status: int
) -> None:
    ending = _value(
        "run", "--harness", HARNESS, "--workspace", str(throwaway_home / "w"), prompt, status=status
    )

    assert ending["exit_status"] == status
    assert ending["turn"]["outcome"]
    assert _value("seat", "list") == []


def test_a_permission_is_allowed_from_elsewhere_and_the_record_says_who(throwaway_home: Path) -> None:
    seat = _seat(throwaway_home)
    with _waiting("send", seat, "--wait", "ask for a permission") as process:
        asked = _until(lambda: _value("permissions", seat), "something is asked")
        assert _value("seat", "show", seat)["status"] == "needs_input"
        answered = _value("approve", seat, "--reason", "seen")
        ending = _ending(process)

    assert ending["exit_status"] == 0
    assert (answered["id"], answered["decision"], answered["by"]) == (asked[0]["id"], "allow", "operator")
    assert [one["decision"] for one in ending["permissions"]] == ["allow"]
    assert _value("permissions", seat) == []
    assert _value("permissions", seat, "--all")[0]["reason"] == "seen"
    # Once answered, it stays answered.
    assert _value("deny", asked[0]["id"], status=4)["error"]["code"] == "permission_closed"


@pytest.mark.requirement("H-F4")
def test_a_permission_is_denied_by_the_seat_s_own_posture(throwaway_home: Path) -> None:
    seat = _seat(throwaway_home, "--unattended", "reject")

    ending = _value("send", seat, "--wait", "ask for a permission")

    assert [(one["decision"], one["by"]) for one in ending["permissions"]] == [("deny", "posture")]


@pytest.mark.requirement("L8")
def test_the_same_id_is_sent_once_and_other_text_is_a_conflict(throwaway_home: Path) -> None:
    seat = _seat(throwaway_home)

    first = _value("send", seat, "--id", "nightly-1", "--wait", "hello")
    again = _value("send", seat, "--id", "nightly-1", "--wait", "hello")
    other = _value("send", seat, "--id", "nightly-1", "goodbye", status=4)

    assert first["turn"]["id"] == again["turn"]["id"]
    assert other["error"]["code"] == "delivery_conflict"
    assert len(_value("turns", seat)) == 1


@pytest.mark.requirement("H-N24")
@pytest.mark.requirement("H-N46")
def test_a_turn_is_cancelled_and_the_queue_is_kept(throwaway_home: Path) -> None:
    seat = _seat(throwaway_home)
    with _waiting("send", seat, "--wait", "hang") as process:
        _until(lambda: _value("seat", "show", seat)["status"] == "running", "it runs")
        queued = _value("send", seat, "--id", "later", "hello")
        assert queued["ahead"] == 1
        assert [one["id"] for one in _value("cancel", seat)["queue"]] == ["later"]
        assert _ending(process)["exit_status"] == 12

    assert inspan("watch", seat, "--until", "idle").status == 0
    assert _value("delivery", "show", "later")["turn_outcome"] == "completed"


def test_a_prompt_is_taken_out_of_the_queue_and_not_out_of_a_turn(throwaway_home: Path) -> None:
    seat = _seat(throwaway_home)
    running = _value("send", seat, "hang")["id"]
    _until(lambda: _value("seat", "show", seat)["status"] == "running", "it runs")
    queued = _value("send", seat, "hello")["id"]

    assert _value("delivery", "withdraw", queued)["state"] == "refused"
    assert _value("delivery", "withdraw", running, status=4)["error"]["code"] == "delivery_final"
    assert _value("cancel", seat)


def test_a_wait_outlives_the_daemon_that_it_began_with(throwaway_home: Path) -> None:
    seat = _seat(throwaway_home)
    with _waiting("send", seat, "--wait", "slow 25") as process:
        _until(lambda: _value("seat", "show", seat)["status"] == "running", "it runs")
        before = _value("daemon", "status")["pid"]
        os.kill(before, signal.SIGKILL)
        ending = _ending(process)

    assert ending["exit_status"] == 0
    assert [int(one) for one in re.findall(r"line (\d+) of 25", ending["text"])] == list(range(1, 26))
    assert _value("daemon", "status")["pid"] != before
    assert _value("store", "check")["ok"]


def test_a_daemon_that_is_stopped_leaves_the_harness_and_a_watch_waits_for_the_next(
    throwaway_home: Path,
) -> None:
    seat = _seat(throwaway_home)
    _value("send", seat, "--wait", "hello")
    pid = _value("seat", "show", seat)["launch"]["pid"]
    watching = inspan_process("--json", "watch", seat, "--after", "0", "--types", "turn_ended")
    try:
        _until(lambda: _value("daemon", "status").get("clients") == 1, "it watches")
        assert _value("daemon", "stop") == {"was_running": True, "stopped": []}
        os.kill(pid, 0)
        assert _value("daemon", "status", status=20)
        assert watching.poll() is None
        assert _value("send", seat, "--wait", "hello again")["exit_status"] == 0
        assert watching.stdout is not None
        seen = [json.loads(watching.stdout.readline())["event"]["outcome"] for _ in range(2)]
    finally:
        watching.kill()
        watching.communicate()

    assert seen == ["completed", "completed"]
    assert _value("seat", "show", seat)["launch"]["pid"] == pid


def test_a_stop_returns_once_the_home_is_free_and_a_stale_lock_does_not_hold_it_up(
    throwaway_home: Path,
) -> None:
    _seat(throwaway_home)
    home = Path(os.environ["INSPAN_HOME"])
    for _ in range(3):
        _value("daemon", "start")
        _value("daemon", "stop")
        assert not (home / "daemon.lock").exists()
    # Somebody else's pid in a file that nobody holds: what a killed daemon leaves, once its pid is used again.
    (home / "daemon.lock").write_text(f"{os.getpid()}\n")

    assert _value("daemon", "stop") == {"was_running": False, "stopped": []}
    assert _value("seat", "list")


def test_the_log_is_checked_and_rebuilt_with_a_daemon_and_without(throwaway_home: Path) -> None:
    seat = _seat(throwaway_home)
    _value("send", seat, "--wait", "hello")

    for stop in (False, True):
        if stop:
            _value("daemon", "stop", "--harnesses")
        checked, rebuilt = _value("store", "check"), _value("store", "rebuild")
        assert checked["ok"]
        assert checked["events"] == checked["last_position"] > 5
        assert rebuilt["rebuilt"]
        assert checked.get("offline", False) is stop


def test_a_seat_is_explained_probed_and_found_well(throwaway_home: Path) -> None:
    seat = _seat(throwaway_home)
    _value("send", seat, "--wait", "hello")

    explained = _value("explain", seat)
    assert any(line.get("won") for line in explained["evidence"])
    assert "because" in inspan("explain", seat).out
    assert _value("harness", "probe", HARNESS)["installed"] == "yes"
    assert inspan("doctor").status == 0
    assert "scripted" in inspan("seat", "list").out


@pytest.mark.requirement("H-N51")
def test_a_harness_that_is_only_a_file_in_the_operator_s_folder_is_seated_like_any_other(
    throwaway_home: Path,
) -> None:
    folder = Path(os.environ["INSPAN_HOME"]) / "harnesses" / "mine"
    folder.mkdir(parents=True)
    (folder.parent.parent).chmod(0o700)
    (folder / "manifest.toml").write_text(
        f'schema = 1\nid = "mine"\nname = "My own"\nextends = "{HARNESS}"\n'
    )

    assert "My own" in inspan("harness", "list").out
    ending = _value("run", "--harness", "mine", "--workspace", str(throwaway_home / "w"), "hello")

    assert ending["turn"]["outcome"] == "completed"
    assert "mine" in inspan("__complete", "seat", "add", "x", "--harness", "").out


BAD_INPUT: list[tuple[list[str], int, str]] = [
    (["seat", "add", "x", "--harness", "nonsense"], 3, "unknown_harness"),
    (["seat", "add", "x", "--harness", HARNESS, "--mode", "nonsense"], 3, "unknown_mode"),
    (["seat", "add", "x", "--harness", HARNESS, "--workspace", "/nowhere"], 2, "workspace_missing"),
    (["seat", "add", "x", "--harness", HARNESS, "--workspace", "/dev/null"], 2, "workspace_not_a_folder"),
    (["seat", "add", "x", "--harness", HARNESS, "--sandbox", "read_only"], 2, "posture_unsupported"),
    (["seat", "add", "UPPER CASE", "--harness", HARNESS], 2, "invalid_argument"),
    (["seat", "show", "nobody"], 3, "unknown_seat"),
    (["send", "nobody", "hello"], 3, "unknown_seat"),
    (["stop", "nobody"], 3, "unknown_seat"),
    (["turns", "nobody"], 3, "unknown_seat"),
    (["permissions", "nobody"], 3, "unknown_seat"),
    (["watch", "nobody"], 3, "unknown_seat"),
    (["explain", "nobody"], 3, "unknown_seat"),
    (["approve", "p_nothing"], 3, "unknown_permission"),
    (["delivery", "show", "d_nothing"], 3, "unknown_delivery"),
    (["harness", "show", "nonsense"], 3, "unknown_harness"),
    (["harness", "probe", "nonsense"], 3, "unknown_harness"),
    (["harness", "replay", HARNESS, "/nowhere"], 22, "recording_invalid"),
    (["harness", "replay", "nonsense", "/nowhere"], 3, "unknown_harness"),
    (["harness", "trust", HARNESS], 2, "invalid_argument"),
]


def test_bad_input_is_named_with_the_next_step_and_does_nothing() -> None:
    for words, status, code in BAD_INPUT:
        error = _value(*words, status=status)["error"]
        assert (words, error["code"]) == (words, code)
        assert error["message"], words
        assert error["hint"], words

    assert _value("seat", "list") == []
    assert _value("daemon", "status")["last_position"] == 0


def test_a_home_that_cannot_be_used_is_named_with_what_to_do(throwaway_home: Path) -> None:
    (throwaway_home / "file").write_text("")
    (throwaway_home / "log").mkdir(mode=0o700)
    (throwaway_home / "log" / "log.db").write_bytes(b"no database at all" * 100)
    (throwaway_home / "open").mkdir()
    (throwaway_home / "open").chmod(0o777)
    expected = {
        "file": (2, "invalid_argument"),
        "x" * 100: (20, "socket_path_too_long"),
        "open": (20, "home_insecure"),
        "log": (21, "store_corrupt"),
    }

    for name, (status, code) in expected.items():
        error = _value("--home", str(throwaway_home / name), "seat", "list", status=status)["error"]
        assert (error["code"], bool(error["hint"])) == (code, True)


def test_a_harness_is_started_and_stopped_and_each_is_waited_for(throwaway_home: Path) -> None:
    seat = _seat(throwaway_home)

    started = _value("start", seat, "--wait", "--timeout", str(DEADLINE_S))
    stopped = _value("stop", seat, "--wait", "--timeout", str(DEADLINE_S))

    assert started["launch"]["status"] == "ready"
    assert (stopped["status"], stopped["launch"]["status"]) == ("stopped", "ended")
    assert not Path(f"/proc/{started['launch']['pid']}").exists()
    # Once more: what has ended already is not waited for.
    assert _value("stop", seat, "--wait")["status"] == "stopped"


def test_a_seat_whose_harness_is_not_there_is_told_at_once_and_a_start_of_it_fails(
    throwaway_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSPAN_PROGRAM_DEMO", "/no/such/program")
    seat = _seat(throwaway_home)

    result = inspan("start", seat, "--wait", "--timeout", str(DEADLINE_S))

    assert result.status == 23
    assert sum("/no/such/program" in line for line in result.err.splitlines()) == 1
    assert "next: Correct INSPAN_PROGRAM_DEMO" in result.err


@pytest.mark.parametrize("more", [[], ["worker", "--until", "idle"]])
def test_a_type_of_event_that_does_not_exist_is_refused_with_those_that_are_near(
    throwaway_home: Path, more: list[str]
) -> None:
    _seat(throwaway_home)

    error = _value("watch", *more, "--types", "turn_end", status=2)["error"]

    assert "Did you mean 'turn_ended'" in error["message"]


def test_the_past_of_a_quiet_seat_is_left_at_once_though_others_were_heard_of_since(
    throwaway_home: Path,
) -> None:
    seat = _seat(throwaway_home)
    _value("seat", "add", "other", "--harness", HARNESS, "--workspace", str(throwaway_home / "w"))

    # Shorter than the 15 seconds between a stream's signs of life, which must not be what is waited for.
    result = inspan("--json", "watch", seat, "--after", "0", "--until", "idle", "--timeout", "10")

    assert (result.status, [one["type"] for one in result.values]) == (0, ["seat_added"])


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_a_recording_is_replayed_to_one_line_a_report_and_a_summary(recording: Path) -> None:
    result = inspan("harness", "replay", recording.parts[-3], str(recording))

    assert result.status == 0
    *reports, last = result.values
    assert all("report" in one for one in reports)
    assert set(last) == {"summary"}
    assert all(turn["outcome"] for turn in last["summary"]["turns"])
    if last["summary"]["turns"]:
        assert len(reports) > 10
        assert last["summary"]["sessions"]
    else:
        # Recorded where nobody was signed in: it ends as the harness says so.
        assert reports[-1]["report"]["body"]["error"]["code"] == "auth_required"
    assert isinstance(last["summary"]["permissions"], list)


def test_the_demonstration_holds_and_leaves_nothing_behind() -> None:
    shown = _value("demo")

    assert shown["ok"], shown
    assert len(shown["checks"]) == 6
    assert all(check["is_ok"] for check in shown["checks"])
    folder = Path(shown["checks"][-1]["fact"].removesuffix(" is removed"))
    assert folder.name.startswith("isp-")
    assert not folder.exists()


@pytest.mark.requirement("H-B35")
def test_what_failed_in_a_seat_stands_in_the_output_for_people(throwaway_home: Path) -> None:
    seat = _seat(throwaway_home)
    _value("send", seat, "--wait", "crash", status=13)
    _until(lambda: _value("seat", "show", seat)["status"] == "exited", "the harness is gone")

    shown = inspan("seat", "show", seat)
    assert shown.status == 0
    assert "exited with status 3" in shown.out
    assert "failed" in inspan("seat", "list").out
