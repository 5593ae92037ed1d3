"""Line framing with a cap: bytes in any pieces become whole lines, and a line over the cap is never held."""

from __future__ import annotations

__all__ = ["LineReader"]


class LineReader:
    """Cuts a stream at newlines.

    A line may have `cap_bytes` bytes before its newline. A longer one is dropped up to its newline without
    being held, and is said once, as `None` in the place of the line. Its bytes count as used at once, so
    that nobody has to keep them; `is_discarding` must therefore survive a restart together with the offset.

    Args:
        cap_bytes: The longest line that is accepted.
        is_discarding: Whether the stream begins inside a line that was over the cap.
    """

    def __init__(self, cap_bytes: int, *, is_discarding: bool = False) -> None:
        self._cap_bytes = cap_bytes
        self._pieces: list[bytes] = []
        self._held_bytes = 0
        self.is_discarding = is_discarding

    def feed(self, data: bytes) -> tuple[list[bytes | None], int]:
        """Takes the next bytes.

        Returns:
            The lines that are whole now, without their newline, and the number of bytes used up since the
            last bytes that were: it ends at a line's end, or inside a line that is being dropped.
        """
        if not self.is_discarding and self._held_bytes + len(data) <= self._cap_bytes:
            return self._split(data)
        lines: list[bytes | None] = []
        held_before = self._held_bytes
        start = 0
        used = 0
        while (end := data.find(b"\n", start)) >= 0:
            if self.is_discarding:
                self.is_discarding = False
            elif self._held_bytes + end - start > self._cap_bytes:
                self._drop()
                lines.append(None)
            elif self._pieces:
                self._pieces.append(data[start:end])
                lines.append(b"".join(self._pieces))
                self._drop()
            else:
                lines.append(data[start:end])
            start = end + 1
            used = held_before + start
        if start < len(data) and not self.is_discarding:
            self._pieces.append(data[start:] if start else data)
            self._held_bytes += len(data) - start
            if self._held_bytes > self._cap_bytes:
                self._drop()
                self.is_discarding = True
                lines.append(None)
        if self.is_discarding:
            used = held_before + len(data)
        return lines, used

    def take_rest(self) -> bytes:
        """The beginning of a line that is held, which is forgotten by this."""
        rest = b"".join(self._pieces)
        self._drop()
        return rest

    def _split(self, data: bytes) -> tuple[list[bytes | None], int]:
        """As `feed`, where no line can be over the cap: nearly always, and faster."""
        lines: list[bytes | None] = []
        if b"\n" not in data:
            if data:
                self._pieces.append(data)
                self._held_bytes += len(data)
            return lines, 0
        available = self._held_bytes + len(data)
        lines += (b"".join((*self._pieces, data)) if self._pieces else data).split(b"\n")
        rest = lines.pop() or b""
        self._pieces = [rest] if rest else []
        self._held_bytes = len(rest)
        return lines, available - len(rest)

    def _drop(self) -> None:
        self._pieces = []
        self._held_bytes = 0
