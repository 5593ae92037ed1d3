"""An MCP server over standard input and output, for tests of connectors. Run as a program."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("tools-for-tests")

HARMLESS = ToolAnnotations(read_only_hint=True)
"""What a vendor claims and nobody has to believe."""


@server.tool(annotations=HARMLESS)
def add(a: int, b: int) -> str:
    """Adds two numbers."""
    return str(a + b)


@server.tool(annotations=HARMLESS)
def environment(name: str) -> str:
    """Gives a variable of this program's environment."""
    return os.environ.get(name, "(not set)")


@server.tool()
async def wait(folder: str) -> str:
    """Waits until it is cancelled, and leaves a file then."""
    _leave(folder, "began")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        _leave(folder, "cancelled")
        raise
    return "never"


def _leave(folder: str, name: str) -> None:
    Path(folder, name).touch()


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("sk-of-the-server")


@server.tool()
def end() -> str:
    """Ends the program in the middle of a call."""
    os._exit(3)


if __name__ == "__main__":
    print("noise on standard error", file=sys.stderr)
    server.run("stdio")
