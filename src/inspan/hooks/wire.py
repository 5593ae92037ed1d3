"""Events as the relay writes them: a head of fields that are parted by zeros, a line end, and the payload."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from . import relay

__all__ = ["HEAD_BYTES", "MAX_PAYLOAD_BYTES", "Head", "Spooled", "clear_spool", "parse_head", "read_spool"]

HEAD_BYTES = 8192
"""The longest head."""
MAX_PAYLOAD_BYTES = relay.PAYLOAD_BYTES
_FIELDS = 9


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What stands before a payload.

    Attributes:
        launch: The launch whose environment the relay had.
        seat: Its seat.
        token: What proves it; empty in a spool. A secret.
        event: The event's name.
        order: When the relay started, on the system's clock that never runs back, in nanoseconds.
        at_ns: The same on the clock of the wall, since 1970.
        ancestors: The relay's ancestors, the nearest first.
        size_bytes: How long the payload is; `None` where it was too large.
    """

    launch: str
    seat: str
    token: str
    event: str
    order: int
    at_ns: int
    ancestors: tuple[int, ...]
    size_bytes: int | None

    @property
    def id(self) -> str:
        """Names the event among all of its launch."""
        nearest = self.ancestors[0] if self.ancestors else 0
        return f"{self.order:x}.{nearest:x}.{self.event}"


class Spooled(msgspec.Struct, frozen=True, kw_only=True):
    """What a spool holds.

    Attributes:
        events: Each with its payload, in order; `None` for one that was too large.
        malformed: How many pieces could not be read.
        size_bytes: How much of the spool this is.
        is_full: Nothing more goes into it, so that events may be lost.
    """

    events: tuple[tuple[Head, bytes | None], ...] = ()
    malformed: int = 0
    size_bytes: int = 0
    is_full: bool = False


def parse_head(line: bytes) -> Head | None:
    """The head that a line is, without its end; `None` for anything else."""
    fields = line.split(b"\0")
    if len(fields) != _FIELDS or fields[0] != relay.MAGIC or len(line) > HEAD_BYTES:
        return None
    try:
        launch, seat, token, event = (field.decode() for field in fields[1:5])
        size = None if fields[8] == b"-" else int(fields[8])
        head = Head(
            launch=launch,
            seat=seat,
            token=token,
            event=event,
            order=int(fields[5]),
            at_ns=int(fields[6]),
            ancestors=tuple(int(pid) for pid in fields[7].split()),
            size_bytes=size,
        )
    except ValueError:
        return None
    return None if size is not None and not 0 <= size <= MAX_PAYLOAD_BYTES else head


def read_spool(path: Path, *, begin: int = 0) -> Spooled:
    """What was left in a spool from a place on, in the order in which it happened.

    Raises:
        OSError: It cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return Spooled()
    with open(handle, "rb") as file:
        file.seek(begin)
        data = file.read(relay.SPOOL_BYTES + relay.SPOOL_SLACK_BYTES + 1)
    events: list[tuple[Head, bytes | None]] = []
    at, malformed = 0, 0
    while at < len(data):
        end = data.find(b"\n", at)
        head = None if end < 0 else parse_head(data[at:end])
        if head is None:
            malformed += 1
            again = data.find(relay.MAGIC + b"\0", at + 1)
            if again < 0:
                break
            at = again
            continue
        size = head.size_bytes
        events.append((head, None if size is None else data[end + 1 : end + 1 + size]))
        at = end + 1 + (size or 0)
    return Spooled(
        events=tuple(sorted(events, key=lambda event: event[0].order)),
        malformed=malformed,
        size_bytes=len(data),
        is_full=begin + len(data) >= relay.SPOOL_BYTES,
    )


def clear_spool(path: Path, *, taken_bytes: int) -> bool:
    """Empties a spool of which so much was taken; whether nothing had been added meanwhile.

    Raises:
        OSError: It cannot be written.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    try:
        os.lockf(handle, os.F_LOCK, 0)
        if os.fstat(handle).st_size > taken_bytes:
            return False
        os.ftruncate(handle, 0)
        return True
    finally:
        os.close(handle)
