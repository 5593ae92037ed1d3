"""Documents: output that is one JSON object over many lines, read once it is whole."""

from __future__ import annotations

from typing import Any

from inspan.transports.records.lines import read_record

__all__ = ["DocumentReader", "read_document"]


class DocumentReader:
    """Holds all of an output, up to a cap; one that is longer is dropped without being held.

    What is held counts as not used, so that it comes again after a restart.

    Args:
        cap_bytes: The longest output that is accepted.
        is_discarding: Whether it was over the cap already.
    """

    def __init__(self, cap_bytes: int, *, is_discarding: bool = False) -> None:
        self._cap_bytes = cap_bytes
        self._pieces: list[bytes] = []
        self._held_bytes = 0
        self.is_discarding = is_discarding

    def feed(self, data: bytes) -> tuple[list[bytes | None], int]:
        """Takes the next bytes; like `LineReader.feed`, with no line but the `None` of an output over the cap."""
        if self.is_discarding:
            return [], len(data)
        self._pieces.append(data)
        self._held_bytes += len(data)
        if self._held_bytes <= self._cap_bytes:
            return [], 0
        used = len(self.take_rest())
        self.is_discarding = True
        return [None], used

    def take_rest(self) -> bytes:
        """All that is held, which is forgotten by this."""
        rest = b"".join(self._pieces)
        self._pieces, self._held_bytes = [], 0
        return rest


def read_document(output: bytes) -> tuple[list[bytes], dict[str, Any] | None, bytes]:
    """The lines around the object of an output, the object itself, and its text.

    The object begins with the first line that begins with a brace, and ends with the output or, where more is said
    after it, with the last line that is a brace alone. It is `None` where there is no such object, or no whole one.
    """
    lines = output.splitlines(keepends=True)
    start = next((index for index, line in enumerate(lines) if line.startswith(b"{")), None)
    if start is None:
        return [line.strip() for line in lines if line.strip()], None, b""
    end = len(lines)
    record = read_record(b"".join(lines[start:]).strip())
    if record is None:
        ends = [index for index, line in enumerate(lines) if index > start and line.rstrip() == b"}"]
        end = ends[-1] + 1 if ends else end
        record = read_record(b"".join(lines[start:end]).strip())
    around = [line.strip() for line in (*lines[:start], *lines[end:]) if line.strip()]
    return around, record, b"".join(lines[start:end]).strip()
