"""How many updates of 200 bytes a second are read, typed and validated?

Ours is the transport's machine as the daemon uses it: bytes in pieces of a pipe's size, reports out. The peer is
`agent-client-protocol`'s own connection with a client that only counts, reading the same pieces from a stream.
Bare splitting reads lines from the same stream and counts them: what no reader of this protocol can do without.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any, cast

import acp

from inspan.model.content import MessageChunk
from inspan.model.plan import TransportSettings
from inspan.transports.acp import AcpMachine

from .fake_agent import update_line
from .figures import Figure, Target
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS: tuple[str, ...] = ()

_SESSION = "s4711"
_PIECE_BYTES = 64 * 1024
_STREAM_BYTES = 1 << 30


def run(scale: Scale) -> list[Figure]:
    """Measures the three in turns."""
    count = scale.count(50_000, small=500)
    data = b"".join(update_line(number, 10**11 + number, _SESSION) for number in range(count))
    pieces = [data[at : at + _PIECE_BYTES] for at in range(0, len(data), _PIECE_BYTES)]
    ours: list[float] = []
    sdk: list[float] = []
    bare: list[float] = []
    for _ in range(scale.rounds):
        ours.append(count / _time_machine(pieces, count))
        sdk.append(count / asyncio.run(_time_sdk(pieces, count)))
        bare.append(count / asyncio.run(_time_bare(pieces, count)))
    what = "ACP updates of 200 bytes, typed and validated"
    return [
        Figure(
            what=what,
            unit="messages/s",
            ours=ours,
            peer=sdk,
            peer_name="agent-client-protocol 0.12.1",
            target=Target(of="ratio", bound="at least", limit=8),
        ),
        Figure(
            what=what,
            unit="messages/s",
            ours=ours,
            peer=bare,
            peer_name="bare line splitting",
            target=Target(of="ratio", bound="at least", limit=0.3),
            note="Bare: `readline` on an asyncio stream that holds the bytes, and a count.",
        ),
    ]


def _time_machine(pieces: list[bytes], count: int) -> float:
    machine = _open_machine()
    reports = 0
    began = time.perf_counter()
    for piece in pieces:
        reports += sum(1 for reported in machine.feed(piece).reports if type(reported.body) is MessageChunk)
    passed_s = time.perf_counter() - began
    assert reports == count, f"{reports} of {count} were reported"
    return passed_s


def _open_machine() -> AcpMachine:
    """A machine with an open session and a prompt under way."""
    machine = AcpMachine(TransportSettings(workspace="/"))
    machine.start()
    machine.feed(_answer(1, {"protocolVersion": 1, "agentCapabilities": {}}))
    machine.feed(_answer(2, {"sessionId": _SESSION}))
    machine.prompt("d1", "hello")
    return machine


def _answer(number: int, result: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode() + b"\n"


class _CountingClient:
    """The least that the peer accepts as a client: it counts and throws away."""

    def __init__(self, count: int) -> None:
        self._left = count
        self.is_done = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self._left -= 1
        if not self._left:
            self.is_done.set()


class _NoTransport(asyncio.Transport):
    """Nothing is written: updates want no answer."""

    def write(self, data: Any) -> None:
        raise AssertionError("an update was answered")

    def is_closing(self) -> bool:
        return True

    def close(self) -> None:
        pass


async def _time_sdk(pieces: list[bytes], count: int) -> float:
    reader = asyncio.StreamReader(limit=_STREAM_BYTES)
    loop = asyncio.get_running_loop()
    writer = asyncio.StreamWriter(_NoTransport(), asyncio.StreamReaderProtocol(reader), reader, loop)
    client = _CountingClient(count)
    connection = acp.connect_to_agent(cast("acp.Client", client), writer, reader)
    began = time.perf_counter()
    for piece in _feeding(pieces):
        reader.feed_data(piece)
        await asyncio.sleep(0)
    await client.is_done.wait()
    passed_s = time.perf_counter() - began
    await connection.close()
    return passed_s


async def _time_bare(pieces: list[bytes], count: int) -> float:
    reader = asyncio.StreamReader(limit=_STREAM_BYTES)
    began = time.perf_counter()
    for piece in _feeding(pieces):
        reader.feed_data(piece)
    reader.feed_eof()
    lines = 0
    while await reader.readline():
        lines += 1
    passed_s = time.perf_counter() - began
    assert lines == count, f"{lines} of {count} were read"
    return passed_s


def _feeding(pieces: list[bytes]) -> Iterator[bytes]:
    yield from pieces
