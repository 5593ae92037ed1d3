"""How long does a harness wait for the hook relay, beside an interpreter that does nothing?"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from pathlib import Path

from inspan.hooks.entries import command_line

from .figures import Figure, Target
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS: tuple[str, ...] = ()

_RUNS_A_ROUND = 20
_PAYLOAD = b'{"session_id": "1", "prompt": "' + b"a word " * 300 + b'"}'


def run(scale: Scale) -> list[Figure]:
    """Measures all in turns; each round's value is the median of its runs."""
    runs = scale.count(_RUNS_A_ROUND, small=2)
    command = ["/bin/sh", "-c", command_line("Stop")]
    bare = [sys.executable, "-I", "-S", "-c", "pass"]
    taken: list[float] = []
    left: list[float] = []
    outside: list[float] = []
    nothing: list[float] = []
    with tempfile.TemporaryDirectory(prefix="isp-") as folder:
        seat = {"INSPAN_HOOKS": folder, "INSPAN_LAUNCH": "l_1", "INSPAN_SEAT": "s", "INSPAN_TOKEN": "t"}
        for _ in range(scale.rounds):
            nothing.append(_median_ms(bare, {}, runs))
            outside.append(_median_ms(command, {}, runs))
            left.append(_median_ms(command, seat, runs))
            with _listening(Path(folder) / "hooks.sock"):
                taken.append(_median_ms(command, seat, runs))
            (Path(folder) / "hooks.spool").unlink(missing_ok=True)
    peer = "`python -I -S -c pass`"
    return [
        Figure(
            what="hook relay, an event of 2 kB taken",
            unit="ms",
            ours=taken,
            peer=nothing,
            peer_name=peer,
            target=Target(of="ratio", bound="at most", limit=3),
        ),
        Figure(
            what="hook relay, left in the spool while no daemon runs",
            unit="ms",
            ours=left,
            peer=nothing,
            peer_name=peer,
        ),
        Figure(what="hook relay, outside a seat", unit="ms", ours=outside, peer=nothing, peer_name=peer),
    ]


@contextlib.contextmanager
def _listening(path: Path) -> Generator[None]:
    """A socket that takes each event at once, as a daemon does that is not busy."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(path))
        server.listen()

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.recv(1 << 16)
                        connection.sendall(b"+")

        threading.Thread(target=take, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown(socket.SHUT_RDWR)
            path.unlink()


def _median_ms(command: Sequence[str], environment: dict[str, str], runs: int) -> float:
    values: list[float] = []
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run(command, input=_PAYLOAD, env=environment, capture_output=True, check=True)
        values.append((time.perf_counter() - began) * 1000)
    return sorted(values)[len(values) // 2]
