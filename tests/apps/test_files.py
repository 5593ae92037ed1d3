"""Shared files are whole or as they were; one process at a time changes them, and a dead one hinders nobody."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.apps.files import LockHeld, locked, read_json, write_atomically, write_json
from inspan.apps.processes import birth_of

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="isp-") as path:
        yield Path(path)


def _left_lock(path: Path, content: object, *, age_s: float = 0) -> None:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    then = time.time() - age_s
    os.utime(path, (then, then))


def _dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-I", "-c", "pass"])
    process.wait()
    return process.pid


def _milliseconds_ago(seconds: float) -> int:
    return int((time.time() - seconds) * 1000)


def test_while_one_holds_the_lock_another_gives_up_and_names_the_holder(folder: Path) -> None:
    with (
        locked(folder / "one.lock"),
        pytest.raises(LockHeld, match=f"process {os.getpid()}"),
        locked(folder / "one.lock", timeout_s=0),
    ):
        pytest.fail("two hold it")


def test_a_lock_that_is_given_back_leaves_nothing_behind(folder: Path) -> None:
    with locked(folder / "one.lock"):
        assert json.loads((folder / "one.lock").read_text())["pid"] == os.getpid()
    assert list(folder.iterdir()) == []


def test_a_lock_is_given_back_when_its_block_fails(folder: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(folder / "one.lock"):
        _ = 1 / 0
    with locked(folder / "one.lock", timeout_s=0):
        pass


@pytest.mark.parametrize(
    ("content", "age_s"),
    [
        pytest.param("DEAD", 0, id="its process is gone"),
        pytest.param(
            {"pid": os.getpid(), "birth": "another boot:1", "at": _milliseconds_ago(0)},
            0,
            id="its pid is another's now",
        ),
        pytest.param("{", 31, id="nobody could read it for 30 seconds"),
        pytest.param("", 31, id="it is empty and old"),
        pytest.param("[1]", 31, id="it is no object and old"),
        pytest.param(
            {"pid": os.getpid(), "at": _milliseconds_ago(301)}, 301, id="it is older than 300 seconds"
        ),
        pytest.param(
            {"pid": os.getpid(), "at": "2020-01-01T00:00:00Z"}, 301, id="its time is in ISO 8601 and old"
        ),
        pytest.param({"pid": 2**40, "at": 0}, 0, id="its pid cannot be one"),
    ],
)
def test_a_lock_that_nobody_holds_any_more_is_broken(folder: Path, content: object, age_s: float) -> None:
    path = folder / "one.lock"
    _left_lock(
        path, {"pid": _dead_pid(), "at": _milliseconds_ago(0)} if content == "DEAD" else content, age_s=age_s
    )
    with locked(path, timeout_s=0):
        assert json.loads(path.read_text())["pid"] == os.getpid()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "age_s"),
    [
        pytest.param({"pid": os.getpid(), "at": _milliseconds_ago(200)}, 200, id="of a live process"),
        pytest.param({"pid": os.getpid(), "at": _milliseconds_ago(1000)}, 0, id="kept fresh by its holder"),
        pytest.param(
            {"pid": os.getpid(), "birth": birth_of(os.getpid()), "at": 0}, 10, id="with the right start time"
        ),
        pytest.param("{", 5, id="that is just being written"),
    ],
)
def test_a_lock_that_may_be_held_is_left_alone(folder: Path, content: object, age_s: float) -> None:
    path = folder / "one.lock"
    _left_lock(path, content, age_s=age_s)
    before = path.read_text()
    with pytest.raises(LockHeld), locked(path, timeout_s=0):
        pytest.fail("it was taken")
    assert path.read_text() == before


def test_a_lock_stays_fresh_while_its_holder_says_so(folder: Path) -> None:
    path = folder / "one.lock"
    with locked(path) as lock:
        then = time.time() - 400
        os.utime(path, (then, then))
        lock.renew()
        with pytest.raises(LockHeld), locked(path, timeout_s=0):
            pytest.fail("two hold it")


def test_whoever_lost_an_old_lock_does_not_take_the_next_holders_away(folder: Path) -> None:
    path = folder / "one.lock"
    with locked(path):
        path.unlink()
        _left_lock(path, {"pid": os.getpid(), "at": _milliseconds_ago(0)})
    assert path.exists()


def test_a_file_system_without_hard_links_has_locks_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr("inspan.apps.files.os.link", refuse)
    path = folder / "one.lock"
    with locked(path):
        assert json.loads(path.read_text())["pid"] == os.getpid()
        with pytest.raises(LockHeld), locked(path, timeout_s=0):
            pytest.fail("two hold it")
    assert list(folder.iterdir()) == []


_COUNT = """
import sys
from pathlib import Path
from inspan.apps.files import locked, read_json, write_json
folder = Path(sys.argv[1])
for _ in range(25):
    with locked(folder / "c.lock", timeout_s=60):
        write_json(folder / "c.json", {"n": read_json(folder / "c.json")["n"] + 1})
