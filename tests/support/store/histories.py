"""Histories of several seats, drawn by hypothesis: plausible on the whole, with late and stray events among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from hypothesis import strategies as st

from inspan.model.content import ConfigUpdated, ModeUpdated, SessionInfoUpdated, UsageUpdated
from inspan.model.delivery import HeldReason
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
    Event,
    EventDraft,
    LaunchEnded,
    PermissionAnswered,
    SeatRemoved,
    StopRequested,
    TurnEnded,
)
from inspan.model.evidence import Source
from inspan.model.evolving import evolve
from inspan.model.permission import AnsweredBy, Decision
from inspan.model.request_events import (
    HandoffDeclared,
    HandoffFailed,
    RequestHandedOff,
    RequestSettled,
)
from inspan.model.state import SeatState
from inspan.model.turn import TurnOutcome

from .drafts import ERROR, add_seat, chunk, draft, launch, open_permission

__all__ = ["histories"]

Kind = Literal[
    "add",
    "remove",
    "launch",
    "stop",
    "end_launch",
    "queue",
    "hold",
    "send",
    "sent",
    "accepted",
    "rendered",
    "started",
    "refuse",
    "fail",
    "unknown",
    "end_turn",
    "cancel",
    "ask",
    "answer",
    "say",
    "usage",
    "hand_off",
    "handed_off",
    "handoff_failed",
    "settle",
    "mode",
    "config",
    "title",
]
_KINDS: tuple[Kind, ...] = get_args(Kind)
_SEATS = ("a", "b")
_SOURCES = (Source.PROTOCOL, Source.CORE, Source.PROCESS, Source.OPERATOR)
_OUTCOMES = tuple(TurnOutcome)

_STEP = st.tuples(
    st.sampled_from(_KINDS),
    st.sampled_from(_SEATS),
    st.integers(0, 5),
    st.sampled_from(_SOURCES),
    # Most events are of the newest launch; the others are late, stray, or of no launch.
    st.sampled_from(("newest", "newest", "newest", "earlier", "none")),
)


def histories() -> st.SearchStrategy[list[EventDraft]]:
    """Lists of events that a log accepts: every seat is added before anything else is said of it."""
    return st.lists(_STEP, min_size=1, max_size=60).map(_History.write)


class _History:
    def __init__(self) -> None:
        self.drafts: list[EventDraft] = []
        self.states: dict[str, SeatState] = {}
        self.launches: dict[str, list[str]] = {seat: [] for seat in _SEATS}
        self.deliveries: list[str] = []
        self.turns: list[tuple[str, str]] = []
        self.requests: list[str] = []

    @staticmethod
    def write(steps: Sequence[tuple[Kind, str, int, Source, str]]) -> list[EventDraft]:
        history = _History()
        for kind, seat, number, source, whose in steps:
            if seat not in history.states:
                history.tell(add_seat(seat))
            for event in history.events(kind, seat, number, whose):
                history.tell(
                    event
                    if isinstance(event, EventDraft)
                    else history.sign(event, seat, source, whose, number)
                )
        return history.drafts

    def tell(self, one: EventDraft) -> None:
        self.drafts.append(one)
        self.states[one.seat] = evolve(self.states.get(one.seat), one)

    def sign(self, event: Event, seat: str, source: Source, whose: str, number: int) -> EventDraft:
        launches = self.launches[seat]
        name = None
        if launches and whose == "newest":
            name = launches[-1]
        elif launches and whose == "earlier":
            name = launches[number % len(launches)]
        return draft(event, seat=seat, launch=name, source=source, after_s=len(self.drafts))

    def events(self, kind: Kind, seat: str, number: int, whose: str) -> tuple[Event | EventDraft, ...]:
        state = self.states[seat]
        delivery = self._delivery(state, number, whose)
        turn, of_delivery = self._turn(state, number, whose)
        request = self.requests[number % len(self.requests)] if self.requests else "p0"
        live = state.live_launch
        match kind:
            case "add":
                return (add_seat(seat),) if state.removed else ()
            case "remove":
                return () if live else (SeatRemoved(),)
            case "launch":
                if live:
                    return ()
                name = f"l{sum(map(len, self.launches.values()))}"
                self.launches[seat].append(name)
                return launch(name, seat=seat, attempt="fresh" if number % 2 else "resume")
            case "stop":
                return (StopRequested(launch=live.id),) if live else ()
            case "end_launch":
                return (LaunchEnded(launch=live.id, reason="exit", exit_code=number),) if live else ()
            case "queue":
                new = f"d{len(self.deliveries)}"
                self.deliveries.append(new)
                request = f"r{number}" if number % 2 else ""
                queued = new if number else delivery
                return (DeliveryQueued(delivery=queued, text=f"prompt {number}", request=request),)
            case "hold":
                return (DeliveryHeld(delivery=delivery, why=HeldReason.HARNESS_EXITED, error=ERROR),)
            case "send":
                if not live or state.in_flight:
                    return ()
                new = f"t{len(self.turns)}"
                self.turns.append((new, delivery))
                return (DeliverySending(delivery=delivery, turn=new),)
            case "sent":
                return (DeliverySent(delivery=delivery),)
            case "accepted":
                return (DeliveryAccepted(delivery=delivery),)
            case "rendered":
                return (DeliveryRendered(delivery=delivery),)
            case "started":
                return (DeliveryStarted(delivery=delivery),)
            case "refuse":
                return (DeliveryRefused(delivery=delivery, error=ERROR),)
            case "fail":
                return (DeliveryFailed(delivery=delivery, error=ERROR),)
            case "unknown":
                return (DeliveryUnknown(delivery=delivery, error=ERROR),)
            case "end_turn":
                return (TurnEnded(turn=turn, delivery=of_delivery, outcome=_OUTCOMES[number]),)
            case "cancel":
                return (CancelRequested(turn=turn),)
            case "ask":
                new = f"p{len(self.requests)}"
                self.requests.append(new)
                return (open_permission(new, launch="").event,)
            case "answer":
                decision = Decision.ALLOW if number % 2 else Decision.CANCELLED
                by = AnsweredBy.OPERATOR if number % 2 else AnsweredBy.HARNESS
                return (PermissionAnswered(request=request, wire_id="w", decision=decision, by=by),)
            case "say":
                return (chunk(f"word {number}").event,)
            case "usage":
                return (UsageUpdated(used=number, size=10, cost={"EUR": number / 3}),)
            case "hand_off":
                to = _SEATS[number % 2]
                return (
                    HandoffDeclared(
                        request=f"r{number}", delivery=delivery, to_seat=to, next_delivery=f"n{number}"
                    ),
                )
            case "handed_off":
                return (
                    RequestHandedOff(
                        request=f"r{number}", delivery=delivery, to_seat="b", next_delivery=f"n{number}"
                    ),
                )
            case "handoff_failed":
                return (
                    HandoffFailed(request=f"r{number}", next_delivery=f"n{number}", to_seat="b", error=ERROR),
                )
            case "settle":
                return (RequestSettled(request=f"r{number}", delivery=delivery, outcome=_OUTCOMES[number]),)
            case "mode":
                return (ModeUpdated(current=f"mode {number}"),)
            case "config":
                return (ConfigUpdated(values={f"option {number}": {"nested": [number, None]}}),)
            case "title":
                return (SessionInfoUpdated(title=f"title {number}"),)

    def _delivery(self, state: SeatState, number: int, whose: str) -> str:
        """Mostly the one that the seat is busy with, or the next; sometimes any other."""
        if whose == "newest" and state.in_flight:
            return state.in_flight.delivery
        if whose == "newest" and state.queue:
            return state.queue[0].delivery
        return self.deliveries[number % len(self.deliveries)] if self.deliveries else "d0"

    def _turn(self, state: SeatState, number: int, whose: str) -> tuple[str, str]:
        if whose == "newest" and state.in_flight:
            return state.in_flight.turn, state.in_flight.delivery
        return self.turns[number % len(self.turns)] if self.turns else ("t0", "d0")
