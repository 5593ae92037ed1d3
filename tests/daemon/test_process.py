"""The daemon as a process: what it says, what it leaves, and how it ends, at whatever instant."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inspan.home import API_VERSION, Home, locate_home
from support.fake_daemon import DEADLINE_S, daemon_process

ALL_GONE = {"launches", "daemon.log"}


@pytest.fixture
def home() -> Home:
    return locate_home()


def first_line(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def left_in(home: Home) -> set[str]:
    return {path.name for path in home.path.iterdir()} if home.path.exists() else set()


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def ask(home: Home, method: str, path: str) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(DEADLINE_S)
        connection.connect(str(home.socket))
        connection.sendall(
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode()
        )
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return json.loads(answer.partition(b"\r\n\r\n")[2])


@pytest.mark.requirement("H-H4", "L15")
def test_it_says_when_it_serves_and_everything_in_the_home_is_private(home: Home) -> None:
    umask = os.umask(0)
    try:
        with daemon_process(home, "--tcp", "127.0.0.1:0") as process:
            ready = first_line(process)
            record = json.loads(home.record.read_text(encoding="utf-8"))
            assert ready == {
                "ready": True,
                "pid": process.pid,
                "socket": str(home.socket),
                "api": API_VERSION,
            }
            assert record["pid"] == process.pid == ask(home, "GET", "/v1/status")["pid"]
            assert record["tcp"].startswith("127.0.0.1:")
            assert home.lock.read_text(encoding="ascii") == f"{process.pid}\n"
            for path in home.path.rglob("*"):
                mode = stat.S_IMODE(path.stat().st_mode)
                assert mode == (0o700 if path.is_dir() else 0o600), path.name
    finally:
        os.umask(umask)


@pytest.mark.requirement("H-H3")
def test_a_second_daemon_is_refused_and_the_first_serves_on(home: Home) -> None:
    with daemon_process(home) as first:
        first_line(first)
        with daemon_process(home) as second:
            error = first_line(second)["error"]
            assert second.wait(DEADLINE_S) == 1
        assert error["code"] == "daemon_running"
        assert error["detail"]["pid"] == first.pid
        assert ask(home, "GET", "/v1/status")["pid"] == first.pid
        log = home.log_file.read_text(encoding="utf-8")
    # Two clients may start one at the same time: that is no fault, and the log does not call it one.
    assert "another daemon serves this home" in log
    assert "ERROR" not in log


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stop_signal_ends_it_with_status_0_and_nothing_left_behind(
    home: Home, number: signal.Signals
) -> None:
    with daemon_process(home) as process:
        first_line(process)
        process.send_signal(number)
        assert process.wait(DEADLINE_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert left_in(home) == ALL_GONE


def test_a_request_to_stop_ends_it_with_status_0_and_nothing_left_behind(home: Home) -> None:
    with daemon_process(home) as process:
        first_line(process)
        assert ask(home, "POST", "/v1/daemon/stop") == {"pid": process.pid}
        assert process.wait(DEADLINE_S) == 0
    assert left_in(home) == ALL_GONE


def test_a_stop_signal_at_any_instant_leaves_nothing_behind(
    throwaway_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From before Python runs to after it serves, once or twice in a row."""
    monkeypatch.setenv("FAKE_DAEMON_SLOW_START_S", "0.02")
    begun = time.monotonic()
    with daemon_process(locate_home()) as process:
        first_line(process)
        start_s = time.monotonic() - begun
    for step in range(16):
        home = locate_home(throwaway_home / f"h{step}")
        with daemon_process(home) as process:
            time.sleep(start_s * 1.15 * step / 16)  # the instant is what is tested, nothing is waited for
            process.terminate()
            if step % 2:
                process.terminate()
            status = process.wait(DEADLINE_S)
            assert process.stderr is not None
            assert process.stderr.read() == ""
        assert left_in(home) <= ALL_GONE
        if status != 0:
            # Before Python has run a line of ours, a signal does what it does to any program.
            assert status == -signal.SIGTERM
            assert not home.path.exists()


