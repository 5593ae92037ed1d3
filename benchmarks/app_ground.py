"""The reference app, served by a process of its own, for benchmarks of the programs that operate it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

__all__ = ["AppGround", "open_app"]


class AppGround(NamedTuple):
    """An app that answers.

    Attributes:
        folder: The app.
        port: Where.
        pid: Its process.
        environment: What the programs are run in.
        process: The same. Each line on its standard input queues a task for the capability that it names.
    """

    folder: Path
    port: int
    pid: int
    environment: dict[str, str]
    process: subprocess.Popen[str]

    @property
    def ref(self) -> str:
        """The app as the programs are told it."""
        return str(self.folder)

    def trigger(self, capability: str) -> int:
        """Queues a task, and gives `CLOCK_MONOTONIC` in nanoseconds from just before."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{capability}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


_SERVER = """
import sys, threading, time
from pathlib import Path
from inspan.apps.conformance.reference import make_reference_app, write_folder
folder, port = Path(sys.argv[1]), int(sys.argv[2])
app = make_reference_app(folder)
write_folder(folder, port)
app.open()

def queue():
    for number, line in enumerate(sys.stdin):
        began = time.monotonic_ns()
        app.trigger("card.due_soon", {"n": number}, capability=line.strip(), dedup_key=f"n{number}")
        print(began, flush=True)

threading.Thread(target=queue, daemon=True).start()
app.serve(port=port)
"""


@contextlib.contextmanager
def open_app() -> Generator[AppGround]:
    """Serves the app for the block, in a home of its own."""
    with tempfile.TemporaryDirectory(prefix="isp-") as place:
        folder = Path(place) / "board"
        folder.mkdir()
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = int(one.getsockname()[1])
        environment = {**os.environ, "A2APP_HOME": str(Path(place) / "home")}
        process = subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(folder), str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        try:
            _wait_for(port, process)
            yield AppGround(folder, port, process.pid, environment, process)
        finally:
            process.terminate()
            process.communicate(timeout=30)


def _wait_for(port: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise RuntimeError("the app did not start")
