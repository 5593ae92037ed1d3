"""How an event changes the records of deliveries, turns and permission requests.

The seat's state, before and after, decides what an event means: what `evolve` did not accept changes no record
either, with one exception. An event of an earlier launch may still complete the history of what that launch
did: its own deliveries, turns and permission requests, never those of another launch.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from inspan.model.delivery import FINAL_DELIVERY_STATES, DeliveryState
from inspan.model.events import (
    CancelRequested,
    DeliveryAccepted,
    DeliveryFailed,
    DeliveryHeld,
    DeliveryQueued,
    DeliveryRefused,
    DeliveryRendered,
    DeliverySending,
    DeliverySent,
    DeliveryStarted,
    DeliveryUnknown,
    EventDraft,
    LaunchEnded,
    LaunchRequested,
    PermissionAnswered,
    PermissionOpened,
    SeatAdded,
    TurnEnded,
)
from inspan.model.evidence import AUTHORITY
from inspan.model.permission import AnsweredBy, Decision
from inspan.model.state import SeatState
from inspan.model.turn import CallError
from inspan.model.turn_events import DeliverySigned, QueueReleased, TurnCorrected
from inspan.model.views import PermissionView, TurnView

from .records import DeliveryRecord, PermissionRecord, TurnRecord
from .request_records import fold_requests

if TYPE_CHECKING:
    from .projections import Projector

__all__ = ["Change", "fold_records"]

_set = msgspec.structs.replace


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """An event in its place, with the seat's state before and after it."""

    position: int
    draft: EventDraft
    before: SeatState | None
    after: SeatState

    def may_touch(self, launch: str | None) -> bool:
        """Whether the event may change what belongs to `launch`."""
        newest = self.before.launch if self.before is not None else None
        mine = self.draft.launch
        is_history = mine is not None and (newest is None or newest.id != mine)
        return not is_history or mine == launch


def fold_records(tables: Projector, change: Change) -> None:
    """Changes the records as the event says."""
    event = change.draft.event
    fold_requests(tables, change.position, change.draft)
    match event:
        case DeliveryQueued():
            _queue(tables, change, event)
        case DeliverySigned():
            _sign(tables, change, event)
        case DeliveryHeld():
            _hold(tables, change, event)
        case DeliverySending():
            _begin_turn(tables, change, event)
        case DeliverySent():
            _move(tables, change, event.delivery, DeliveryState.SENT)
        case DeliveryAccepted():
            _move(tables, change, event.delivery, DeliveryState.ACCEPTED)
        case DeliveryRendered():
            _move(tables, change, event.delivery, DeliveryState.RENDERED)
        case DeliveryStarted():
            _move(tables, change, event.delivery, DeliveryState.STARTED)
        case DeliveryRefused():
            _move(tables, change, event.delivery, DeliveryState.REFUSED, event.error)
        case DeliveryFailed():
            _move(tables, change, event.delivery, DeliveryState.FAILED, event.error)
        case DeliveryUnknown():
            _move(tables, change, event.delivery, DeliveryState.UNKNOWN, event.error)
        case TurnEnded():
            _end_turn(tables, change, event)
        case TurnCorrected():
            _correct_turn(tables, change, event)
        case CancelRequested():
            _note_cancel(tables, change, event)
        case PermissionOpened():
            _open_permission(tables, change, event)
        case PermissionAnswered():
            _close_permission(tables, change, event)
        case LaunchRequested() | QueueReleased():
            _release_held(tables, change)
        case LaunchEnded() | SeatAdded():
            _close_lost_permissions(tables, change)
        case _:
            pass


def _queue(tables: Projector, change: Change, event: DeliveryQueued) -> None:
    if tables.deliveries.has(event.delivery):
        return  # an id names one delivery for ever
    record = DeliveryRecord(
        id=event.delivery,
        seat=change.draft.seat,
        state=DeliveryState.QUEUED,
        queued_at=change.draft.at,
        text=event.text,
        text_hash=hashlib.sha256(event.text.encode()).hexdigest(),
        request=event.request,
        sender=event.sender,
    )
    tables.deliveries.add(event.delivery, record, seat=change.draft.seat, position=change.position)


def _sign(tables: Projector, change: Change, event: DeliverySigned) -> None:
    record = tables.deliveries.get(event.delivery, change.draft.seat)
    if record is not None and record.state is DeliveryState.QUEUED:
        tables.deliveries.change(event.delivery, _set(record, signed_by=event.signer), is_open=True)


def _hold(tables: Projector, change: Change, event: DeliveryHeld) -> None:
    record = tables.deliveries.get(event.delivery, change.draft.seat)
    is_held = any(p.delivery == event.delivery and p.held for p in change.after.queue)
    if record is None or record.state in FINAL_DELIVERY_STATES or not is_held:
        return
    if record.turn is not None:
        turn = tables.turns.get(record.turn, change.draft.seat)
        if turn is not None and turn.view.outcome is None:
            tables.turns.remove(record.turn)  # nothing was sent, so no turn was begun
    held = _set(
        record,
        state=DeliveryState.HELD,
        held=event.why,
        held_until=event.until,
        error=event.error,
        turn=None,
        launch=None,
    )
    tables.deliveries.change(event.delivery, held, is_open=True)


