"""A pid is not a token; only what is proven is dead."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from inspan.holder import ProcessIdentity, liveness, start_time, this_process
from inspan.holder.program.processes import read_process, send_signal


def failing(number: int):
    def kill(_pid: int, _signal: int) -> None:
        raise OSError(number, os.strerror(number))

    return kill


def test_this_process_is_alive() -> None:
    assert liveness(this_process()) == "alive"


@pytest.mark.requirement("H-H2", "H-N33")
@pytest.mark.parametrize("number", [errno.EPERM, errno.EINVAL, errno.EIO])
def test_every_errno_but_esrch_means_alive(number: int) -> None:
    assert liveness(this_process(), kill=failing(number)) == "alive"


@pytest.mark.requirement("H-H2")
def test_esrch_means_dead() -> None:
    assert liveness(this_process(), kill=failing(errno.ESRCH)) == "dead"


@pytest.mark.requirement("H-H1", "H-N32")
def test_another_start_time_under_the_pid_means_dead() -> None:
    earlier = ProcessIdentity(pid=os.getpid(), start_time="another-boot:1")
    assert liveness(earlier) == "dead"


@pytest.mark.requirement("H-H2")
def test_a_process_whose_start_time_cannot_be_read_is_not_dead() -> None:
    nobody = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    identity = ProcessIdentity(pid=int(nobody.stdout), start_time="x")
    assert liveness(identity, kill=failing(errno.EPERM)) == "unknown"
    assert liveness(identity) == "dead"


def test_a_process_that_has_ended_but_was_not_collected_is_dead() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        identity = ProcessIdentity(pid=child.pid, start_time=start_time(child.pid) or "")
        assert liveness(identity) == "alive"
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert liveness(identity) == "dead"


@pytest.mark.requirement("H-H1")
def test_a_signal_never_goes_to_a_later_user_of_the_pid() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        row = read_process(child.pid)
        assert row is not None
        row.start_time = "another-boot:1"
        assert not send_signal(row, 9)
        assert child.poll() is None
        child.kill()


def test_no_pid_below_one_is_ever_asked_about() -> None:
    with pytest.raises(ValueError, match="positive"):
        liveness(ProcessIdentity(pid=-1, start_time="x"))
