"""Serves the tools over MCP on standard input and output: `python -m inspan.apps.mcp`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress

from inspan import __version__

from .server import LONGEST_LINE_BYTES, McpServer

__all__ = ["main"]


async def _serve(out: int) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST_LINE_BYTES, loop=loop)
    try:
        loop.add_reader(sys.stdin.fileno(), reader.feed_data, b"")  # raises for what cannot be waited for
        loop.remove_reader(sys.stdin.fileno())
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader, loop=loop), sys.stdin.buffer
        )
    except (ValueError, OSError):  # a file, or nothing at all (/dev/null): there is nothing to wait for
        reader.feed_data(sys.stdin.buffer.read())
        reader.feed_eof()

    def write(line: bytes) -> None:
        with os.fdopen(os.dup(out), "wb") as stream:
            stream.write(line)

    async def send(line: bytes) -> None:
        await asyncio.to_thread(write, line)

    serving = asyncio.ensure_future(McpServer(send, version=__version__).serve(reader))
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, serving.cancel)
    with suppress(asyncio.CancelledError):
        await serving


def main() -> int:
    """Serves until the input ends. Standard output carries messages alone: whatever else prints goes to the error stream."""
    out = os.dup(1)
    os.dup2(2, 1)
    asyncio.run(_serve(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
