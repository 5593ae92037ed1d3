"""What goes into the log and what its projections hand out."""

from __future__ import annotations

from datetime import datetime

import msgspec

from inspan.model.delivery import DeliveryState, HeldReason
from inspan.model.events import EventDraft
from inspan.model.evidence import Source
from inspan.model.turn import CallError
from inspan.model.views import PermissionView, TurnView

__all__ = ["Append", "DeliveryRecord", "LaunchCursor", "OutboxRow", "PermissionRecord", "TurnRecord"]


class LaunchCursor(msgspec.Struct, frozen=True, kw_only=True):
    """How far a launch was followed: primary data, which no event repeats.

    Attributes:
        launch: The launch.
        seat: Its seat.
        offset: Up to which byte of the harness's output everything is in the log.
        next_op: The number that the next write to the harness gets.
        snapshot: The transport machine's own state; it may hold the session id, a secret in logs.
    """

    launch: str
    seat: str
    offset: int
    next_op: int
    snapshot: bytes

    def __repr__(self) -> str:
        return f"LaunchCursor({self.launch}, {self.seat}, offset={self.offset}, next_op={self.next_op})"


class OutboxRow(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that are to be written to a harness, from the intent until the holder has done it.

    Attributes:
        launch: The launch.
        op: The number of the write; unique in its launch.
        data: The bytes; they may hold a prompt, a secret in logs.
        purpose: As in a transport's `Outgoing`.
        delivery: The delivery that they carry.
        request: The permission request's wire id that they answer.
    """

    launch: str
    op: int
    data: bytes
    purpose: str
    delivery: str | None = None
    request: str | None = None

    def __repr__(self) -> str:
        return f"OutboxRow({self.launch}, op={self.op}, {self.purpose}, {len(self.data)} bytes)"


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """One request to the log: all of it becomes durable, or nothing.

    Attributes:
        drafts: Events, in order.
        cursor: The new cursor of a launch, in place of its old one.
        outbox: Writes that are decided on.
        outbox_done: `(launch, op)` of writes that need no more care.
        drop_launch: A launch that is over: its cursor and its outbox go, after everything above.
    """

    drafts: tuple[EventDraft, ...] = ()
    cursor: LaunchCursor | None = None
    outbox: tuple[OutboxRow, ...] = ()
    outbox_done: tuple[tuple[str, int], ...] = ()
    drop_launch: str | None = None

    def __repr__(self) -> str:
        return f"Append({len(self.drafts)} events, {len(self.outbox)} writes)"


class DeliveryRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a prompt got.

    Attributes:
        id: The delivery's id.
        seat: The seat.
        state: How far it got.
        queued_at: When it was accepted.
        text: The prompt, a secret in logs.
        text_hash: SHA-256 of the text in UTF-8, in hexadecimal: tells a repeated send from a conflict.
        held: Why it waits for a person.
        held_until: When it goes on by itself, where that is known.
        turn: Its turn, from the intent to send on.
        launch: The launch that it was sent to, from the intent to send on.
        error: What failed.
        request: The request that it is an attempt at.
        sender: The seat whose harness sent it; empty where that is not known.
        signed_by: Whose signature it came with.
    """

    id: str
    seat: str
    state: DeliveryState
    queued_at: datetime
    text: str
    text_hash: str
    held: HeldReason | None = None
    held_until: datetime | None = None
    turn: str | None = None
    launch: str | None = None
    error: CallError | None = None
    request: str = ""
    sender: str = ""
    signed_by: str = ""

    def __repr__(self) -> str:
        return f"DeliveryRecord({self.id}, {self.seat}, {self.state}, text=…)"


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn as it is stored; `ended_by` is the source that its outcome rests on."""

    view: TurnView
    ended_by: Source | None = None


class PermissionRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A permission request with what is needed to answer it.

    Attributes:
        view: The request as people see it.
        wire_id: Its id on the wire.
        launch: The launch that asked.
    """

    view: PermissionView
    wire_id: str
    launch: str | None = None
