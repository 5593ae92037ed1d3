"""Requests: what somebody wants done, across the attempts at it and the seats that these were made in.

Which attempt follows is decided and recorded by the seat of the one before, with the id that it will have. So it is
begun exactly once, by this daemon or by the next one.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

from inspan.model.delivery import DeliveryState
from inspan.model.errors import InspanError, StoreError, UsageError
from inspan.model.events import Envelope
from inspan.model.ids import DELIVERY_ID, new_id
from inspan.model.request_events import RequestHandedOff
from inspan.model.request_views import AttemptView, HandOffRequest, HandoffView, RequestView
from inspan.model.state import SeatState
from inspan.model.turn import CallError, TurnOutcome
from inspan.model.views import DeliveryView, SendPrompt
from inspan.store import RequestRecord, Store

from .actor import SeatActor
from .harnesses import Harnesses
from .inputs import CancelTurn, WithdrawDelivery
from .request_inputs import HandOff, NoteHandoffFailed, SettleRequest

__all__ = ["RequestCalls", "check_request"]

_ALL = 1_000_000

_LOST = (DeliveryState.REFUSED, DeliveryState.FAILED, DeliveryState.UNKNOWN)
"""Ends of a delivery after which no turn comes of it."""


class RequestCalls(ABC):
    """The part of the service that `RequestService` describes."""

    _store: Store
    _harnesses: Harnesses
    _due: set[str]

    @abstractmethod
    def actor(self, name: str) -> SeatActor:
        """The actor of a seat. Raises `unknown_seat`."""

    @abstractmethod
    async def send_prompt(self, name: str, request: SendPrompt) -> DeliveryView:
        """See `SeatService`."""

    async def list_requests(self, *, include_settled: bool = False) -> Sequence[RequestView]:
        """See `RequestService`."""
        return [self._show_request(one) for one in self._store.requests(include_settled=include_settled)]

    async def get_request(self, request: str) -> RequestView:
        """See `RequestService`."""
        return self._show_request(self._request_record(request))

    async def hand_off_request(self, request: str, wanted: HandOffRequest) -> RequestView:
        """See `RequestService`."""
        record = self._open_record(request)
        if record.pending:
            await self.pass_on(record)
            record = self._open_record(request)
        state = self.actor(wanted.seat).state
        if state is None or state.removed:
            raise UsageError(f"There is no seat {wanted.seat!r}.", code="unknown_seat")
        self._check_context(state, wanted)
        newest = self._attempt(record.attempts[-1].delivery)
        if newest.seat == wanted.seat and not newest.is_over:
            raise UsageError(
                f"The request {request} is with {wanted.seat} already.",
                hint="Name another seat to hand it to.",
            )
        await self._declare(record, newest, wanted)
        if wanted.cancel and not newest.is_over:
            with contextlib.suppress(UsageError):  # it ended, or can only be waited for
                await self.actor(newest.seat).give(CancelTurn())
        await self.pass_on(self._request_record(request))
        record = self._request_record(request)
        if record.outcome is not None and record.settled_by == newest.delivery and not newest.is_over:
            raise _settled(record)  # it completed in this very moment
        return self._show_request(record)

    async def settle_request(self, request: str) -> RequestView:
        """See `RequestService`."""
        record = self._request_record(request)
        if record.outcome is None:
            view = self._show_request(record)
            if view.status == "running":
                raise UsageError(
                    f"An attempt at the request {request} is under way.",
                    code="request_open",
                    hint=f"Wait for it, or cancel it: `inspan requests {request}` shows its seat.",
                )
            last = view.attempts[-1]
            if last.is_over:
                outcome = last.outcome or TurnOutcome.CANCELLED
                command = SettleRequest(request=request, delivery=last.delivery, outcome=outcome)
            else:
                command = WithdrawDelivery(delivery=last.delivery)
            await self.actor(last.seat).give(command)
        return await self.get_request(request)

    def watch_requests(self) -> None:
        """Takes up what an earlier daemon left due, and takes note of what comes due. Called once, at the start."""
        open_requests = self._store.requests(limit=_ALL)
        self._due = {record.id for record in open_requests if record.pending}
        self._store.subscribe(self._note_due)

    async def pass_on_requests(self) -> None:
        """Begins every attempt that is due and not there yet. Called again and again; twice is once."""
        for request in tuple(self._due):
            record = self._store.request(request)
            if record is not None and record.outcome is None and record.pending:
                await self.pass_on(record)
                record = self._store.request(request)
            if record is None or record.outcome is not None or not record.pending:
                self._due.discard(request)

    def _note_due(self, envelopes: tuple[Envelope, ...]) -> None:
        self._due |= {one.event.request for one in envelopes if isinstance(one.event, RequestHandedOff)}

    async def pass_on(self, record: RequestRecord) -> None:
        """Begins the attempts of one request that are due; what a seat refuses is recorded."""
        for due in record.pending:
            before = self._store.delivery(due.from_delivery)
            text = due.text or ("" if before is None else before.text)
            wanted = SendPrompt(text=text, id=due.delivery, request=record.id)
            try:
                await self.send_prompt(due.to_seat, wanted)
            except StoreError:
                return  # the log cannot take it now; it is tried again
            except InspanError as error:
                if error.code == "daemon_stopping":
                    return
                failed = NoteHandoffFailed(
                    request=record.id,
                    next_delivery=due.delivery,
                    to_seat=due.to_seat,
                    error=CallError(code=error.code, message=error.message, hint=error.hint),
                )
                await self.actor(due.from_seat).give(failed)

    def _check_context(self, state: SeatState, wanted: HandOffRequest) -> None:
        """Refuses to hand a bare prompt to a harness that is said to need more. Raises `handoff_needs_context`."""
        try:
            manifest = self._harnesses.registry.manifest(state.harness)
        except InspanError:
            return  # a harness that is gone says so when it is to start
        if manifest.takes_over == "needs_context" and not wanted.text.strip():
            raise UsageError(
                f"{manifest.name} does not go on with what another seat was sent, without being told more.",
                code="handoff_needs_context",
                hint=f"Say what {state.name} is to know: --text TEXT.",
            )

    async def _declare(self, record: RequestRecord, newest: AttemptView, wanted: HandOffRequest) -> None:
        for known in record.handoffs:
            is_same = (known.from_delivery, known.to_seat) == (newest.delivery, wanted.seat)
            if is_same and known.handed_at is None and known.text == wanted.text:
                return
        await self.actor(newest.seat).give(
            HandOff(
                request=record.id,
                delivery=newest.delivery,
                to_seat=wanted.seat,
                next_delivery=new_id("d"),
                text=wanted.text,
                outcome=newest.outcome,
            )
        )

    def _request_record(self, request: str) -> RequestRecord:
        record = self._store.request(request)
        if record is None:
            raise UsageError(
                f"There is no request {request!r}.",
                code="unknown_request",
                hint="`inspan requests` shows the open ones; `inspan send SEAT --request ID TEXT` opens one.",
            )
        return record

    def _open_record(self, request: str) -> RequestRecord:
        record = self._request_record(request)
        if record.outcome is not None:
            raise _settled(record)
        return record

    def _attempt(self, delivery: str) -> AttemptView:
        known = self._store.delivery(delivery)
        if known is None:
            raise AssertionError(f"the attempt {delivery} has no delivery")
        turn = None if known.turn is None else self._store.turn(known.turn)
        outcome = None if turn is None else turn.outcome
        error = known.error if turn is None or turn.error is None else turn.error
        return AttemptView(
            delivery=delivery,
            seat=known.seat,
            queued_at=known.queued_at,
            state=known.state,
            turn=known.turn,
            outcome=outcome,
            error=error,
            is_over=outcome is not None or (known.turn is None and known.state in _LOST),
        )

    def _show_request(self, record: RequestRecord) -> RequestView:
        attempts = tuple(self._attempt(one.delivery) for one in record.attempts)
        status = _status(record, attempts)
        return RequestView(
            id=record.id,
            status=status,
            opened_at=record.opened_at,
            attempts=attempts,
            handoffs=tuple(
                HandoffView(
                    from_seat=one.from_seat,
                    from_delivery=one.from_delivery,
                    to_seat=one.to_seat,
                    delivery=one.delivery,
                    declared_at=one.declared_at,
                    handed_at=one.handed_at,
                    error=one.error,
                )
                for one in record.handoffs
            ),
            outcome=record.outcome,
            settled_at=record.settled_at,
            settled_by=record.settled_by,
            hint=_hint(record.id) if status == "waiting" else "",
        )


def check_request(store: Store, request: str) -> None:
    """Refuses a prompt for a request whose id has a wrong form, or that is settled.

    Raises:
        UsageError: `invalid_argument`, `request_settled`.
    """
    if not DELIVERY_ID.fullmatch(request):
        raise UsageError(
            f"{request!r} cannot be a request's id.",
            hint="Use 1 to 128 letters, digits, '.', '_', ':' and '-', beginning with a letter or a digit.",
        )
    known = store.request(request)
    if known is not None and known.outcome is not None:
        raise _settled(known)


def _status(
    record: RequestRecord, attempts: tuple[AttemptView, ...]
) -> Literal["running", "waiting", "settled"]:
    if record.outcome is not None:
        return "settled"
    goes_on = any(not one.is_over and one.state is not DeliveryState.HELD for one in attempts)
    return "running" if goes_on or record.pending else "waiting"


def _hint(request: str) -> str:
    return (
        f"`inspan handoff {request} SEAT` goes on in a seat; `inspan requests {request} --settle` closes it."
    )


def _settled(record: RequestRecord) -> UsageError:
    return UsageError(
        f"The request {record.id} is settled: {record.outcome}.",
        code="request_settled",
        hint="Use a new id for a new request.",
        retry_safe=False,
        detail={"request": record.id, "outcome": str(record.outcome), "delivery": record.settled_by},
    )