"""


def test_processes_that_count_at_once_lose_no_step_though_a_stale_lock_stood_there(folder: Path) -> None:
    write_json(folder / "c.json", {"n": 0})
    _left_lock(folder / "c.lock", {"pid": _dead_pid(), "at": 0})
    counting = [subprocess.Popen([sys.executable, "-c", _COUNT, str(folder)]) for _ in range(4)]
    assert [one.wait(timeout=90) for one in counting] == [0] * 4
    assert read_json(folder / "c.json") == {"n": 100}
    assert sorted(path.name for path in folder.iterdir()) == ["c.json"]


def test_a_lock_of_a_killed_process_goes_to_the_next_one(folder: Path) -> None:
    hold = (
        "import sys, time; from pathlib import Path; from inspan.apps.files import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
    )
    holder = subprocess.Popen([sys.executable, "-c", hold, str(folder / "k.lock")], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(LockHeld), locked(folder / "k.lock", timeout_s=0):
        pytest.fail("two hold it")
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with locked(folder / "k.lock", timeout_s=0):
        pass


def test_a_reader_never_sees_half_a_file(folder: Path) -> None:
    path = folder / "f.json"
    texts = [json.dumps({"a": letter * 200_000}).encode() for letter in "xy"]
    write_atomically(path, texts[0])
    is_done = threading.Event()

    def write() -> None:
        for turn in range(40):
            write_atomically(path, texts[turn % 2])
        is_done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not is_done.is_set():
        assert path.read_bytes() in texts
    writer.join()
    assert [one.name for one in folder.iterdir()] == ["f.json"]


def test_a_written_file_is_its_owners_alone_unless_something_else_is_asked_for(folder: Path) -> None:
    path = folder / "new" / "f"
    write_atomically(path, b"1")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    path.chmod(0o640)
    write_atomically(path, b"2", keep_mode=True)
    assert path.stat().st_mode & 0o777 == 0o640
    write_atomically(path, b"3", mode=0o644)
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_link_stays_and_its_target_changes(folder: Path) -> None:
    (folder / "real").write_text("old")
    (folder / "link").symlink_to("real")
    write_atomically(folder / "link", b"new")
    assert (folder / "link").is_symlink()
    assert (folder / "real").read_text() == "new"


def test_a_write_that_fails_leaves_the_file_and_no_other(folder: Path) -> None:
    (folder / "f").mkdir()
    with pytest.raises(OSError):
        write_atomically(folder / "f", b"x")
    assert [one.name for one in folder.iterdir()] == ["f"]


@settings(deadline=None)
@given(JSON_VALUES)
def test_json_comes_back_as_it_was_written(value: object) -> None:
    with tempfile.TemporaryDirectory(prefix="isp-") as path:
        write_json(Path(path) / "f.json", value)
        assert read_json(Path(path) / "f.json") == value


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b"\0"])
def test_what_is_no_json_is_a_value_error(folder: Path, content: bytes) -> None:
    (folder / "f").write_bytes(content)
    with pytest.raises(ValueError):
        read_json(folder / "f")
