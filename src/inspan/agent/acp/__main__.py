"""Serves the agent over ACP on standard input and output: `python -m inspan.agent.acp`."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from inspan import __version__
from inspan.agent.acp.peer import LONGEST_LINE_BYTES
from inspan.agent.acp.server import AcpServer
from inspan.agent.agent import Agent
from inspan.agent.permissions.values import PermissionMode

__all__ = ["main", "serve_stdio"]


async def serve_stdio(
    *, model: str | None, permission_mode: PermissionMode, is_strict: bool, home: str | None, out: int
) -> None:
    """Serves one client on standard input and the descriptor `out`, until the input ends or a signal comes."""
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
    write, close = await _writer(out)
    try:
        server = AcpServer(
            reader,
            write,
            make_agent=lambda responder: Agent.create(
                workspace=os.getcwd(),
                home=home,
                model=model,
                permission_mode=permission_mode,
                responder=responder,
                is_strict=is_strict,
            ),
            model=model,
            environment=os.environ,
        )
        serving = asyncio.ensure_future(server.serve())
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, serving.cancel)
        with suppress(asyncio.CancelledError):
            await serving
    finally:
        close()


def main(words: Sequence[str] | None = None) -> int:
    """Serves until the input ends. Standard output carries messages alone: whatever else prints goes to the error stream."""
    parser = argparse.ArgumentParser(
        prog="inspan agent acp", description="Serve the agent over ACP on stdin and stdout."
    )
    parser.add_argument("--version", action="version", version=f"inspan-agent {__version__}")
    parser.add_argument("--model", help="provider:model of new sessions (default: from the environment)")
    parser.add_argument(
        "--permission-mode",
        choices=[mode.value for mode in PermissionMode],
        default=PermissionMode.DEFAULT.value,
    )
    parser.add_argument(
        "--strict", action="store_true", help="a project that names runtime plugins is an error"
    )
    parser.add_argument(
        "--home", help="the home folder (default: INSPAN_HOME, else the platform's own place)"
    )
    options = parser.parse_args(words)
    out = os.dup(1)
    os.dup2(2, 1)
    asyncio.run(
        serve_stdio(
            model=options.model,
            permission_mode=PermissionMode(options.permission_mode),
            is_strict=options.strict,
            home=options.home,
            out=out,
        )
    )
    return 0


async def _writer(out: int) -> tuple[Callable[[bytes], Awaitable[None]], Callable[[], None]]:
    """What writes to a descriptor without holding up the loop, and what lets go of it."""
    loop = asyncio.get_running_loop()
    stream = os.fdopen(out, "wb", buffering=0)
    try:
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, stream)
    except ValueError:  # a file: it never makes anybody wait

        async def write_file(line: bytes) -> None:
            stream.write(line)

        return write_file, stream.close
    writer = asyncio.StreamWriter(transport, protocol, None, loop)

    async def write(line: bytes) -> None:
        writer.write(line)
        await writer.drain()

    return write, transport.close


if __name__ == "__main__":
    sys.exit(main())
