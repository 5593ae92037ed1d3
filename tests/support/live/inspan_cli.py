"""Drive Inspan by its own command line, inside the arena, as an operator does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any, TypeVar

from support.live.arena import Arena

__all__ = ["InspanCli", "Json", "spoken_text"]

Json = dict[str, Any]
T = TypeVar("T")

_DEADLINE_S = 90.0
_POLL_S = 0.1


class InspanCli:
    """Runs `inspan` in an arena and reads its `--json` output: one JSON value a line.

    The daemon starts by itself with the first command, inside the namespace like everything else.
    """

    def __init__(self, arena: Arena) -> None:
        self.arena = arena

    def call(self, *arguments: str, exit_status: int | None = 0) -> Json:
        """Run one command and return its last line; `exit_status=None` accepts any."""
        done = self.arena.run(["inspan", *arguments, "--json"], timeout_s=_DEADLINE_S)
        said = f"inspan {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert exit_status is None or done.returncode == exit_status, said
        lines = done.stdout.splitlines()
        assert lines, said
        return json.loads(lines[-1])

    def add_seat(self, name: str, harness: str, *options: str) -> Json:
        """Add a seat on the arena's workspace, with further options of `inspan seat add`."""
        workspace = str(self.arena.workspace)
        return self.call("seat", "add", name, "--harness", harness, "--workspace", workspace, *options)

    def send(self, seat: str, text: str) -> Json:
        """Queue a prompt; return the delivery."""
        return self.call("send", seat, text)

    def send_and_wait(self, seat: str, text: str) -> Json:
        """Send a prompt and return the delivery once its turn ended, however it ended."""
        return self.call("send", seat, text, "--wait", exit_status=None)["delivery"]

    def seat(self, name: str) -> Json:
        """Read a seat."""
        return self.call("seat", "show", name)

    def daemon(self) -> Json:
        """Read the daemon's status."""
        return self.call("daemon", "status")

    def events(self) -> list[Json]:
        """Read every event in the log, in order, from a fresh stream."""
        last = int(self.daemon()["last_position"])
        watch = self.arena.start(["inspan", "watch", "--after", "0", "--json"], stderr=subprocess.DEVNULL)
        try:
            assert watch.stdout is not None
            found: list[Json] = []
            while not found or found[-1]["position"] < last:
                line = watch.stdout.readline()
                assert line, f"the stream ended at {found[-1:]}, before {last}"
                found.append(json.loads(line))
            return found
        finally:
            _end(watch)

    def until(self, look: Callable[[], T | None], what: str) -> T:
        """Look again and again until there is something other than `None` or `False`."""
        deadline = time.monotonic() + _DEADLINE_S
        while True:
            seen = look()
            if seen is not None and seen is not False:
                return seen
            assert time.monotonic() < deadline, f"{what} did not happen"
            time.sleep(_POLL_S)

    def until_turn_ended(self, seat: str, delivery: str) -> Json:
        """Wait until the newest turn of `seat` is the ended one of `delivery`, and return it."""

        def ended() -> Json | None:
            turn = self.seat(seat).get("last_turn")
            return turn if turn and turn["delivery"] == delivery and turn.get("outcome") else None

        return self.until(ended, f"the end of the turn of {delivery}")

    def until_permission(self, seat: str) -> str:
        """Wait for an open permission request and return its id."""

        def asked() -> str | None:
            needs = self.seat(seat).get("needs_input", [])
            return next(
                (need["request"] for need in needs if need["kind"] == "permission" and "request" in need),
                None,
            )

        return self.until(asked, "a permission request")

    def until_spoken(self, word: str) -> None:
        """Wait until the harness has said `word`, as far as the log knows."""
        self.until(lambda: word in spoken_text(self.events()), f"the word {word}")

    def kill_daemon(self) -> None:
        """Kill the daemon with SIGKILL and wait until it is gone."""
        self._kill(int(self.daemon()["pid"]))

    def kill_harness(self, seat: str) -> None:
        """Kill a seat's harness with SIGKILL and wait until it is gone.

        The whole group: the process that a launch starts may be a small one that runs the harness as its child.
        """
        self._kill(int(self.seat(seat)["launch"]["pid"]), kill=os.killpg)

    def _kill(self, pid: int, *, kill: Callable[[int, int], None] = os.kill) -> None:
        assert pid in self.arena.namespace.pids()
        kill(pid, signal.SIGKILL)
        self.until(lambda: pid not in self.arena.namespace.pids(), f"the end of {pid}")


def spoken_text(events: list[Json], *, turn: str | None = None) -> str:
    """Join the words that the harness said, in one turn or in all; what it told again is left out."""
    return "".join(
        envelope["event"].get("text", "")
        for envelope in events
        if envelope["type"] == "message_chunk"
        and envelope["event"]["role"] == "agent"
        and not envelope["event"].get("replay")
        and (turn is None or envelope.get("turn") == turn)
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
