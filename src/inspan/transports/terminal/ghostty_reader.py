"""Reading a libghostty terminal: the text of its rows, its cursor, title and modes, in three calls.

Everything that a look needs is allocated once and used again. One call formats the visible rows, one finds the
two corners of the screen each, and one fills all the values.
"""

from __future__ import annotations

import importlib
from typing import Any

import msgspec

from .screen import ScreenSize
from .titles import clean_title

__all__ = ["DEC_MODES", "GhosttyReader", "Values"]

DEC_MODES = (1, 9, 25, 47, 1000, 1002, 1003, 1004, 1006, 1007, 1047, 1049, 2004, 2026, 2027, 2031, 2048)
"""The DEC private modes that a snapshot tells of."""

VALUES = (
    ("CURSOR_X", "uint16_t*"),
    ("CURSOR_Y", "uint16_t*"),
    ("CURSOR_VISIBLE", "bool*"),
    ("ACTIVE_SCREEN", "GhosttyTerminalScreen*"),
    ("KITTY_KEYBOARD_FLAGS", "uint8_t*"),
    ("TITLE", "GhosttyString*"),
)
SPARE = 1.25
"""By how much more than is needed the buffer grows: it lives as long as the seat."""


class Values(msgspec.Struct, frozen=True, kw_only=True):
    """What a terminal tells beside its text."""

    column: int
    row: int
    is_cursor_visible: bool
    is_alternate: bool
    keyboard_flags: int
    title: str
    modes: frozenset[int]


class GhosttyReader:
    """Looks at one terminal. The terminal's handle stays its owner's: a closed terminal is not to be read."""

    def __init__(self, handle: Any, size: ScreenSize) -> None:
        """Allocate what the looks need."""
        package: Any = importlib.import_module("pyghostty")
        core: Any = importlib.import_module("pyghostty.core")
        ffi, lib = package.ffi, package.lib
        self._ffi: Any = ffi
        self._lib: Any = lib
        self._handle: Any = handle
        self._title = (b"", "")
        self._find: Any = core.union_fn(
            "ghostty_terminal_grid_ref", "GhosttyResult(*)(GhosttyTerminal, GhosttyPointS, GhosttyGridRef*)"
        )
        self._first: Any = self._corner()
        self._last: Any = self._corner()
        self._first_place: Any = core.init_sized("GhosttyGridRef")
        self._last_place: Any = core.init_sized("GhosttyGridRef")
        self._selection: Any = core.init_sized("GhosttySelection")
        self._options: Any = core.init_sized("GhosttyTerminalSelectionFormatOptions")
        self._options.emit = lib.GHOSTTY_FORMATTER_FORMAT_PLAIN
        self._options.trim = True
        self._options.selection = self._selection
        self._written: Any = ffi.new("size_t*")
        self._slots: list[Any] = [ffi.new(kind) for _, kind in VALUES]
        self._modes: Any = ffi.new("GhosttyTerminalModeConfig[]", [(mode, False) for mode in DEC_MODES])
        self._modes_raw: Any = ffi.buffer(self._modes)
        self._modes_seen: tuple[bytes, frozenset[int]] = (b"", frozenset())
        keys = [getattr(lib, f"GHOSTTY_TERMINAL_DATA_{name}") for name, _ in VALUES]
        keys += [lib.GHOSTTY_TERMINAL_DATA_MODE] * len(DEC_MODES)
        self._keys: Any = ffi.new("GhosttyTerminalData[]", keys)
        self._pointers: Any = ffi.new(
            "void*[]",
            [ffi.cast("void*", slot) for slot in self._slots]
            + [ffi.cast("void*", self._modes + index) for index in range(len(DEC_MODES))],
        )
        self.fit(size)

    def fit(self, size: ScreenSize) -> None:
        """Look at a screen of this size from now on."""
        self._rows = size.rows
        self._raw: bytes = b""
        self._lines: tuple[str, ...] = ("",) * size.rows
        self._last.value.x, self._last.value.y = size.columns - 1, size.rows - 1
        self._capacity = size.rows * size.columns + size.rows
        self._buffer: Any = self._ffi.new("uint8_t[]", self._capacity)

    def lines(self) -> tuple[str, ...]:
        """The text of every row, without blanks at its end; the same tuple as long as it is the same text."""
        self._check(self._find(self._handle, self._first[0], self._first_place), "find the first cell")
        self._check(self._find(self._handle, self._last[0], self._last_place), "find the last cell")
        self._selection.start, self._selection.end = self._first_place[0], self._last_place[0]
        code = self._format()
        if code == self._lib.GHOSTTY_OUT_OF_SPACE:
            self._capacity = int(self._written[0] * SPARE)
            self._buffer = self._ffi.new("uint8_t[]", self._capacity)
            code = self._format()
        self._check(code, "format the screen")
        raw: bytes = self._ffi.buffer(self._buffer, self._written[0])[:]
        if raw != self._raw:
            rows = raw.decode("utf-8", "replace").split("\n")
            self._raw, self._lines = raw, (*rows, *("",) * (self._rows - len(rows)))
        return self._lines

    def values(self) -> Values:
        """Cursor, title, keyboard flags, modes and which screen is shown."""
        self._check(
            self._lib.ghostty_terminal_get_multi(
                self._handle, len(self._keys), self._keys, self._pointers, self._written
            ),
            "read the terminal's values",
        )
        column, row, visible, screen, flags, title = self._slots
        return Values(
            column=column[0],
            row=row[0],
            is_cursor_visible=bool(visible[0]),
            is_alternate=screen[0] == self._lib.GHOSTTY_TERMINAL_SCREEN_ALTERNATE,
            keyboard_flags=flags[0],
            title=self._read_title(title),
            modes=self._read_modes(),
        )

    def _read_modes(self) -> frozenset[int]:
        """The modes that are set; the same set as long as they are the same, which is nearly always."""
        raw: bytes = self._modes_raw[:]
        if raw != self._modes_seen[0]:
            found = frozenset(
                number for number, mode in zip(DEC_MODES, self._modes, strict=True) if mode.value
            )
            self._modes_seen = raw, found
        return self._modes_seen[1]

    def _read_title(self, title: Any) -> str:
        raw: bytes = self._ffi.buffer(title.ptr, title.len)[:] if title.len else b""
        if raw != self._title[0]:
            self._title = raw, clean_title(raw)
        return self._title[1]

    def _format(self) -> int:
        return self._lib.ghostty_terminal_selection_format_buf(
            self._handle, self._options[0], self._buffer, self._capacity, self._written
        )

    def _corner(self) -> Any:
        corner: Any = self._ffi.new("GhosttyPointS*")
        corner.tag = self._lib.GHOSTTY_POINT_TAG_ACTIVE
        return corner

    def _check(self, code: int, what: str) -> None:
        if code != 0:
            raise RuntimeError(f"the emulator could not {what} ({code}); is its version pinned?")
