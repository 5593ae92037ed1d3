"""Short ways to write events down, for tests of the store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal

from inspan.model.content import MessageChunk
from inspan.model.delivery import HeldReason
from inspan.model.events import (
    DeliveryHeld,
    DeliveryQueued,
    DeliverySending,
    Event,
    EventDraft,
    LaunchRequested,
    LaunchStarted,
    LaunchStarting,
    PermissionOpened,
    SeatAdded,
    SessionOpened,
    TurnEnded,
)
from inspan.model.evidence import Source
from inspan.model.permission import OptionKind, PermissionOption, ToolCall
from inspan.model.posture import Posture
from inspan.model.session import OpenedHow, Provenance, SessionReference
from inspan.model.turn import CallError, TurnOutcome
from inspan.store import Append, LaunchCursor, OutboxRow

__all__ = [
    "ERROR",
    "START",
    "add_seat",
    "appending",
    "chunk",
    "cursor_of",
    "draft",
    "held",
    "launch",
    "open_permission",
    "queue",
    "reference",
    "sending",
    "turn_ended",
    "write_of",
]

START = datetime(2026, 11, 30, 12, tzinfo=UTC)
ERROR = CallError(code="call_failed", message="It did not work.")


def draft(
    event: Event,
    *,
    seat: str = "worker",
    launch: str | None = None,
    turn: str | None = None,
    source: Source = Source.CORE,
    after_s: float = 0,
    session: str | None = None,
) -> EventDraft:
    """An event of a seat, `after_s` seconds after `START`."""
    return EventDraft(
        at=START + timedelta(seconds=after_s),
        seat=seat,
        source=source,
        rule="test",
        event=event,
        launch=launch,
        session=session,
        turn=turn,
    )


def appending(*drafts: EventDraft) -> Append:
    """A request of these events."""
    return Append(drafts=drafts)


def add_seat(seat: str = "worker") -> EventDraft:
    """The seat is made."""
    added = SeatAdded(harness="some-harness", mode="acp", workspace="/srv/project", posture=Posture())
    return draft(added, seat=seat, source=Source.OPERATOR)


def reference(session: str) -> SessionReference:
    """A session that the harness named."""
    return SessionReference(
        harness="some-harness",
        resume_type="some-session",
        id=session,
        workspace="/srv/project",
        posture=Posture(),
        provenance=Provenance.REPORTED,
    )


def launch(
    name: str,
    *,
    seat: str = "worker",
    session: str = "session-1",
    attempt: Literal["fresh", "resume"] = "fresh",
) -> tuple[EventDraft, ...]:
    """Everything from the decision to launch to an open session."""
    opened = SessionOpened(launch=name, reference=reference(session), how=OpenedHow.NEW)
    events: tuple[Event, ...] = (
        LaunchRequested(launch=name, attempt=attempt),
        LaunchStarting(launch=name, nonce="0a", directory="/srv/l", program="/usr/bin/program"),
        LaunchStarted(launch=name, pid=2, holder_pid=1),
        opened,
    )
    return tuple(draft(event, seat=seat, launch=name, source=Source.PROTOCOL) for event in events)


def queue(delivery: str, *, seat: str = "worker", text: str = "do it") -> EventDraft:
    """A prompt is accepted."""
    return draft(DeliveryQueued(delivery=delivery, text=text), seat=seat, source=Source.OPERATOR)


def sending(delivery: str, turn: str, *, launch: str, seat: str = "worker") -> EventDraft:
    """A prompt is about to be sent."""
    return draft(DeliverySending(delivery=delivery, turn=turn), seat=seat, launch=launch, turn=turn)


def held(delivery: str, *, launch: str | None = None) -> EventDraft:
    """A prompt waits for a person."""
    return draft(DeliveryHeld(delivery=delivery, why=HeldReason.HARNESS_EXITED), launch=launch)


def turn_ended(
    turn: str,
    delivery: str,
    outcome: TurnOutcome,
    *,
    launch: str,
    source: Source = Source.PROTOCOL,
    after_s: float = 0,
) -> EventDraft:
    """A turn is over."""
    ended = TurnEnded(turn=turn, delivery=delivery, outcome=outcome, raw_reason="because")
    return draft(ended, launch=launch, turn=turn, source=source, after_s=after_s)


def open_permission(request: str, *, launch: str, turn: str | None = None) -> EventDraft:
    """The harness asks."""
    opened = PermissionOpened(
        request=request,
        wire_id=f"wire of {request}",
        tool_call=ToolCall(id="call-1"),
        options=(PermissionOption(id="yes", name="Yes", kind=OptionKind.ALLOW_ONCE, raw_kind="allow_once"),),
    )
    return draft(opened, launch=launch, turn=turn, source=Source.PROTOCOL)


def chunk(text: str, *, seat: str = "worker", launch: str | None = None) -> EventDraft:
    """A piece of an answer."""
    return draft(MessageChunk(role="agent", text=text), seat=seat, launch=launch, source=Source.PROTOCOL)


def cursor_of(launch: str, *, offset: int = 0, next_op: int = 1) -> LaunchCursor:
    """How far a launch of the seat `worker` was followed."""
    return LaunchCursor(
        launch=launch, seat="worker", offset=offset, next_op=next_op, snapshot=b'{"open": true}'
    )


def write_of(launch: str, op: int) -> OutboxRow:
    """A prompt that is to be written."""
    return OutboxRow(launch=launch, op=op, data=b"prompt\n", purpose="prompt", delivery=f"d{op}")
