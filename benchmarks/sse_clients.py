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
    connections = [await _connect(socket, path) for _ in range(clients)]
    print("ready", flush=True)
    await asyncio.gather(*(_read(reader, events) for reader, _ in connections))
    print("done", flush=True)
    for _, writer in connections:
        writer.close()


async def _connect(socket: str, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_unix_connection(socket, limit=1 << 18)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise RuntimeError(head.decode())
    return reader, writer


async def _read(reader: asyncio.StreamReader, events: int) -> None:
    seen = 0
    rest = b""
    while seen < events:
        piece = await reader.read(1 << 18)
        if not piece:
            raise RuntimeError(f"the stream ended after {seen} of {events} events")
        data = rest + piece
        seen += data.count(_MARK)
        # Too short to hold the mark, so that none is counted twice.
        rest = data[-(len(_MARK) - 1) :]
    if seen > events:
        raise RuntimeError(f"{seen} events came instead of {events}")


if __name__ == "__main__":
    asyncio.run(read_all(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
