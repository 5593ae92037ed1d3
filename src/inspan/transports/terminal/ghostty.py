"""The screen that seats use: libghostty, through `pyghostty`.

Everything that the emulator hands out comes through callbacks that run inside `feed`, in byte order: its own
answers, sequences that it does not know, titles, progress and bells. What is to be answered is answered there,
so that no answer can overtake another. Status reports are not answered here: the event handler does, in place.

source: pyghostty 0.1.3, driven with every query that the recorded consoles ask
verified: 2026-11-30
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from .ghostty_copy import read_continuation
from .ghostty_dump import PROGRESS_NUMBERS, dump_terminal
from .ghostty_format import backgrounds_of, scrollback_of
from .ghostty_reader import GhosttyReader
from .identity import IDENTITY, TerminalIdentity
from .marks import MarkWatch
from .screen import (
    CursorPlace,
    EventHandler,
    Progress,
    ProgressState,
    ScreenEvent,
    ScreenSize,
    Snapshot,
    UnknownSequence,
    ignore_event,
)

__all__ = ["GhosttyScreen"]

SYNCHRONIZED = 2026
UNKNOWN_MAX_BYTES = 4096
GRAPHICS_MAX_BYTES = 64 * 1024
CLIPBOARD_MAX_BYTES = 64 * 1024
CONTINUATION_MAX_BYTES = 1024 * 1024
"""How much is kept of a sequence that is not whole yet, for a dump; memory that is taken only while there is one."""
SCROLLBACK_MAX_BYTES = 1 << 30
"""More than any number of rows takes: the emulator's own limit would keep a fifth of them."""
PAGE_CELLS = 50_000
"""The emulator drops old rows a page at a time; a page holds fewer cells than this."""
COMPRESS_BYTES = 16 * 1024
"""After how many bytes the rows that scrolled out are packed: to a tenth, in a fraction of a millisecond."""
PROGRESS_STATES: tuple[ProgressState, ...] = tuple(PROGRESS_NUMBERS)


