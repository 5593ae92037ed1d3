"""A server as they are usually written: a queue for each client, and each event encoded for each client.

`python -m benchmarks.peers.queue_server SOCKET`: serves `GET` on a Unix socket with server-sent events. For each
number read from standard input, so many events go into every client's queue, in batches like Inspan's. Nothing
is kept, nothing is bounded, and no framework stands in between.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from datetime import UTC, datetime
from typing import Any

__all__ = ["serve"]

_BATCH = 50
_TEXT = "A piece of an answer, as long as they are."
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\n\r\n"

Event = dict[str, Any]


class _Server:
    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[Event]] = set()
        self._position = 0

    async def attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one client."""
        queue: asyncio.Queue[Event] = asyncio.Queue()
        try:
            await reader.readuntil(b"\r\n\r\n")
            self._queues.add(queue)
            writer.write(_HEAD)
            while True:
                event = await queue.get()
                data = json.dumps(event)
                writer.write(f"id: {event['position']}\nevent: {event['type']}\ndata: {data}\n\n".encode())
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client is gone, or the server ends
        finally:
            self._queues.discard(queue)
            writer.close()

    async def publish(self, count: int) -> None:
        """Puts events into every queue."""
        for number in range(count):
            event = self._make_event()
            for queue in self._queues:
                queue.put_nowait(event)
            if number % _BATCH == _BATCH - 1:
                await asyncio.sleep(0)

    def _make_event(self) -> Event:
        """An event with the members that Inspan's have."""
        self._position += 1
        return {
            "position": self._position,
            "at": datetime.now(UTC).isoformat(),
            "seat": "s0",
            "source": "protocol",
            "rule": "acp.update.agent_message_chunk",
            "type": "message_chunk",
            "version": 1,
            "event": {"type": "message_chunk", "role": "agent", "text": _TEXT},
            "launch": "l0",
            "session": "session-1",
        }


async def serve(socket: str) -> None:
    """Serves until standard input ends."""
    server = _Server()
    listening = await asyncio.start_unix_server(server.attend, socket)
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        await server.publish(int(line))
    listening.close()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(sys.argv[1]))