def _release_held(tables: Projector, change: Change) -> None:
    """A new launch is a new chance for what waited, and so is a release."""
    if change.before is None:
        return
    was_held = {prompt.delivery for prompt in change.before.queue if prompt.held}
    for prompt in change.after.queue:
        if prompt.held or prompt.delivery not in was_held:
            continue
        record = tables.deliveries.get(prompt.delivery, change.draft.seat)
        if record is not None and record.state is DeliveryState.HELD:
            queued = _set(record, state=DeliveryState.QUEUED, held=None, held_until=None, error=None)
            tables.deliveries.change(prompt.delivery, queued, is_open=True)


def _begin_turn(tables: Projector, change: Change, event: DeliverySending) -> None:
    draft, flight = change.draft, change.after.in_flight
    record = tables.deliveries.get(event.delivery, draft.seat)
    is_accepted = change.after is not change.before and flight is not None and flight.turn == event.turn
    if record is None or record.state in FINAL_DELIVERY_STATES or not is_accepted:
        return
    launch = draft.launch
    sending = _set(
        record,
        state=DeliveryState.SENDING,
        held=None,
        held_until=None,
        error=None,
        turn=event.turn,
        launch=launch,
    )
    tables.deliveries.change(event.delivery, sending, is_open=True)
    if not tables.turns.has(event.turn):
        view = TurnView(
            id=event.turn, seat=draft.seat, delivery=event.delivery, begun_at=draft.at, launch=launch
        )
        tables.turns.add(event.turn, TurnRecord(view=view), seat=draft.seat, position=change.position)


def _move(
    tables: Projector, change: Change, delivery: str, to: DeliveryState, error: CallError | None = None
) -> None:
    record = tables.deliveries.get(delivery, change.draft.seat)
    if record is None or record.state in FINAL_DELIVERY_STATES or not change.may_touch(record.launch):
        return
    moved = _set(record, state=to, held=None, held_until=None, error=error)
    tables.deliveries.change(delivery, moved, is_open=to not in FINAL_DELIVERY_STATES)


def _end_turn(tables: Projector, change: Change, event: TurnEnded) -> None:
    draft = change.draft
    record = tables.turns.get(event.turn, draft.seat)
    if record is None or not change.may_touch(record.view.launch):
        return
    if record.ended_by is not None and AUTHORITY[draft.source] <= AUTHORITY[record.ended_by]:
        return  # only a stronger source corrects an outcome
    view = _set(
        record.view,
        outcome=event.outcome,
        ended_at=draft.at,
        raw_reason=event.raw_reason,
        error=event.error,
        usage=event.usage,
        doubt=event.doubt,
    )
    tables.turns.change(event.turn, TurnRecord(view=view, ended_by=draft.source), is_open=False)


def _correct_turn(tables: Projector, change: Change, event: TurnCorrected) -> None:
    draft = change.draft
    record = tables.turns.get(event.turn, draft.seat)
    if record is None or record.ended_by is None or not change.may_touch(record.view.launch):
        return
    if AUTHORITY[draft.source] <= AUTHORITY[record.ended_by]:
        return
    view = _set(
        record.view, outcome=event.outcome, raw_reason=event.raw_reason, error=event.error, was=event.was
    )
    tables.turns.change(event.turn, TurnRecord(view=view, ended_by=draft.source), is_open=False)


def _note_cancel(tables: Projector, change: Change, event: CancelRequested) -> None:
    record = tables.turns.get(event.turn, change.draft.seat)
    if record is None or record.view.outcome is not None or not change.may_touch(record.view.launch):
        return
    view = _set(record.view, cancel_requested=True)
    tables.turns.change(event.turn, _set(record, view=view), is_open=True)


def _open_permission(tables: Projector, change: Change, event: PermissionOpened) -> None:
    draft = change.draft
    is_open = any(p.request == event.request for p in change.after.permissions)
    if not is_open or tables.permissions.has(event.request):
        return
    view = PermissionView(
        id=event.request,
        seat=draft.seat,
        opened_at=draft.at,
        tool_call=event.tool_call,
        options=event.options,
        turn=draft.turn,
        expires_at=event.expires_at,
    )
    record = PermissionRecord(view=view, wire_id=event.wire_id, launch=draft.launch)
    tables.permissions.add(event.request, record, seat=draft.seat, position=change.position)


def _close_permission(tables: Projector, change: Change, event: PermissionAnswered) -> None:
    record = tables.permissions.get(event.request, change.draft.seat)
    if record is None or record.view.decision is not None or not change.may_touch(record.launch):
        return
    view = _set(
        record.view,
        decision=event.decision,
        by=event.by,
        option=event.option,
        option_name=event.option_name,
        answered_at=change.draft.at,
        reason=event.reason,
    )
    tables.permissions.change(event.request, _set(record, view=view), is_open=False)


def _close_lost_permissions(tables: Projector, change: Change) -> None:
    before = change.before
    if before is None or change.after is before:
        return
    left = {p.request for p in change.after.permissions}
    for lost in before.permissions:
        record = tables.permissions.get(lost.request, change.draft.seat)
        if lost.request in left or record is None or record.view.decision is not None:
            continue
        view = _set(
            record.view,
            decision=Decision.CANCELLED,
            by=AnsweredBy.LAUNCH_END,
            answered_at=change.draft.at,
        )
        tables.permissions.change(lost.request, _set(record, view=view), is_open=False)
