"""Autostart: a daemon is there when it is needed, one and not two, and what prevents it is said."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path

import psutil
import pytest

import inspan
from inspan.client.autostart import ensure_daemon, is_serving
from inspan.daemon.ownership import hold_home
from inspan.home import Home, locate_home, prepare_home
from inspan.model.errors import HostError, InspanError
from support.fake_daemon import DEADLINE_S


@pytest.fixture
def home() -> Generator[Home]:
    """A home whose daemon, if one was started, is stopped at the end."""
    place = locate_home()
    yield place
    for process in daemons_of(place):
        process.terminate()
        process.wait(DEADLINE_S)


def daemons_of(home: Home) -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for process in psutil.process_iter(["cmdline"]):
        command: list[str] = process.info["cmdline"] or []
        if "inspan.daemon" in command and str(home.path) in command:
            found.append(process)
    return found


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_connect_starts_the_daemon_that_then_outlives_the_program(home: Home) -> None:
    code = (
        "import asyncio, inspan\n"
        "async def main():\n"
        "    async with inspan.connect() as client:\n"
        "        print((await client.status()).pid)\n"
        "asyncio.run(main())\n"
    )
    first = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    second = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    (daemon,) = daemons_of(home)
    assert first.stdout == second.stdout == f"{daemon.pid}\n"
    assert os.getsid(daemon.pid) != os.getsid(0), "a terminal that is closed does not take it along"
    assert daemon.cwd() == str(home.path)
    assert daemon.parent() is None or daemon.ppid() != os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_daemon_holds_none_of_its_starters_files(home: Home) -> None:
    ensure_daemon(home)
    (daemon,) = daemons_of(home)
    links = {number: os.readlink(f"/proc/{daemon.pid}/fd/{number}") for number in (0, 1)}
    assert links == {0: os.devnull, 1: os.devnull}


def test_many_starters_at_once_find_one_daemon(home: Home) -> None:
    started: list[bool] = []
    threads = [threading.Thread(target=lambda: started.append(ensure_daemon(home))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(started) == [False, False, False, True]
    assert len(daemons_of(home)) == 1
    assert ensure_daemon(home) is False


def test_a_daemon_that_was_killed_is_replaced(home: Home) -> None:
    ensure_daemon(home)
    (first,) = daemons_of(home)
    first.kill()
    wait_for(lambda: not is_serving(home))

    assert ensure_daemon(home)
    (second,) = daemons_of(home)
    assert second.pid != first.pid


def test_the_library_stops_and_starts_it(home: Home) -> None:
    async def test() -> None:
        async with inspan.connect() as client:
            pid = (await client.status()).pid
            await client.stop_daemon()
            assert not is_serving(home)
        async with inspan.connect() as client:
            assert (await client.status()).pid != pid

    asyncio.run(test())


def test_what_keeps_the_daemon_from_starting_is_raised_as_it_is(home: Home) -> None:
    prepare_home(home)
    home.database.write_bytes(b"this is not a database, and long enough to be read as one" * 100)
    home.database.chmod(0o600)

    with pytest.raises(InspanError) as caught:
        ensure_daemon(home)

    assert caught.value.code == "store_corrupt"
    assert caught.value.group == "store"
    assert not home.lock.exists()


def test_a_home_that_cannot_be_used_is_refused_before_anything_is_started(throwaway_home: Path) -> None:
    folder = throwaway_home / "inspan"
    folder.mkdir()
    folder.chmod(0o777)

    with pytest.raises(HostError) as caught:
        ensure_daemon(locate_home())

    assert caught.value.code == "home_insecure"
    assert list(folder.iterdir()) == []


def test_a_daemon_that_dies_before_it_says_anything_leaves_its_reason_in_the_log(
    home: Home, throwaway_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = throwaway_home / "broken" / "inspan"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('half an installation')", encoding="ascii")
    monkeypatch.setenv("PYTHONPATH", str(broken.parent))

    with pytest.raises(HostError) as caught:
        ensure_daemon(home)

    assert caught.value.code == "daemon_unreachable"
    assert str(home.log_file) in caught.value.hint
    assert "half an installation" in home.log_file.read_text(encoding="utf-8")


def test_an_owner_that_never_serves_is_waited_for_and_then_named(home: Home) -> None:
    prepare_home(home)
    with hold_home(home), pytest.raises(HostError) as caught:
        ensure_daemon(home, timeout_s=2.0)

    assert caught.value.code == "daemon_unreachable"
    assert "another process owns it" in caught.value.message


def test_a_module_in_the_current_folder_is_not_the_one_that_is_started(
    home: Home, throwaway_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (throwaway_home / "inspan.py").write_text("raise SystemExit(3)", encoding="ascii")
    monkeypatch.chdir(throwaway_home)

    assert ensure_daemon(home)
