"""Formatting parts of a libghostty terminal: rows as text or as the bytes that draw them, and what else it can write down.

source: pyghostty 0.1.3
verified: 2026-11-30
"""

from __future__ import annotations

import importlib
from typing import Any, Literal, get_args

from .backgrounds import read_backgrounds

__all__ = ["GhosttyFormat", "backgrounds_of", "scrollback_of"]

Aside = Literal["scrolling_region", "tabstops", "keyboard", "style", "hyperlink", "protection", "charsets"]
ASIDES: tuple[Aside, ...] = get_args(Aside)
OF_THE_SCREEN = frozenset({"style", "hyperlink", "protection", "charsets"})


def scrollback_of(handle: Any, *, lines: int) -> tuple[str, ...]:
    """The newest rows above a terminal's screen, oldest first, at most `lines`, without blanks at their ends."""
    terminal = GhosttyFormat(handle)
    above = terminal.total_rows - terminal.rows
    count = min(lines, above)
    if count <= 0:
        return ()
    rows = terminal.text(above - count, above - 1).decode("utf-8", "replace").split("\n")
    return (*rows, *("",) * (count - len(rows)))


def backgrounds_of(handle: Any, lines: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The backgrounds below the characters of a terminal's rows; none for a row that it draws as another text."""
    terminal = GhosttyFormat(handle)
    above = terminal.total_rows - terminal.rows
    found: list[tuple[str, ...]] = []
    for at, line in enumerate(lines):
        text, grounds = read_backgrounds(terminal.drawn(above + at, above + at, unwrap=False))
        found.append(grounds[: len(line)] if text.startswith(line) else ())
    return tuple(found)


class GhosttyFormat:
    """Writes down what a terminal shows. Its handle stays its owner's."""

    def __init__(self, handle: Any) -> None:
        """Look at this terminal; what every call needs is allocated once."""
        package: Any = importlib.import_module("pyghostty")
        core: Any = importlib.import_module("pyghostty.core")
        self._ffi: Any = package.ffi
        self._lib: Any = package.lib
        self._handle: Any = handle
        self._find: Any = core.union_fn(
            "ghostty_terminal_grid_ref", "GhosttyResult(*)(GhosttyTerminal, GhosttyPointS, GhosttyGridRef*)"
        )
        self._mode: Any = self._ffi.new("GhosttyTerminalModeConfig*")
        self._point: Any = self._ffi.new("GhosttyPointS*")
        self._point.tag = self._lib.GHOSTTY_POINT_TAG_SCREEN
        self._place: Any = core.init_sized("GhosttyGridRef")
        self._selection: Any = core.init_sized("GhosttySelection")
        self._options: Any = core.init_sized("GhosttyFormatterTerminalOptions")
        self._options.selection = self._selection
        self.columns = self.value("COLS", "uint16_t")
        self.rows = self.value("ROWS", "uint16_t")
        self.total_rows = self.value("TOTAL_ROWS", "size_t")

    def value(self, name: str, kind: str) -> int:
        """One number that the terminal tells."""
        return int(self._get(name, self._ffi.new(f"{kind}*"))[0])

    def title(self) -> bytes:
        """The window title as the program set it."""
        slot = self._get("TITLE", self._ffi.new("GhosttyString*"))
        return self._ffi.buffer(slot.ptr, slot.len)[:] if slot.len else b""

    def has_mode(self, number: int, *, is_ansi: bool = False) -> bool:
        """Whether a mode is set."""
        self._mode.mode = number | (is_ansi << 15)
        return bool(self._get("MODE", self._mode).value)

    def text(self, first_row: int, last_row: int) -> bytes:
        """The text of rows as they stand, counted from the oldest that is kept, without blanks at their ends."""
        self._select(first_row, 0, last_row, self.columns - 1)
        return self._format(emit="PLAIN", unwrap=False, trim=True)

    def drawn(self, first_row: int, last_row: int, *, unwrap: bool) -> bytes:
        """The bytes that draw rows in a terminal as wide; with `unwrap` a line that wrapped is one line.

        Blank rows at the end are left out.
        """
        self._select(first_row, 0, last_row, self.columns - 1)
        return self._format(emit="VT", unwrap=unwrap, trim=False)

    def drawn_cell(self, row: int, column: int) -> tuple[bytes, int]:
        """The bytes that draw the character of which a cell is a part, and the column where it begins.

        The bytes are empty for a cell without text or colour.
        """
        if column > 0 and self._part(row, column) == self._lib.GHOSTTY_CELL_WIDE_SPACER_TAIL:
            column -= 1
        self._select(row, column, row, column)
        return self._format(emit="VT", unwrap=True, trim=False), column

    def aside(self, *kinds: Aside) -> bytes:
        """The bytes that set what is beside the text: pen, regions, tab stops, keyboard."""
        self._select(0, 0, 0, 0)
        text = self._format(emit="VT", unwrap=True, trim=False)
        both = self._format(emit="VT", unwrap=True, trim=False, asides=kinds)
        return both.removeprefix(text) if both.startswith(text) else both.removesuffix(text)

    def _get(self, name: str, slot: Any) -> Any:
        key: int = getattr(self._lib, f"GHOSTTY_TERMINAL_DATA_{name}")
        self._check(self._lib.ghostty_terminal_get(self._handle, key, slot), f"tell {name}")
        return slot

    def _part(self, row: int, column: int) -> int:
        """Which part of a character a cell is."""
        cell, part = self._ffi.new("GhosttyCell*"), self._ffi.new("GhosttyCellWide*")
        self._check(self._lib.ghostty_grid_ref_cell(self._locate(row, column), cell), "tell a cell")
        self._check(
            self._lib.ghostty_cell_get(cell[0], self._lib.GHOSTTY_CELL_DATA_WIDE, part), "tell its width"
        )
        return int(part[0])

    def _select(self, row: int, column: int, last_row: int, last_column: int) -> None:
        self._selection.start = self._locate(row, column)[0]
        self._selection.end = self._locate(last_row, last_column)[0]

    def _locate(self, row: int, column: int) -> Any:
        self._point.value.x, self._point.value.y = column, row
        self._check(self._find(self._handle, self._point[0], self._place), f"find row {row}, column {column}")
        return self._place

    def _format(
        self,
        *,
        emit: Literal["PLAIN", "VT"],
        unwrap: bool,
        trim: bool,
        asides: tuple[Aside, ...] = (),
    ) -> bytes:
        ffi, lib = self._ffi, self._lib
        options, extra = self._options, self._options.extra
        options.emit = getattr(lib, f"GHOSTTY_FORMATTER_FORMAT_{emit}")
        options.unwrap, options.trim = unwrap, trim
        for kind in ASIDES:
            setattr(extra.screen if kind in OF_THE_SCREEN else extra, kind, kind in asides)
        formatter, place, size = ffi.new("GhosttyFormatter*"), ffi.new("uint8_t**"), ffi.new("size_t*")
        self._check(
            lib.ghostty_formatter_terminal_new(ffi.NULL, formatter, self._handle, options[0]), "be formatted"
        )
        try:
            self._check(
                lib.ghostty_formatter_format_alloc(formatter[0], ffi.NULL, place, size), "format itself"
            )
            if place[0] == ffi.NULL:
                return b""
            try:
                return ffi.buffer(place[0], size[0])[:]
            finally:
                lib.ghostty_free(ffi.NULL, place[0], size[0])
        finally:
            lib.ghostty_formatter_free(formatter[0])

    def _check(self, code: int, what: str) -> None:
        if code != 0:
            raise RuntimeError(f"the emulator could not {what} ({code}); is its version pinned?")
