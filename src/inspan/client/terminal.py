"""A seat's terminal, from a program: what draws it, as it comes, and the keyboard."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator

from inspan.model.console_views import ResizeTerminal
from inspan.model.errors import UsageError

from .wire import Wire

__all__ = ["Terminal", "open_terminal"]

_KEYS_CAP_BYTES = 64 * 1024
_WRITER = "Inspan-Writer"


class Terminal:
    """A terminal that this program is attached to. Made by `Client.terminal`; iterate it once.

    The iteration gives the bytes that draw the terminal, in pieces of any size: the whole screen first, then what
    the harness writes. It ends when the harness does or the daemon stops, and raises `HostError`
    `daemon_unreachable` where the daemon is gone. A reader that is slow is shown the newest screen instead of all
    that led to it, which begins with a full reset (`ESC c`).

    Attributes:
        columns: Width in cells as it was opened.
        rows: Height in cells as it was opened.
        has_keyboard: Whether keys may be typed, unless somebody else took the keyboard over since.
    """

    def __init__(
        self, wire: Wire, path: str, *, writer: str, columns: int, rows: int, pieces: AsyncIterator[bytes]
    ) -> None:
        self.columns = columns
        self.rows = rows
        self.has_keyboard = bool(writer)
        self._wire = wire
        self._path = path
        self._headers = {_WRITER: writer} if writer else {}
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces."""
        return self

    async def __anext__(self) -> bytes:
        """The next piece."""
        with self._wire.faults():
            return await anext(self._pieces)

    async def keys(self, keys: bytes) -> None:
        """Types `keys` as they are; more than 64 KiB go in several requests, in order.

        They are neither recorded nor confirmed: what the harness never reads is lost with it. After an error a
        part of many keys may have been typed.

        Raises:
            UsageError: `not_the_writer`: this program has no keyboard, or it was taken over; `no_terminal`.
        """
        for start in range(0, len(keys), _KEYS_CAP_BYTES):
            piece = keys[start : start + _KEYS_CAP_BYTES]
            await self._wire.send(f"{self._path}/keys", content=piece, headers=self._headers)

    async def resize(self, columns: int, rows: int) -> None:
        """Gives the terminal another size, 1 to 1000 cells each way; everybody who looks on sees it drawn anew.

        Raises:
            UsageError: `not_the_writer`: somebody else has the keyboard; `no_terminal`, `invalid_argument`.
        """
        size = ResizeTerminal(columns=columns, rows=rows)
        await self._wire.send(f"{self._path}/size", content=size, headers=self._headers)


@contextlib.asynccontextmanager
async def open_terminal(
    wire: Wire, path: str, *, write: bool, steal: bool, guest: bool
) -> AsyncGenerator[Terminal]:
    """Attaches inside the block; see `Client.terminal`."""
    if steal and not write:
        raise UsageError("Only who wants to type takes the keyboard over.", hint="Give write=True too.")
    params = {"write": _flag(write), "steal": _flag(steal), "guest": _flag(guest)}
    async with wire.open(path, params=params) as response:
        yield Terminal(
            wire,
            path,
            writer=response.headers.get(_WRITER, ""),
            columns=int(response.headers.get("Inspan-Columns", 0)),
            rows=int(response.headers.get("Inspan-Rows", 0)),
            pieces=response.aiter_raw(),
        )


def _flag(value: bool) -> str:  # noqa: FBT001
    return "true" if value else "false"
