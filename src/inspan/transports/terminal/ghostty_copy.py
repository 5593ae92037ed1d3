"""Copies of a libghostty terminal: its whole state as bytes, and a second terminal made of them.

source: pyghostty 0.1.3
verified: 2026-11-30
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Self

__all__ = ["GhosttyCopy", "decode_terminal", "encode_terminal", "read_continuation"]

ALL_LINES = 1_000_000
CANCEL = b"\x18"
"""Ends whatever sequence is open."""


def encode_terminal(handle: Any) -> bytes | None:
    """The whole state of a terminal, in the emulator's own format, which changes with its version.

    Returns:
        `None` if a sequence is open that has grown over what the terminal keeps of one.
    """
    return _take("ghostty_snapshot_encode_alloc", handle)


def read_continuation(handle: Any) -> bytes | None:
    """The beginning of the sequence or character that is not whole yet; empty between two of them.

    Returns:
        `None` if it has grown over what the terminal keeps.
    """
    return _take("ghostty_terminal_continuation_alloc", handle)


def decode_terminal(encoded: bytes, *, has_history: bool = True) -> Any:
    """A new terminal of that state, with the rows that scrolled out or, much faster, without them.

    It has no callbacks and none of the options; its caller frees it.

    Raises:
        ValueError: This emulator cannot read the bytes.
    """
    package: Any = importlib.import_module("pyghostty")
    ffi, lib = package.ffi, package.lib
    held = ffi.from_buffer(encoded)
    decoder, terminal = ffi.new("GhosttySnapshotDecoder*"), ffi.new("GhosttyTerminal*")
    code: int = lib.ghostty_snapshot_decoder_new_buf(
        ffi.NULL, decoder, ffi.cast("uint8_t*", held), len(encoded)
    )
    if code == 0:
        decode = lib.ghostty_snapshot_decoder_decode if has_history else lib.ghostty_snapshot_decoder_ready
        code = decode(decoder[0], terminal)
        lib.ghostty_snapshot_decoder_free(decoder[0])
    if code != 0:
        raise ValueError(f"the emulator cannot read this state ({code})")
    return terminal[0]


class GhosttyCopy:
    """A terminal to be asked what another one is not asked for fear of a change."""

    def __init__(self, handle: Any) -> None:
        """Own this terminal."""
        package: Any = importlib.import_module("pyghostty")
        self._ffi: Any = package.ffi
        self._lib: Any = package.lib
        self._replies: list[bytes] = []
        self.handle: Any = handle
        self._callback: Any = self._ffi.callback("GhosttyTerminalWritePtyFn", self._reply)
        self._lib.ghostty_terminal_set(self.handle, self._lib.GHOSTTY_TERMINAL_OPT_WRITE_PTY, self._callback)

    @classmethod
    def of(cls, encoded: bytes, *, has_history: bool) -> Self:
        """A copy of a terminal; a sequence that is open in it is cancelled."""
        copy = cls(decode_terminal(encoded, has_history=has_history))
        copy.ask(CANCEL)
        return copy

    @classmethod
    def fresh(cls, *, rows: int, columns: int) -> Self:
        """An empty terminal that keeps all rows."""
        package: Any = importlib.import_module("pyghostty")
        ffi, lib = package.ffi, package.lib
        place = ffi.new("GhosttyTerminal*")
        if lib.ghostty_terminal_new(ffi.NULL, place, columns, rows) != 0:
            raise RuntimeError("the emulator could not open a terminal; is there memory left?")
        lib.ghostty_terminal_set(
            place[0], lib.GHOSTTY_TERMINAL_OPT_SCROLLBACK_MAX_LINES, ffi.new("size_t*", ALL_LINES)
        )
        return cls(place[0])

    def __enter__(self) -> Self:
        """The copy itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free it."""
        self._lib.ghostty_terminal_free(self.handle)

    def ask(self, written: bytes) -> bytes:
        """Feed the copy, and give back what it answers."""
        self._replies.clear()
        self._lib.ghostty_terminal_vt_write(self.handle, written, len(written))
        return b"".join(self._replies)

    def _reply(self, _terminal: Any, _data: Any, data: Any, size: int) -> None:
        self._replies.append(self._ffi.buffer(data, size)[:])


def _take(function: str, handle: Any) -> bytes | None:
    """What a function of the emulator hands out in memory that its caller frees."""
    package: Any = importlib.import_module("pyghostty")
    ffi, lib = package.ffi, package.lib
    place, size = ffi.new("uint8_t**"), ffi.new("size_t*")
    call: Callable[..., int] = getattr(lib, function)
    if call(handle, ffi.NULL, place, size) != 0:
        return None
    if place[0] == ffi.NULL:
        return b""
    try:
        return ffi.buffer(place[0], size[0])[:]
    finally:
        lib.ghostty_free(ffi.NULL, place[0], size[0])