def test_a_stop_signal_during_a_long_start_is_heeded_at_once(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_DAEMON_SLOW_START_S", "3600")
    with daemon_process(home) as process:
        wait_for(home.lock.exists)
        process.terminate()
        assert process.wait(DEADLINE_S) == 0
    assert left_in(home) == ALL_GONE


def test_after_kill_9_the_next_daemon_takes_the_home_over(home: Home) -> None:
    with daemon_process(home) as first:
        first_line(first)
        first.kill()
        first.wait()
    assert {"daemon.sock", "daemon.lock", "daemon.json"} <= left_in(home)

    with daemon_process(home) as second:
        assert first_line(second)["pid"] == second.pid
        assert ask(home, "GET", "/v1/status")["pid"] == second.pid


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--tcp", "0.0.0.0:80"], "invalid_argument"),
        (["--home", "/sys/inspan"], "home_read_only"),
        (["--home", "/tmp/" + "x" * 100], "socket_path_too_long"),
    ],
)
def test_what_keeps_it_from_serving_is_its_first_line(home: Home, arguments: list[str], code: str) -> None:
    with daemon_process(home, *arguments) as process:
        error = first_line(process)["error"]
        assert process.wait(DEADLINE_S) == 1
    assert error["code"] == code
    assert error["hint"]


def test_in_the_foreground_its_log_is_shown_too(home: Home) -> None:
    with daemon_process(home, "--foreground") as process:
        first_line(process)
        process.terminate()
        process.wait(DEADLINE_S)
        assert process.stderr is not None
        shown = process.stderr.read()
    assert "serves as process" in shown
    assert shown == home.log_file.read_text(encoding="utf-8")


def test_the_real_one_heeds_a_stop_signal_at_any_instant_too(throwaway_home: Path) -> None:
    """With the store, the host and the seats behind it instead of the scripted service."""
    command = [sys.executable, "-m", "inspan.daemon", "--home"]
    start_s = 0.0
    for step in range(9):
        home = locate_home(throwaway_home / f"h{step}")
        begun = time.monotonic()
        with subprocess.Popen(
            [*command, str(home.path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            if step == 0:
                assert b"ready" in process.stdout.readline()
                start_s = time.monotonic() - begun
            else:
                time.sleep(start_s * (0.5 + 0.6 * step / 8))  # the instant is what is tested
            process.terminate()
            status = process.wait(DEADLINE_S)
            assert process.stderr.read() == b""
        assert {name for name in left_in(home) if not name.startswith("log.")} <= ALL_GONE
        assert status == 0 or not home.path.exists()


@pytest.mark.requirement("L15")
def test_its_log_names_no_prompt_no_variable_and_no_token(home: Home, throwaway_home: Path) -> None:
    code = (
        "import asyncio, sys, inspan\n"
        "async def main():\n"
        "    async with inspan.connect(start=False) as client:\n"
        f"        await client.add_seat('a', harness='scripted-one', workspace={str(throwaway_home)!r},"
        " environment={'KEY': 's3cret-variable'})\n"
        "        delivery = await client.send('a', 's3cret-prompt', id='s3cret-id')\n"
        "        await client.wait_turn(delivery.id)\n"
        "        try:\n"
        "            await client.get_seat('s3cret-name')\n"
        "        except inspan.model.errors.UsageError:\n"
        "            pass\n"
        "asyncio.run(main())\n"
    )
    with daemon_process(home, "--tcp", "127.0.0.1:0") as process:
        first_line(process)
        subprocess.run([sys.executable, "-c", code], check=True, timeout=DEADLINE_S)
        token = home.token.read_text(encoding="ascii").strip()
        process.terminate()
        process.wait(DEADLINE_S)
    text = home.log_file.read_text(encoding="utf-8")
    assert "serves as process" in text
    assert "s3cret" not in text
    assert token not in text
