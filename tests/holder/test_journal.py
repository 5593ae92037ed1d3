"""The journal and the record of operations: what is on disk is what was written, whatever happens."""

from __future__ import annotations

import contextlib
import resource
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from inspan.holder import LaunchDisk, OperationRecord, this_process
from inspan.holder.program.journal import Journal
from inspan.holder.program.operations import Operations

SEGMENT_BYTES = 16


class JournalMachine(RuleBasedStateMachine):
    """Against one `bytes` that simply grows."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="isp-")
        self.root = Path(self.folder.name)
        self.journal = Journal(str(self.root / "journal"), SEGMENT_BYTES)
        self.model = b""
        self.acknowledged = 0

    @rule(data=st.binary(max_size=70))
    def append(self, data: bytes) -> None:
        self.journal.append(data)
        self.model += data

    @rule(data=st.binary(min_size=1, max_size=70), room=st.integers(0, SEGMENT_BYTES))
    def append_while_the_disk_fails(self, data: bytes, room: int) -> None:
        """A limit on the size of files cuts writes short and then refuses them, as a full disk does."""
        with limited_file_size(room), contextlib.suppress(OSError):
            self.journal.append(data)
        self.model += data
        assert self.journal.end + len(self.journal.pending) == len(self.model)
        self.journal.flush()

    @rule(where=st.floats(0, 1))
    def acknowledge(self, where: float) -> None:
        offset = int(where * len(self.model))
        self.journal.acknowledge(offset)
        self.acknowledged = max(self.acknowledged, offset)

    @rule(where=st.floats(0, 1))
    def read(self, where: float) -> None:
        offset = self.journal.first + int(where * (self.journal.end - self.journal.first))
        read = b""
        while offset + len(read) < self.journal.end:
            piece = self.journal.read(offset + len(read), 7)
            assert piece
            read += piece
        assert read == self.model[offset:]

    @rule(where=st.floats(0, 1))
    def read_from_disk_alone(self, where: float) -> None:
        disk = LaunchDisk(self.root)
        bounds = disk.journal()
        assert (bounds.first, bounds.end) == (self.journal.first, self.journal.end)
        start = bounds.first + int(where * (bounds.end - bounds.first))
        at = start
        for offset, piece in disk.read_journal(start):
            assert offset == at
            assert piece == self.model[at : at + len(piece)]
            at += len(piece)
        assert at == bounds.end

    @invariant()
    def everything_is_kept_that_is_not_acknowledged(self) -> None:
        assert self.journal.end == len(self.model)
        assert self.journal.first <= self.acknowledged
        assert self.acknowledged - self.journal.first < 2 * SEGMENT_BYTES

    def teardown(self) -> None:
        self.journal.close()
        self.folder.cleanup()


@contextlib.contextmanager
def limited_file_size(size: int) -> Any:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


TestJournal = JournalMachine.TestCase
TestJournal.settings = settings(max_examples=60, stateful_step_count=30)


class OperationsMachine(RuleBasedStateMachine):
    """The record, read back from disk after every step as after a crash."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="isp-")
        self.root = Path(self.folder.name)
        self.record = Operations(str(self.root / "ops"), create=True)
        self.expected = OperationRecord()
        self.before = self.expected

    @rule(length=st.integers(0, 2**40))
    def begin(self, length: int) -> None:
        self.before = self.expected
        self.record.begin(self.expected.op + 1, length)
        self.expected = OperationRecord(op=self.expected.op + 1, state="begun", length=length)

    @rule(is_done=st.booleans(), part=st.floats(0, 1))
    def end(self, is_done: bool, part: float) -> None:
        if self.expected.state != "begun":
            return
        written = self.expected.length if is_done else int(part * self.expected.length)
        state = "done" if is_done else "failed"
        self.record.end(state, written)
        self.before = self.expected
        self.expected = OperationRecord(
            op=self.expected.op, state=state, length=self.expected.length, written=written
        )

    @rule(at=st.integers(0, 43), mask=st.integers(1, 255))
    def a_torn_record_counts_as_not_written(self, at: int, mask: int) -> None:
        path = self.root / "ops"
        whole = path.read_bytes()
        newest = max(range(2), key=lambda slot: int.from_bytes(whole[slot * 64 + 4 : slot * 64 + 12], "big"))
        torn = bytearray(whole)
        torn[newest * 64 + at] ^= mask
        path.write_bytes(torn)
        assert LaunchDisk(self.root).operations() == self.before
        path.write_bytes(whole)

    @invariant()
    def the_disk_says_what_was_noted(self) -> None:
        assert LaunchDisk(self.root).operations() == self.expected

    def teardown(self) -> None:
        self.record.close()
        self.folder.cleanup()


TestOperations = OperationsMachine.TestCase
TestOperations.settings = settings(max_examples=40, stateful_step_count=20)


@pytest.mark.parametrize(
    ("state", "written", "outcomes"),
    [
        ("done", 9, ["done", "done", "not_begun"]),
        ("begun", 0, ["done", "in_doubt", "not_begun"]),
        ("failed", 4, ["done", "cut", "not_begun"]),
        ("failed", 0, ["done", "failed_clean", "not_begun"]),
    ],
)
def test_after_the_holder_s_death_every_operation_has_an_outcome(
    state: Any, written: int, outcomes: list[str]
) -> None:
    record = OperationRecord(op=5, state=state, length=9, written=written)
    assert [record.outcome(op) for op in (4, 5, 6)] == outcomes


def test_what_may_have_followed_the_record_before_the_machine_went_down_is_in_doubt(tmp_path: Path) -> None:
    record = Operations(str(tmp_path / "ops"), create=True)
    record.begin(1, 9)
    record.end("done", 9)
    record.close()
    disk = LaunchDisk(tmp_path)
    holder = this_process()
    (tmp_path / "claim").write_text(f"holder {holder.pid} {holder.start_time}\n")
    assert [disk.operations().outcome(op) for op in (1, 2)] == ["done", "not_begun"]
    (tmp_path / "claim").write_text(f"holder {holder.pid} another-boot:{holder.start_time}\n")
    assert [disk.operations().outcome(op) for op in (1, 2)] == ["done", "in_doubt"]
    (tmp_path / "ops").unlink()
    assert disk.operations().outcome(1) == "in_doubt"
