"""Marks: where in a stream of bytes a terminal is reset, or a shell's prompt begins.

The emulators carry both out without a word. Both begin with an escape that ends whatever was open before it, so
that they are found in the bytes alone; the stream is cut there, and the emulator is fed up to the cut before
anybody is told. What came before is then done, and what comes after is not.
"""

from __future__ import annotations

from collections.abc import Iterator

from .screen import ScreenReset

__all__ = ["MarkWatch"]

FULL_RESET = b"\x1bc"
SHELL_PROMPT = b"\x1b]133;A"
MARKS = ((FULL_RESET, ScreenReset(cause="full_reset")), (SHELL_PROMPT, ScreenReset(cause="shell_prompt")))
LONGEST = max(len(mark) for mark, _ in MARKS)


class MarkWatch:
    """Finds the marks in a stream, wherever its chunks are cut."""

    def __init__(self) -> None:
        """Begin at the start of a stream."""
        self._tail = b""

    def cut(self, data: bytes) -> Iterator[tuple[bytes, ScreenReset | None]]:
        """The pieces of a chunk in order, each with the mark that its last byte completes.

        The pieces joined are `data`; where there is no mark, which is nearly always, the one piece is `data` itself.
        """
        stream = self._tail + data if self._tail else data
        ahead = len(self._tail)
        self._tail = _unfinished(stream)
        begin = 0
        while (found := _next_mark(stream, begin)) is not None:
            end, event = found
            yield stream[max(begin, ahead) : end], event
            begin = end
        rest = data if begin == 0 else stream[max(begin, ahead) :]
        if rest:
            yield rest, None


def _next_mark(stream: bytes, begin: int) -> tuple[int, ScreenReset] | None:
    best: tuple[int, ScreenReset] | None = None
    for mark, event in MARKS:
        at = stream.find(mark, begin)
        if at >= 0 and (best is None or at + len(mark) < best[0]):
            best = at + len(mark), event
    return best


def _unfinished(stream: bytes) -> bytes:
    """The end of a stream that may be the beginning of a mark."""
    at = stream.rfind(b"\x1b", max(0, len(stream) - LONGEST + 1))
    if at < 0:
        return b""
    tail = stream[at:]
    return tail if any(len(tail) < len(mark) and mark.startswith(tail) for mark, _ in MARKS) else b""
