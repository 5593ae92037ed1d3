"""The daemon's own log: bounded, private, one line a record, and never a reason to stop."""

import logging
import os
import stat
import sys
from pathlib import Path

import pytest

from inspan.daemon import logs
from inspan.home import Home, locate_home, prepare_home


@pytest.fixture
def home() -> Home:
    return prepare_home(locate_home())


def test_the_log_is_bounded_and_private_and_its_lines_are_whole(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_FILE_BYTES", 2000)

    for _ in range(2):
        with logs.open_logs(home):
            for number in range(100):
                logging.getLogger("test").warning("number %d\nwith a second line \x1b[31m", number)

    files = sorted(home.path.glob("daemon.log*"))
    assert [file.name for file in files] == ["daemon.log", "daemon.log.1", "daemon.log.2", "daemon.log.3"]
    for file in files:
        assert file.stat().st_size <= 2000
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        for line in file.read_text(encoding="utf-8").splitlines():
            assert line.endswith(r"with a second line \x1b[31m")
    assert "number 99" in home.log_file.read_text(encoding="utf-8").splitlines()[-1]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk without room")
def test_a_full_disk_costs_the_line_and_nothing_else(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home.log_file.symlink_to("/dev/full")
    monkeypatch.setattr(logs, "_FILE_BYTES", 100)

    with logs.open_logs(home):
        for number in range(3):
            logging.getLogger("test").warning("lost %d", number)
        home.log_file.unlink()
        logging.getLogger("test").warning("kept %s", "x" * 100)

    assert "kept" in home.log_file.read_text(encoding="utf-8")
    assert capsys.readouterr().err == ""


def test_a_line_after_half_a_line_begins_a_new_one(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    shortened = [True]

    def write_half_once(handle: int, data: bytes) -> int:
        return write(handle, data[:10] if shortened and shortened.pop() else data)

    with logs.open_logs(home):
        monkeypatch.setattr(os, "write", write_half_once)
        logging.getLogger("test").warning("one")
        logging.getLogger("test").warning("two")
        monkeypatch.undo()

    lines = home.log_file.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2
    assert lines[1].endswith("WARNING test: two")


@pytest.mark.requirement("L15")
def test_an_exception_is_a_line_with_its_kind_and_places_and_without_its_words(home: Home) -> None:
    def fail() -> None:
        try:
            {}["s3cret-prompt"]
        except KeyError as error:
            raise ExceptionGroup("s3cret-group", [ValueError("s3cret-id"), error]) from error

    with logs.open_logs(home):
        try:
            fail()
        except ExceptionGroup:
            logging.getLogger("test").exception("it failed")

    (line,) = home.log_file.read_text(encoding="utf-8").splitlines()
    for kind in ("KeyError", "ValueError", "ExceptionGroup", "test_logs.py", "fail"):
        assert kind in line
    assert "s3cret" not in line


def test_logging_is_as_it_was_afterwards(home: Home) -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers))

    with logs.open_logs(home, is_shown=True):
        assert sys.stderr

    assert (root.level, list(root.handlers)) == before
