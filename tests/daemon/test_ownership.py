"""Ownership: one daemon a home, proved by a lock that dies with its holder."""

import socket
import subprocess
import sys

import pytest

from inspan.daemon.ownership import hold_home
from inspan.home import Home, locate_home, prepare_home
from inspan.model.errors import HostError

HOLD = (
    "import sys; from inspan.home import locate_home; from inspan.daemon.ownership import hold_home\n"
    "with hold_home(locate_home()):\n"
    "    print('held', flush=True); sys.stdin.read()\n"
)


@pytest.fixture
def home() -> Home:
    return prepare_home(locate_home())


def start_holder() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.requirement("H-H3")
def test_a_second_owner_is_refused_and_told_who_the_first_is(home: Home) -> None:
    with start_holder() as first:
        try:
            with pytest.raises(HostError) as caught, hold_home(home):
                pass
            assert caught.value.code == "daemon_running"
            assert caught.value.detail["pid"] == first.pid
            assert home.lock.exists(), "the refused one removed nothing"
        finally:
            first.kill()


@pytest.mark.requirement("H-H1")
def test_a_dead_owners_lock_holds_nobody_whatever_pid_it_names(home: Home) -> None:
    with start_holder() as first:
        first.kill()
    home.lock.write_text("1\n", encoding="ascii")  # a pid that lives

    with hold_home(home):
        assert home.lock.exists()


def test_nothing_is_left_of_an_owner_that_ended(home: Home) -> None:
    with hold_home(home):
        pass

    assert [path.name for path in home.path.iterdir()] == ["launches"]


def test_owners_that_follow_each_other_closely_never_hold_the_home_together(home: Home) -> None:
    """The lock's file is removed at each end: whoever still waits for the removed one must not count as owner."""
    code = (
        "import sys, os; from inspan.home import locate_home; from inspan.daemon.ownership import hold_home\n"
        "from inspan.model.errors import HostError\n"
        "mark = locate_home().path / 'mark'\n"
        "won = 0\n"
        "while won < 40:\n"
        "    try:\n"
        "        with hold_home(locate_home()):\n"
        "            os.close(os.open(mark, os.O_CREAT | os.O_EXCL)); os.unlink(mark); won += 1\n"
        "    except HostError as error:\n"
        "        assert error.code == 'daemon_running', error\n"
    )
    rivals = [
        subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) for _ in range(3)
    ]
    for rival in rivals:
        _, errors = rival.communicate(timeout=60)
        assert rival.returncode == 0, errors


def test_the_socket_of_a_dead_owner_is_removed(home: Home) -> None:
    left_over = socket.socket(socket.AF_UNIX)
    left_over.bind(str(home.socket))
    left_over.close()

    with hold_home(home):
        assert not home.socket.exists()


@pytest.mark.requirement("H-H3")
def test_a_socket_that_answers_is_never_taken_over_even_where_nobody_holds_the_lock(home: Home) -> None:
    with socket.socket(socket.AF_UNIX) as alive:
        alive.bind(str(home.socket))
        alive.listen()

        with pytest.raises(HostError) as caught, hold_home(home):
            pass

        assert caught.value.code == "daemon_running"
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(home.socket))


def test_something_that_is_no_socket_is_not_removed(home: Home) -> None:
    home.socket.write_text("somebody's", encoding="ascii")

    with pytest.raises(HostError) as caught, hold_home(home):
        pass

    assert "not a socket" in caught.value.message
    assert home.socket.read_text(encoding="ascii") == "somebody's"
