"""The record of the last write to the harness, which outlives every process.

It is not synced: it is there whoever is killed, and a machine that goes down takes the harness with it. What the
record then lacks is in doubt, and `LaunchDisk.operations` says so.
"""

from __future__ import annotations

import binascii
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

__all__ = ["Operations"]


class Operations:
    """The record of the last write to the harness: two slots of 64 bytes, written in turn.

    A torn slot fails its checksum and the other one counts. Writes end in order, and after one has failed
    the harness's input stays broken, so the last record says everything: all before it are `done`.

    Attributes:
        op: The last operation that was begun; 0 before the first.
        state: `none`, `begun`, `done` or `failed`.
        length: How many bytes it has.
        written: How many bytes of it went out; exact unless `begun`.
    """

    _STATES: tuple[str, ...] = ("none", "begun", "done", "failed")
    _SLOT = 64
    _RECORD = struct.Struct(">4sQIQQQ")

    def __init__(self, path: str, *, create: bool = False) -> None:
        self.op: int = 0
        self.state: str = "none"
        self.length: int = 0
        self.written: int = 0
        self._sequence = 0
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL if create else os.O_RDONLY, 0o600)
        if create:
            # Written in full now, so that a full disk cannot stop a later record.
            os.pwrite(self._handle, bytes(2 * self._SLOT), 0)
            self._store()
        else:
            self._load()

    def begin(self, op: int, length: int) -> None:
        """Note that `op` is about to be written; raises OSError, and nothing is noted."""
        before = (self.op, self.state, self.length, self.written)
        self.op, self.state, self.length, self.written = op, "begun", length, 0
        try:
            self._store()
        except OSError:
            self.op, self.state, self.length, self.written = before
            raise

    def end(self, state: Literal["done", "failed"], written: int) -> None:
        """Note how the operation that was begun has ended."""
        self.state, self.written = state, written
        self._store()

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)

    def _store(self) -> None:
        self._sequence += 1
        record = self._RECORD.pack(
            b"IOP1", self._sequence, self._STATES.index(self.state), self.op, self.length, self.written
        )
        record += binascii.crc32(record).to_bytes(4, "big")
        os.pwrite(self._handle, record.ljust(self._SLOT, b"\0"), (self._sequence % 2) * self._SLOT)

    def _load(self) -> None:
        for slot in range(2):
            raw = os.pread(self._handle, self._RECORD.size + 4, slot * self._SLOT)
            record, check = raw[:-4], raw[-4:]
            if len(record) != self._RECORD.size or binascii.crc32(record).to_bytes(4, "big") != check:
                continue
            magic, sequence, state, op, length, written = self._RECORD.unpack(record)
            if magic == b"IOP1" and sequence > self._sequence and state < len(self._STATES):
                self._sequence, self.state = sequence, self._STATES[state]
                self.op, self.length, self.written = op, length, written
