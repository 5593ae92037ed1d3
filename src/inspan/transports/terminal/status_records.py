"""Status records: what a program's reports add up to, and what they mean.

Reports address records. The root record is the session; the others are sub-agents and background work, which go
on while the composer is free and so say nothing about the session's turn. The functions are pure: the emulator's
owner keeps the value and folds every sequence into it, in byte order.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from inspan.model.evidence import Source
from inspan.model.permission import NeedsInputKind

from .claims import BackgroundWork, Claim, ClaimedActivity, KeptError
from .program_status import BlockedKind, StatusReport, StatusState

__all__ = [
    "MAX_RECORDS",
    "NO_RECORDS",
    "StatusRecord",
    "StatusRecords",
    "apply_report",
    "forget_records",
    "read_background",
    "read_root",
]

MAX_RECORDS = 256
"""How many records are kept, the root's among them; the one that was silent longest gives way."""

KINDS: dict[BlockedKind | None, NeedsInputKind | None] = {
    "permission": NeedsInputKind.PERMISSION,
    "question": NeedsInputKind.QUESTION,
    "auth": NeedsInputKind.LOGIN,
    None: None,
}


class StatusRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The newest report about one id; `at` is when it came and `sequence` its number among all."""

    report: StatusReport
    at: datetime
    sequence: int


class StatusRecords(msgspec.Struct, frozen=True, kw_only=True):
    """All records of one program.

    Attributes:
        records: By id, the one that was silent longest first; the root has the empty id.
        sequence: How many reports were applied.
    """

    records: dict[str, StatusRecord] = {}
    sequence: int = 0


NO_RECORDS = StatusRecords()


def apply_report(records: StatusRecords, report: StatusReport, *, at: datetime) -> StatusRecords:
    """The records after one more report.

    A report replaces what its record said before; `clear` removes the record and all beneath it, and at the root
    every one.
    """
    sequence = records.sequence + 1
    if report.state == "clear":
        beneath = report.id + "/"
        kept = {
            id: record
            for id, record in records.records.items()
            if report.id and id != report.id and not id.startswith(beneath)
        }
        return StatusRecords(records=kept, sequence=sequence)
    kept = {id: record for id, record in records.records.items() if id != report.id}
    kept[report.id] = StatusRecord(report=report, at=at, sequence=sequence)
    if len(kept) > MAX_RECORDS:
        del kept[next(id for id in kept if id)]
    return StatusRecords(records=kept, sequence=sequence)


def forget_records(records: StatusRecords) -> StatusRecords:
    """The records after a full reset or a shell's prompt mark: none, and the numbers go on."""
    return StatusRecords(sequence=records.sequence + 1)


def read_root(records: StatusRecords) -> Claim | None:
    """What the root record claims of the session; `None` where it says nothing."""
    record = records.records.get("")
    if record is None:
        return None
    report = record.report
    activity = _activity(report.state)
    if activity is None:
        return None
    return Claim(
        source=Source.PROGRAM_STATUS,
        rule=f"program_status.{report.state}" + (f".{report.kind}" if report.kind else ""),
        activity=activity,
        kind=KINDS[report.kind],
        error=KeptError(message=report.message) if report.state == "error" else None,
        is_turn_over=report.state in ("done", "error"),
        at=record.at,
        sequence=record.sequence,
    )


def read_background(records: StatusRecords) -> tuple[BackgroundWork, ...]:
    """The work beneath the root, in the order of its newest reports."""
    return tuple(
        BackgroundWork(
            id=id,
            title=record.report.title or record.report.message,
            activity=activity,
            kind=KINDS[record.report.kind],
            at=record.at,
        )
        for id, record in records.records.items()
        if id and (activity := _activity(record.report.state)) is not None
    )


def _activity(state: StatusState) -> ClaimedActivity | None:
    match state:
        case "working":
            return "running"
        case "idle" | "done" | "error":
            return "idle"
        case "blocked":
            return "needs_input"
        case "clear":
            return None
