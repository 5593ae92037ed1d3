"""What does the protocol cost: one operation with all its checks, beside the same function called bare by the same server?"""

from __future__ import annotations

import contextlib
import http.client
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator

from .app_server import TOKEN
from .checkout import ROOT, child_environment
from .figures import Figure, Target
from .scale import Scale

__all__ = ["PEERS", "Caller", "open_server", "run"]

PEERS: tuple[str, ...] = ()

_CALLS_A_ROUND = 1000
_DEADLINE_S = 60.0


def run(scale: Scale) -> list[Figure]:
    """Calls both in turns on one kept connection each; a round's value is the median of a thousand calls."""
    calls = scale.count(_CALLS_A_ROUND, small=20)
    found: dict[str, tuple[list[float], list[float]]] = {"look": ([], []), "add": ([], [])}
    with open_server() as port, Caller(port) as ours, Caller(port) as bare:
        for _ in range(scale.rounds):
            for name, body in (("look", b'{"card": "card"}'), ("add", b'{"title": "A card"}')):
                through, past = _in_turns(ours, bare, name, body, calls)
                found[name][0].append(through)
                found[name][1].append(past)
    return [
        Figure(
            what=what,
            unit="ms",
            ours=found[name][0],
            peer=found[name][1],
            peer_name="the same function called bare",
            target=Target(of="ratio", bound="at most", limit=3),
        )
        for name, what in (
            ("look", "an operation that reads one record, through the protocol"),
            ("add", "an operation that writes one record, through the protocol"),
        )
    ]


class Caller:
    """One kept connection, closed at the end of its block."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_DEADLINE_S)

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def call_ms(self, method: str, path: str, body: bytes | None = None) -> float:
        """Milliseconds from the first byte that is sent to the last that is read.

        Raises:
            RuntimeError: The answer was not 200.
        """
        began = time.perf_counter()
        self._connection.request(method, path, body, {"X-A2App-Token": TOKEN})
        answer = self._connection.getresponse()
        text = answer.read()
        took = (time.perf_counter() - began) * 1000
        if answer.status != 200:
            raise RuntimeError(f"{path} answered {answer.status}: {text[:200]!r}")
        return took


@contextlib.contextmanager
def open_server() -> Generator[int]:
    """Serves the app for the block, in a process of its own, and gives its port.

    Raises:
        RuntimeError: It did not answer in time.
    """
    with tempfile.TemporaryDirectory(prefix="isp-") as folder:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, "-m", "benchmarks.app_server", folder, str(port)]
        process = subprocess.Popen(command, cwd=ROOT, env=child_environment())
        try:
            _wait_until_ready(port, process)
            yield port
        finally:
            process.terminate()
            process.wait()


def _wait_until_ready(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while True:
        try:
            with Caller(port) as caller:
                caller.call_ms("GET", "/api/_a2app")
        except OSError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the app did not start") from error
            time.sleep(0.05)
        else:
            return


def _in_turns(ours: Caller, bare: Caller, name: str, body: bytes, calls: int) -> tuple[float, float]:
    through: list[float] = []
    past: list[float] = []
    for _ in range(calls):
        through.append(ours.call_ms("POST", f"/api/ops/{name}", body))
        past.append(bare.call_ms("POST", f"/bare/{name}", body))
    return statistics.median(through), statistics.median(past)
