"""What the harness reads: one operation at a time, each exactly once."""

from __future__ import annotations

import errno
import os

from .clients import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from .clients import Client
    from .operations import Operations
    from .output import Log

__all__ = ["Input"]

MAX_QUEUED_WRITES = 64
MAX_QUEUED_BYTES = 64 * 1024 * 1024


class _Write:
    """One operation that was accepted; it is carried out even if its owner dies meanwhile."""

    def __init__(self, op: int, data: bytes, client: Client, guard: Callable[[], bool] | None) -> None:
        self.op = op
        self.data = data
        self.guard = guard
        self.written = 0
        self.is_begun = False
        self.waiters = [client]


class Input:
    """Standard input of the harness.

    Into a terminal keys may be typed as well: they have no number, and come after the operation that is
    being written and before the next one, never in the middle of one.

    Once a write has failed, the input stays broken: every later operation is `failed_clean`.
    """

    def __init__(
        self, handle: int, operations: Operations, log: Log, send: Callable[[Client, dict[str, Any]], None]
    ) -> None:
        self.handle = handle
        self.operations = operations
        self.is_ending = False  # the owner asked for end of input, after what it wrote before
        self._log = log
        self._send = send
        self._writes: list[_Write] = []
        self._typed = bytearray()

    @property
    def is_waiting(self) -> bool:
        """Whether something is to be written as soon as the harness reads."""
        return self.handle >= 0 and bool(self._writes or self._typed)

    @property
    def accepted_op(self) -> int:
        """The last operation that was accepted, written or not."""
        return self._writes[-1].op if self._writes else self.operations.op

    def accept(self, client: Client, op: int, data: bytes, guard: Callable[[], bool] | None = None) -> None:
        """Take an operation, or answer at once what became of it.

        A `guard` is asked right before the first byte. Where it says no, nothing is written: the operation is done,
        with a length of 0.

        Raises:
            Refusal: `op_gap`, `op_invalid` or `busy`; nothing was taken.
        """
        for write in self._writes:
            if write.op == op:  # under way, perhaps for an owner before this one
                write.waiters.append(client)
                return
        record = self.operations
        if 0 < op <= record.op:
            outcome, written, length = "done", len(data), len(data)
            if op == record.op:
                written, length = record.written, record.length
                if record.state == "failed":
                    outcome = "cut" if written else "failed_clean"
            self._answer(client, op, outcome, written, length, is_duplicate=True)
            return
        if self.handle < 0 or self.is_ending:
            self._answer(client, op, "failed_clean", 0, len(data))
            return
        expected = self.accepted_op + 1
        if op != expected:
            raise Refusal("op_gap", f"operation {op} came, {expected} is next", expected=expected)
        waiting = sum(len(write.data) for write in self._writes)
        if len(self._writes) >= MAX_QUEUED_WRITES or (
            self._writes and waiting + len(data) > MAX_QUEUED_BYTES
        ):
            raise Refusal("busy", "too much waits already to be written")
        self._writes.append(_Write(op, data, client, guard))
        self.write()

    def type_keys(self, data: bytes, limit_bytes: int) -> None:
        """Take keys, of which at most `limit_bytes` wait; nobody is told what becomes of them.

        Raises:
            Refusal: `input_closed` or `busy`; nothing was taken.
        """
        if self.handle < 0:
            raise Refusal("input_closed", "the harness reads no more")
        if len(self._typed) + len(data) > limit_bytes:
            raise Refusal("busy", "too much waits already to be written")
        self._typed += data
        self.write()

    def end(self) -> None:
        """End of input, after what was accepted."""
        self.is_ending = True
        self.write()

    def write(self) -> None:
        """Write what the harness takes now."""
        while self.is_waiting:
            try:
                if not self._writes or not self._writes[0].is_begun:
                    self._write_typed()
                if not self._writes:
                    return
                write = self._writes[0]
                if not write.is_begun and not self._begin(write):
                    break
                while write.written < len(write.data):
                    write.written += os.write(self.handle, memoryview(write.data)[write.written :])
            except BlockingIOError:
                return
            except OSError:
                self.close()
                return
            self._settle("done")
        if self.is_ending:
            self.close()

    def close(self) -> None:
        """End of input, now: what was not written has failed. Calling twice is safe."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1
        self._typed.clear()
        while self._writes:
            self._settle("cut" if self._writes[0].written else "failed_clean")

    def forget(self, client: Client) -> None:
        """Answer nothing more to `client`; its operations go on."""
        for write in self._writes:
            write.waiters = [waiter for waiter in write.waiters if waiter is not client]

    def _write_typed(self) -> None:
        while self._typed:
            del self._typed[: os.write(self.handle, self._typed)]

    def _begin(self, write: _Write) -> bool:
        if write.guard is not None and not write.guard():
            write.data = b""
        try:
            self.operations.begin(write.op, len(write.data))
        except OSError as error:
            self._log.write(f"operation not recorded: {os.strerror(error.errno or errno.EIO)}")
            message = "the operation could not be recorded, so it was not written"
            for refused in self._writes:
                for client in refused.waiters:
                    head = {"type": "error", "id": None, "op": refused.op}
                    self._send(client, {**head, "code": "ops_unwritable", "message": message})
            self._writes.clear()
            return False
        write.is_begun = True
        return True

    def _settle(self, outcome: Literal["done", "cut", "failed_clean"]) -> None:
        write = self._writes.pop(0)
        if write.is_begun:
            try:
                self.operations.end("done" if outcome == "done" else "failed", write.written)
            except OSError as error:
                # After a crash the record then says `begun`: in doubt, which is true.
                self._log.write(f"end of an operation not recorded: {os.strerror(error.errno or errno.EIO)}")
        for client in write.waiters:
            self._answer(client, write.op, outcome, write.written, len(write.data))

    def _answer(
        self, client: Client, op: int, outcome: str, written: int, length: int, *, is_duplicate: bool = False
    ) -> None:
        answer = {"type": "written", "op": op, "outcome": outcome, "written": written, "length": length}
        self._send(client, {**answer, "duplicate": is_duplicate})
