"""How a harness ends: asked in steps or by itself, its output read to the end, nothing left behind."""

from __future__ import annotations

import errno
import os
import signal
import time

from .folder import now, write_record
from .processes import family_of, liveness, process_table, send_signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .input import Input
    from .output import ErrorOutput, Log, Output
    from .processes import Process
    from .ptys import Pty

__all__ = ["Ending"]

HANG_UP_S = 1.0  # how long a program in a terminal has to heed its hang-up before it is terminated
DRAIN_S = 2.0  # how long the output is read after the exit, if something left behind keeps it open
SWEEP_GRACE_S = 1.0
GIVE_UP_S = 5.0
POLL_S = 0.05


class Ending:
    """The end of one harness.

    The harness is not collected before all is done: until then its pid is nobody else's, so the group of
    that number is proven ours.

    Attributes:
        exit: `exit_code` or `signal`, and `at`; None while the harness runs.
        finished_at: When all was done and recorded (monotonic).
    """

    def __init__(
        self,
        directory: str,
        pid: int,
        source: Input,
        output: Output,
        errors: ErrorOutput,
        log: Log,
        pty: Pty | None = None,
    ) -> None:
        self.exit: dict[str, Any] | None = None
        self.finished_at: float | None = None
        self.is_leaving = False  # the holder itself was told to go
        self._directory = directory
        self._pid = pid
        self._input = source
        self._output = output
        self._errors = errors
        self._log = log
        self._pty = pty
        self._steps: list[tuple[float, int]] = []
        self._is_asked = False
        self._exited_at = 0.0
        self._is_saved = False
        self._strays: dict[int, Process] = {}  # descendants in groups of their own, seen while stopping
        self._sweep_until: float | None = None
        self._is_swept = False

    def stop(self, eof_grace_s: float, term_grace_s: float) -> None:
        """End of input, then SIGTERM, then SIGKILL to the group. A second call may hurry, never delay.

        The input of a terminal has no end: instead, SIGHUP comes at once, as from a terminal that is closed, and
        SIGTERM a moment later, so that who heeds the first can end in its own way.
        """
        if self.exit is not None:
            return
        self._is_asked = True
        self._input.close()
        wait_s = eof_grace_s if self._pty is None else min(HANG_UP_S, term_grace_s)
        terminate_at = time.monotonic() + wait_s
        steps = [(terminate_at, int(signal.SIGTERM)), (terminate_at + term_grace_s, int(signal.SIGKILL))]
        if self._pty is not None:
            steps.insert(0, (terminate_at - wait_s, int(signal.SIGHUP)))
        if self._steps:
            steps = [min(pair) for pair in zip(self._steps, steps[-len(self._steps) :], strict=True)]
        self._steps = steps

    def wakes_at(self) -> float | None:
        """When `advance` must be called next (monotonic), or None."""
        if self.exit is not None:
            return None if self.finished_at is not None else time.monotonic() + POLL_S
        return self._steps[0][0] if self._steps else None

    def collect(self) -> None:
        """See whether the harness has ended."""
        if self.exit is not None:
            return
        if hasattr(os, "waitid"):
            info = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if info is None:
                return
            is_signal, status = info.si_code != os.CLD_EXITED, info.si_status
        else:
            pid, raw = os.waitpid(self._pid, os.WNOHANG)
            if pid == 0:
                return
            is_signal = os.WIFSIGNALED(raw)
            status = os.WTERMSIG(raw) if is_signal else os.WEXITSTATUS(raw)
        self.exit = {
            "exit_code": None if is_signal else status,
            "signal": status if is_signal else None,
            "at": now(),
        }
        self._log.write(f"harness ended: {'signal' if is_signal else 'code'} {status}")
        self._exited_at = time.monotonic()
        self._steps.clear()
        self._input.close()
        self._output.is_last = True
        if self._pty is not None:
            self._pty.let_go()
        self._save()

    def advance(self, now_s: float) -> None:
        """Do what is due."""
        while self._steps and self._steps[0][0] <= now_s:
            self._signal(self._steps.pop(0)[1])
        if self.exit is None or self.finished_at is not None:
            return
        ended_s = now_s - self._exited_at
        is_drained = self._output.handle < 0 and self._errors.handle < 0
        is_drained = is_drained or (ended_s >= DRAIN_S and not self._output.stalled)
        if not self._is_swept and (self._is_asked or is_drained):
            self._sweep(now_s)
        # Without its folder nobody will ever read what this launch still has to say.
        gives_up = ended_s >= GIVE_UP_S and (self.is_leaving or not os.path.isdir(self._directory))
        if self._is_swept and ((is_drained and not self._output.journal.pending) or gives_up):
            self.exit["end"] = self._output.journal.end
            self._save()
            if self._is_saved or gives_up:
                self._finish(now_s)

    def _signal(self, number: int) -> None:
        for row in family_of(self._pid, process_table()):
            if row.group != self._pid:
                self._strays[row.pid] = row
        try:
            os.killpg(self._pid, number)
        except OSError as error:
            if error.errno != errno.ESRCH:
                self._log.write(f"signal {number}: {os.strerror(error.errno or errno.EIO)}")
        for row in self._strays.values():
            send_signal(row, number)

    def _sweep(self, now_s: float) -> None:
        left = [row for row in family_of(self._pid, process_table()) if row.group == self._pid]
        left += [row for row in self._strays.values() if liveness(row.pid, row.start_time) != "dead"]
        if left and self._sweep_until is None:
            self._log.write(f"stopping {len(left)} processes that the harness left behind")
            self._sweep_until = now_s + SWEEP_GRACE_S
            self._signal(signal.SIGTERM)
        elif left and self._sweep_until is not None and now_s >= self._sweep_until:
            self._signal(signal.SIGKILL)
        # What even SIGKILL cannot end hangs in the kernel: no reason to hang as well.
        if not left or (self._sweep_until is not None and now_s >= self._sweep_until + GIVE_UP_S):
            self._is_swept = True

    def _save(self) -> None:
        was_saved, self._is_saved = self._is_saved, True
        try:
            write_record(self._directory, "exit.json", self.exit or {})
        except OSError as error:
            self._is_saved = False
            if was_saved:
                self._log.write(f"exit not recorded: {os.strerror(error.errno or errno.EIO)}")

    def _finish(self, now_s: float) -> None:
        self.finished_at = now_s
        if hasattr(os, "waitid"):
            os.waitpid(self._pid, 0)
        self._output.close()
        self._errors.close()
