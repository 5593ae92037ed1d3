"""How many events a second reach 100 clients of one stream, as fast as they are taken?

Ours is the daemon with its log: each event is durable before it is shown, and encoded once for everybody. The
peer is a plain server with a queue for each client that encodes each event for each of them, and keeps nothing.
The clients are one other process, the same for both; the events have the same members and size.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .checkout import child_environment
from .figures import Figure, Target
from .ground import throwaway_folder
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS: tuple[str, ...] = ()

_MODULE = [sys.executable, "-m"]


def run(scale: Scale) -> list[Figure]:
    """Measures both in turns."""
    clients = scale.count(100, small=5)
    events = scale.count(5_000, small=100)
    ours: list[float] = []
    peer: list[float] = []
    for _ in range(scale.rounds):
        with throwaway_folder() as folder:
            home = folder / "home"
            command = [*_MODULE, "benchmarks.fanout_server", str(home)]
            ours.append(
                _deliveries(
                    command, home / "daemon.sock", "/v1/events/stream", clients=clients, events=events
                )
            )
            socket = folder / "peer.sock"
            command = [*_MODULE, "benchmarks.peers.queue_server", str(socket)]
            peer.append(_deliveries(command, socket, "/", clients=clients, events=events))
    return [
        Figure(
            what=f"Server-sent events to {clients} clients, {events:,} each, flat out",
            unit="events/s",
            ours=ours,
            peer=peer,
            peer_name="a server with queues and json.dumps",
            target=Target(of="ratio", bound="at least", limit=6),
            note="Events received by all clients together. Ours come from 20 seats and are durable first.",
        )
    ]


def _deliveries(command: Sequence[str], socket: Path, path: str, *, clients: int, events: int) -> float:
    """Events a second that all clients together received, from the order to publish to the last receipt."""
    server = _start(command)
    try:
        _expect(server, "ready")
        words = ["benchmarks.sse_clients", str(socket), path, str(clients), str(events)]
        readers = _start([*_MODULE, *words])
        try:
            _expect(readers, "ready")
            began = time.perf_counter()
            assert server.stdin is not None
            server.stdin.write(f"{events}\n")
            server.stdin.flush()
            _expect(readers, "done")
            return clients * events / (time.perf_counter() - began)
        finally:
            _stop(readers)
    finally:
        _stop(server)


def _start(command: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=child_environment()
    )


def _expect(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if line != word:
        raise RuntimeError(f"{process.args} said {line!r} instead of {word!r}")


def _stop(process: subprocess.Popen[str]) -> None:
    """Ends a process that ends with its input, or is ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