class GhosttyScreen:
    """A `Screen` that answers as a good terminal does and hands out what it does not know."""

    engine = "ghostty"
    answers = True

    def __init__(
        self,
        size: ScreenSize,
        *,
        on_event: EventHandler = ignore_event,
        scrollback_lines: int = 1000,
        identity: TerminalIdentity = IDENTITY,
    ) -> None:
        """Open a screen; the first one of a process loads the emulator, which takes a quarter of a second."""
        # The binding is untyped; Any stops at this module.
        package: Any = importlib.import_module("pyghostty")
        self._ffi: Any = package.ffi
        self._lib: Any = package.lib
        self._terminal: Any = package.Terminal(
            size.columns,
            size.rows,
            scrollback=_kept_rows(scrollback_lines, size),
            fg=identity.foreground,
            bg=identity.background,
        )
        self._handle: Any = self._terminal._t[0]
        self._identity = identity
        self._on_event = on_event
        self._size = size
        self._scrollback_lines = scrollback_lines
        self._unpacked_bytes = 0
        self._packed: Any = self._ffi.new("GhosttyTerminalCompressionResult*")
        self._replies: list[bytes] = []
        self._marks = MarkWatch()
        self._failure: Exception | None = None
        self._progress: Progress | None = None
        self._bells = 0
        self._revision = 0
        self._seen: Snapshot | None = None
        self._callbacks: list[Any] = []
        self._configure()
        self._reader = GhosttyReader(self._handle, size)

    def feed(self, data: bytes) -> bytes:
        """See `Screen.feed`."""
        for piece, mark in self._marks.cut(data):
            self._lib.ghostty_terminal_vt_write(self._handle, piece, len(piece))
            if mark is not None:
                self._progress = None if mark.cause == "full_reset" else self._progress
                self._tell(mark)
        self._unpacked_bytes += len(data)
        if self._unpacked_bytes >= COMPRESS_BYTES:
            self._pack()
        return self._written()

    def resize(self, size: ScreenSize) -> bytes:
        """See `Screen.resize`."""
        self._size = size
        self._terminal.resize(size.columns, size.rows, self._identity.cell_width, self._identity.cell_height)
        self._set("SCROLLBACK_MAX_LINES", self._ffi.new("size_t*", _kept_rows(self._scrollback_lines, size)))
        self._reader.fit(size)
        return self._written()

    def snapshot(self) -> Snapshot:
        """See `Screen.snapshot`."""
        if self._seen is None or self._seen.revision != self._revision:
            self._seen = self._look()
        return self._seen

    def painted(self) -> Snapshot:
        """See `Screen.painted`."""
        seen = self.snapshot()
        if seen.backgrounds is None:
            seen = self._seen = msgspec.structs.replace(
                seen, backgrounds=backgrounds_of(self._handle, seen.lines)
            )
        return seen

    @property
    def is_at_ground(self) -> bool:
        """See `Screen.is_at_ground`."""
        return read_continuation(self._handle) == b""

    def scrollback(self, lines: int) -> tuple[str, ...]:
        """See `Screen.scrollback`."""
        found = scrollback_of(self._handle, lines=lines)
        self._pack()
        return found

    def dump(self, *, scrollback_lines: int = 1000) -> bytes:
        """See `Screen.dump`."""
        dumped = dump_terminal(self._handle, scrollback_lines=scrollback_lines, progress=self._progress)
        self._pack()
        return dumped

    def close(self) -> None:
        """See `Screen.close`."""
        if self._handle is None:
            return
        self._handle = None
        self._terminal.close()
        self._callbacks.clear()

    def _pack(self) -> None:
        """Pack the rows that scrolled out; reading them unpacks them."""
        self._unpacked_bytes = 0
        self._lib.ghostty_terminal_compress(
            self._handle, self._lib.GHOSTTY_TERMINAL_COMPRESSION_MODE_FULL, self._packed
        )

    def _written(self) -> bytes:
        self._revision += 1
        replies, self._replies = b"".join(self._replies), []
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        return replies

    def _tell(self, event: ScreenEvent) -> None:
        try:
            answer = self._on_event(event)
        except Exception as error:  # noqa: BLE001 - raised again once the emulator has returned
            self._failure = self._failure or error
            return
        if answer:
            self._replies.append(answer)

    def _look(self) -> Snapshot:
        values = self._reader.values()
        return Snapshot(
            size=self._size,
            lines=self._reader.lines(),
            cursor=CursorPlace(row=values.row, column=values.column, is_visible=values.is_cursor_visible),
            revision=self._revision,
            title=values.title,
            progress=self._progress,
            bells=self._bells,
            is_alternate=values.is_alternate,
            modes=values.modes,
            keyboard_flags=values.keyboard_flags,
            is_held=SYNCHRONIZED in values.modes,
        )

    def _configure(self) -> None:
        self._call_back("WRITE_PTY", "WritePty", self._reply)
        self._call_back("UNKNOWN_SEQUENCE", "UnknownSequence", self._unknown)
        self._call_back("BELL", "Bell", self._ring)
        self._call_back("PROGRESS_REPORT", "ProgressReport", self._progressed)
        self._call_back("SIZE", "Size", self._measure)
        self._call_back("COLOR_SCHEME", "ColorScheme", self._name_scheme)
        sizes = {
            "UNKNOWN_MAX_BYTES": UNKNOWN_MAX_BYTES,
            "APC_MAX_BYTES_KITTY": GRAPHICS_MAX_BYTES,
            "CLIPBOARD_WRITE_MAX_BYTES": CLIPBOARD_MAX_BYTES,
            "CONTINUATION_MAX_BYTES": CONTINUATION_MAX_BYTES,
            "SCROLLBACK_MAX_BYTES": SCROLLBACK_MAX_BYTES,
        }
        for option, amount in sizes.items():
            self._set(option, self._ffi.new("size_t*", amount))
        if not self._identity.has_graphics:
            self._set("KITTY_IMAGE_STORAGE_LIMIT", self._ffi.new("uint64_t*", 0))

    def _call_back(self, option: str, name: str, function: Callable[..., bool | None]) -> None:
        callback = self._ffi.callback(f"GhosttyTerminal{name}Fn", function, onerror=self._failed)
        self._callbacks.append(callback)  # the emulator keeps only the address
        self._set(option, callback)

    def _set(self, option: str, value: Any) -> None:
        code: int = self._lib.ghostty_terminal_set(
            self._handle, getattr(self._lib, f"GHOSTTY_TERMINAL_OPT_{option}"), value
        )
        if code != 0:
            raise RuntimeError(
                f"the emulator refused the option {option} with {code}; is its version pinned?"
            )

    def _failed(self, _kind: object, error: Exception, _trace: object) -> None:
        self._failure = self._failure or error

    def _reply(self, _terminal: Any, _data: Any, data: Any, size: int) -> None:
        self._replies.append(self._ffi.buffer(data, size)[:])

    def _unknown(self, _terminal: Any, _data: Any, found: Any) -> None:
        lib, ffi = self._lib, self._ffi
        if found.tag == lib.GHOSTTY_TERMINAL_UNKNOWN_SEQUENCE_OSC:
            value = found.value.osc
            ended_by_bell = value.terminator == lib.GHOSTTY_OSC_TERMINATOR_BEL
            kind: Literal["osc", "apc"] = "osc"
            terminator: Literal["bel", "st"] | None = "bel" if ended_by_bell else "st"
        elif found.tag == lib.GHOSTTY_TERMINAL_UNKNOWN_SEQUENCE_APC:
            value, kind, terminator = found.value.apc, "apc", None
        else:
            return
        content: bytes = ffi.buffer(value.content.ptr, value.content.len)[:] if value.content.len else b""
        self._tell(
            UnknownSequence(
                kind=kind, content=content, is_truncated=bool(value.truncated), terminator=terminator
            )
        )

    def _ring(self, _terminal: Any, _data: Any) -> None:
        self._bells += 1

    def _progressed(self, _terminal: Any, _data: Any, report: Any) -> None:
        state: int = report.state
        percent: int = report.progress
        self._progress = Progress(state=PROGRESS_STATES[state], percent=percent if percent >= 0 else None)

    def _measure(self, _terminal: Any, _data: Any, out: Any) -> bool:
        out.rows, out.columns = self._size.rows, self._size.columns
        out.cell_width, out.cell_height = self._identity.cell_width, self._identity.cell_height
        return True

    def _name_scheme(self, _terminal: Any, _data: Any, out: Any) -> bool:
        out[0] = self._lib.GHOSTTY_COLOR_SCHEME_DARK
        return True


def _kept_rows(lines: int, size: ScreenSize) -> int:
    """How many rows the emulator has to be told to keep, so that `lines` are kept at least."""
    return lines + PAGE_CELLS // size.columns if lines else 0
