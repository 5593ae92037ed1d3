"""Many clients of one event stream, in a process of their own: `python -m benchmarks.sse_clients SOCKET PATH CLIENTS EVENTS`.

Says `ready` once every client is connected, and `done` once each has received its events. It counts frames with
data and looks at nothing else, so that it costs the same whoever serves.
"""

from __future__ import annotations

import asyncio
import sys

__all__ = ["read_all"]

_MARK = b"\ndata: "


async def read_all(socket: str, path: str, clients: int, events: int) -> None:
    """Connects the clients, says so, and returns when each has its events."""
    loop = asyncio.get_running_loop()
    readers = [_Reader(path, events) for _ in range(clients)]
    for reader in readers:
        await loop.create_unix_connection(lambda reader=reader: reader, socket)
        await reader.connected
    print("ready", flush=True)
    await asyncio.gather(*(reader.done for reader in readers))
    print("done", flush=True)


class _Reader(asyncio.Protocol):
    """One client: reads the head of the answer, then counts marks, copying nothing."""

    def __init__(self, path: str, events: int) -> None:
        loop = asyncio.get_running_loop()
        self.connected: asyncio.Future[None] = loop.create_future()
        self.done: asyncio.Future[None] = loop.create_future()
        self._path = path
        self._left = events
        self._tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(f"GET {self._path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        if not self.connected.done():
            # The head comes before any event, since events begin once everybody is connected.
            if b" 200 " in data.split(b"\r\n", 1)[0]:
                self.connected.set_result(None)
            else:
                self.connected.set_exception(RuntimeError(data.decode()))
            return
        # A mark that the pieces share is in neither of them.
        self._left -= data.count(_MARK) + (self._tail + data[: len(_MARK) - 1]).count(_MARK)
        self._tail = (
            (self._tail + data)[-(len(_MARK) - 1) :] if len(data) < len(_MARK) else data[1 - len(_MARK) :]
        )
        if self._left <= 0 and not self.done.done():
            if self._left < 0:
                self.done.set_exception(RuntimeError(f"{-self._left} events too many came"))
            else:
                self.done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        for waiting in (self.connected, self.done):
            if not waiting.done():
                waiting.set_exception(RuntimeError(f"the stream ended {self._left} events early"))


if __name__ == "__main__":
    asyncio.run(read_all(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
