"""Read a launch's folder without its holder: after it died, and before it was ever reached."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from .process import ProcessIdentity, is_of_this_boot, liveness
from .program.folder import claim_launch, read_record, redact_launch
from .program.journal import segment_starts
from .program.operations import Operations
from .program.sizes import SIZES_FILE
from .wire import HarnessExit, HolderIdentity, JournalBounds, TerminalPiece, TerminalSize, holder_error

__all__ = ["LaunchDisk", "OperationRecord", "StartFailure"]

READ_BYTES = 256 * 1024
_T = TypeVar("_T")


class StartFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a holder that had claimed the launch never started the harness."""

    code: str
    message: str


class OperationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The holder's record of its last write to the harness.

    Attributes:
        op: The last operation that was begun; 0 before the first.
        state: `begun` without a living holder means in doubt: the write may have been cut anywhere.
        written: How many of `length` bytes went out; 0 while `begun`.
        is_newest: Whether nothing can have followed that is not recorded. After the machine went down something can.
    """

    op: int = 0
    state: Literal["none", "begun", "done", "failed"] = "none"
    length: int = 0
    written: int = 0
    is_newest: bool = True

    def outcome(self, op: int) -> Literal["done", "failed_clean", "cut", "in_doubt", "not_begun"]:
        """What became of `op`, once the holder is dead."""
        if op > self.op:
            return "not_begun" if self.is_newest else "in_doubt"
        if op < self.op or self.state == "done":
            return "done"
        if self.state == "failed":
            return "cut" if self.written else "failed_clean"
        return "in_doubt"


class LaunchDisk(msgspec.Struct, frozen=True):
    """What a launch's folder tells; every method reads anew, and a missing file is a missing answer.

    Raises:
        HolderError: `holder_failed` with reason `launch_unreadable`, by every method, for a file that is
            there but cannot be read or understood.
    """

    directory: Path

    def identity(self) -> HolderIdentity | None:
        """Holder and harness; None means that the harness was never started."""
        record = self._record("holder.json")
        if record is None:
            return None
        value = {
            **record,
            "holder": {"pid": record.get("pid"), "start_time": record.get("start_time")},
            "harness": {"pid": record.get("harness_pid"), "start_time": record.get("harness_start_time")},
        }
        return self._convert(value, HolderIdentity, "holder.json")

    def is_holder_dead(self) -> bool:
        """Whether it is proven that no holder serves this launch, now or later."""
        claim = self.claim()
        return claim == "abandoned" or (isinstance(claim, ProcessIdentity) and liveness(claim) == "dead")

    def claim(self) -> ProcessIdentity | Literal["abandoned"] | None:
        """The holder that claimed the launch, or that it was abandoned; None if neither has happened."""
        try:
            words = (self.directory / "claim").read_text().split(maxsplit=2)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable("claim", error) from None
        match words:
            case ["abandoned"]:
                return "abandoned"
            case ["holder", pid, start_time] if pid.isdecimal():
                return ProcessIdentity(pid=int(pid), start_time=start_time.strip())
            case _:
                raise self._unreadable("claim", ValueError())

    def abandon(self) -> bool:
        """Declare that the launch was never started; False if a holder has claimed it before.

        After True, no holder will ever start it, even one that is just now on its way. Calling it again
        after it was abandoned is safe and True.
        """
        try:
            is_abandoned = claim_launch(str(self.directory), "abandoned") or self.claim() == "abandoned"
        except OSError as error:
            raise self._unreadable("claim", error) from None
        if is_abandoned:
            redact_launch(str(self.directory))
        return is_abandoned

    def failure(self) -> StartFailure | None:
        """Why the harness was not started, if a holder could still say so."""
        record = self._record("failed.json")
        return None if record is None else self._convert(record, StartFailure, "failed.json")

    def exit(self) -> HarnessExit | None:
        """How the harness ended; None if that is not known."""
        record = self._record("exit.json")
        return None if record is None else self._convert(record, HarnessExit, "exit.json")

    def operations(self) -> OperationRecord:
        """The last write to the harness; the empty record if there was none.

        It is written for the death of processes, so what is there of it after the machine went down may be old.
        """
        claim = self.claim()
        is_newest = not isinstance(claim, ProcessIdentity) or is_of_this_boot(claim)
        try:
            record = Operations(str(self.directory / "ops"))
        except FileNotFoundError:
            return OperationRecord(is_newest=is_newest)
        except OSError as error:
            raise self._unreadable("ops", error) from None
        record.close()
        fields = {"op": record.op, "state": record.state, "length": record.length, "written": record.written}
        fields["is_newest"] = is_newest
        return self._convert(fields, OperationRecord, "ops")

    def journal(self) -> JournalBounds:
        """Which offsets of the harness's output are kept."""
        try:
            starts = segment_starts(str(self._journal))
            if not starts:
                return JournalBounds(first=0, end=0)
            size = self._segment(starts[-1]).stat().st_size
        except FileNotFoundError:
            return JournalBounds(first=0, end=0)
        except OSError as error:
            raise self._unreadable("journal", error) from None
        return JournalBounds(first=starts[0], end=starts[-1] + size)

    def read_journal(self, from_offset: int) -> Iterator[tuple[int, bytes]]:
        """The harness's output from `from_offset` to the end, in pieces with their offsets.

        Raises:
            HolderError: `holder_refused` with reason `offset_gone` or `offset_ahead`.
        """
        bounds = self.journal()
        if not bounds.first <= from_offset <= bounds.end:
            reason = "offset_gone" if from_offset < bounds.first else "offset_ahead"
            text = f"the journal holds bytes {bounds.first} to {bounds.end}, not {from_offset}"
            raise holder_error("holder_refused", reason, text, first=bounds.first, end=bounds.end)
        return self._pieces(from_offset)

    def sizes(self) -> list[tuple[int, TerminalSize]]:
        """The sizes of the harness's terminal, each with the offset of its output from which on it counts.

        In the order of their offsets; the first one counts from the journal's first byte on at the latest.
        Empty for a harness on pipes.
        """
        record = self._record(SIZES_FILE)
        if record is None:
            return []
        known = self._convert(record, _Sizes, SIZES_FILE).sizes
        return [(offset, TerminalSize(columns=columns, rows=rows)) for offset, columns, rows in known]

    def terminal_pieces(self, from_offset: int) -> Iterator[TerminalPiece]:
        """What the harness wrote to its terminal from `from_offset` to the end, each piece of one size.

        The last piece is empty if the size was changed after the last byte.

        Raises:
            HolderError: As `read_journal`; `holder_refused` with reason `no_terminal`, if it had none.
        """
        sizes = self.sizes()
        if not sizes:
            raise holder_error("holder_refused", "no_terminal", "the harness had no terminal")
        return _cut(self.read_journal(from_offset), from_offset, sizes)

    def stderr_tail(self, size_bytes: int = 64 * 1024) -> bytes:
        """The last bytes that the harness wrote to its standard error."""
        tail = b""
        for name in ("stderr.1", "stderr.0"):
            try:
                tail += (self.directory / name).read_bytes()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._unreadable(name, error) from None
        return tail[-size_bytes:] if size_bytes > 0 else b""

    @property
    def _journal(self) -> Path:
        return self.directory / "journal"

    def _segment(self, start: int) -> Path:
        return self._journal / f"{start:020d}.seg"

    def _pieces(self, offset: int) -> Iterator[tuple[int, bytes]]:
        try:
            starts = segment_starts(str(self._journal)) if self._journal.exists() else []
            for start, following in zip_longest(starts, starts[1:]):
                if following is not None and following <= offset:
                    continue
                with self._segment(start).open("rb") as file:
                    file.seek(offset - start)
                    while piece := file.read(READ_BYTES):
                        yield offset, piece
                        offset += len(piece)
        except OSError as error:
            raise self._unreadable("journal", error) from None

    def _record(self, name: str) -> dict[str, Any] | None:
        try:
            return read_record(str(self.directory), name)
        except (OSError, ValueError) as error:
            raise self._unreadable(name, error) from None

    def _convert(self, value: dict[str, Any], type_: type[_T], name: str) -> _T:
        try:
            return msgspec.json.decode(json.dumps(value).encode(), type=type_)
        except msgspec.ValidationError as error:
            raise self._unreadable(name, error) from None

    def _unreadable(self, name: str, error: Exception) -> Exception:
        cause = os.strerror(error.errno or 0) if isinstance(error, OSError) else "its content is not valid"
        return holder_error(
            "holder_failed", "launch_unreadable", f"cannot read {self.directory / name}: {cause}"
        )


class _Sizes(msgspec.Struct, frozen=True):
    sizes: list[tuple[int, int, int]]


def _cut(
    pieces: Iterator[tuple[int, bytes]], offset: int, sizes: list[tuple[int, TerminalSize]]
) -> Iterator[TerminalPiece]:
    size, later = sizes[0][1], sizes[1:]
    while later and later[0][0] <= offset:
        size = later.pop(0)[1]
    for start, data in pieces:
        offset = start
        while later and later[0][0] < start + len(data):
            at, following = later.pop(0)
            yield TerminalPiece(offset=offset, data=data[offset - start : at - start], size=size)
            offset, size = at, following
        yield TerminalPiece(offset=offset, data=data[offset - start :], size=size)
        offset = start + len(data)
    for at, following in later:
        yield TerminalPiece(offset=at, data=b"", size=following)
