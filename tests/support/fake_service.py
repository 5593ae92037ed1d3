"""A scripted service: seats, deliveries and permissions in memory, every change an event in a log.

It does at once what a harness would do in time: a prompt is accepted and its turn ends with `completed`, unless
the prompt's text asks for something else (`hold`, `fail`, `wait`, `ask`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from inspan.model.console_views import PressKeys
from inspan.model.conversation import ListedSession
from inspan.model.delivery import DeliveryState, HeldReason
from inspan.model.errors import HarnessError, UsageError
from inspan.model.events import (
    DeliveryFailed,
    DeliveryHeld,
    DeliveryQueued,
    DeliverySending,
    DeliveryStarted,
    Envelope,
    Event,
    PermissionAnswered,
    PermissionOpened,
    SeatAdded,
    SeatRemoved,
    TurnEnded,
    event_type,
)
from inspan.model.evidence import Source
from inspan.model.permission import AnsweredBy, Decision, OptionKind, PermissionOption, ToolCall
from inspan.model.plan import ProbeResult
from inspan.model.posture import Posture
from inspan.model.question import QuestionAction
from inspan.model.session import IdentityState
from inspan.model.session_views import (
    AnswerQuestion,
    ConfigureSeat,
    DeletedSession,
    DeleteSession,
    ForkSeat,
    QuestionView,
    SessionsView,
)
from inspan.model.turn import CallError, TurnOutcome
from inspan.model.views import (
    ActivityView,
    AddSeat,
    AnswerPermission,
    DeliveryView,
    ExplainView,
    HarnessView,
    LaunchView,
    ModeView,
    PermissionView,
    SeatView,
    SendPrompt,
    SessionView,
    StoreReport,
    TurnView,
    UsageView,
)
from support.fake_hooks import FakeHooks
from support.fake_requests import FakeRequests
from support.fake_resources import FakeResources
from support.fake_terminals import FakeTerminals

__all__ = ["HARNESS", "FakeLog", "FakeService"]

HARNESS = "scripted-one"
_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_OPTIONS = (
    PermissionOption(id="yes", name="Yes", kind=OptionKind.ALLOW_ONCE, raw_kind="allow_once"),
    PermissionOption(id="no", name="No", kind=OptionKind.REJECT_ONCE, raw_kind="reject_once"),
)


class FakeLog:
    """A log in memory. It fulfils `EventLog`."""

    def __init__(self) -> None:
        self.status = "ok"
        self.kept: list[Envelope] = []
        self.reads = 0
        self._listeners: list[Callable[[tuple[Envelope, ...]], None]] = []

    def last_position(self) -> int:
        return len(self.kept)

    def events(
        self,
        *,
        after: int = 0,
        seat: str | None = None,
        types: frozenset[str] | None = None,
        limit: int = 1000,
    ) -> list[Envelope]:
        self.reads += 1
        wanted: list[Envelope] = []
        for envelope in self.kept[after:]:
            if (seat is None or envelope.seat == seat) and (types is None or envelope.type in types):
                wanted.append(envelope)
            if len(wanted) == limit:
                break
        return wanted

    def subscribe(self, callback: Callable[[tuple[Envelope, ...]], None], /) -> Callable[[], None]:
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback) if callback in self._listeners else None

    def append(self, seat: str, *events: Event) -> tuple[Envelope, ...]:
        """Adds events in one batch, and tells the listeners."""
        batch = tuple(
            Envelope(
                position=len(self.kept) + number,
                at=_AT,
                seat=seat,
                source=Source.CORE,
                rule="script",
                type=event_type(event),
                version=1,
                event=event,
            )
            for number, event in enumerate(events, start=1)
        )
        self.kept.extend(batch)
        for listener in tuple(self._listeners):
            listener(batch)
        return batch

    async def check(self) -> StoreReport:
        return StoreReport(ok=True, events=len(self.kept), last_position=len(self.kept))

    async def rebuild(self) -> StoreReport:
        return StoreReport(ok=True, events=len(self.kept), last_position=len(self.kept), rebuilt=True)


class FakeService(FakeRequests, FakeHooks, FakeResources, FakeTerminals):
    """A service in memory. It fulfils `SeatService`."""

    def __init__(self, log: FakeLog) -> None:
        super().__init__()
        self.log = log
        self.asked_to_stop: list[str] = []
        self.released: list[str] = []
        self.never_ends = False
        self.configured: list[ConfigureSeat] = []
        self.questions: list[QuestionView] = []
        self._seats: dict[str, SeatView] = {}
        self._deliveries: dict[str, DeliveryView] = {}
        self._turns: dict[str, TurnView] = {}
        self._permissions: dict[str, PermissionView] = {}

    async def list_harnesses(self) -> Sequence[HarnessView]:
        return [await self.get_harness(HARNESS)]

    async def get_harness(self, harness: str) -> HarnessView:
        if harness != HARNESS:
            raise UsageError(
                f"No harness {harness} is registered.",
                code="unknown_harness",
                hint="See `inspan harness list`.",
            )
        return HarnessView(
            id=HARNESS,
            name="Scripted",
            origin="user",
            folder="nowhere",
            maintainer="nobody",
            tier="community",
            default_mode="acp",
            modes=(ModeView(id="acp", transport="memory"),),
            scripted=True,
        )

    async def probe_harness(self, harness: str) -> ProbeResult:
        await self.get_harness(harness)
        raise HarnessError(
            "The program was not found.", code="not_installed", hint="Install it.", detail={"looked": ["x"]}
        )

    async def press_keys(self, name: str, request: PressKeys) -> SeatView:
        self.press(name, request)
        return await self.get_seat(name)

    async def add_seat(self, request: AddSeat) -> SeatView:
        await self.get_harness(request.harness)
        if request.name in self._seats:
            raise UsageError(f"The seat {request.name} exists.", code="seat_exists", hint="Choose another.")
        if not _is_folder(request.workspace):
            raise UsageError("There is no such folder.", code="workspace_missing", hint="Make it.")
        view = SeatView(
            name=request.name,
            harness=request.harness,
            mode=request.mode or "acp",
            workspace=request.workspace,
            posture=request.posture or Posture(),
            status="stopped",
            activity=ActivityView(value="unknown", source=Source.CORE, rule="none"),
            session=SessionView(identity=IdentityState.NOT_YET, open=False),
            usage=UsageView(status="not_yet"),
            environment=tuple(request.environment),
        )
        self._seats[view.name] = view
        self.log.append(
            view.name,
            SeatAdded(
                harness=view.harness,
                mode=view.mode,
                workspace=view.workspace,
                posture=view.posture,
                environment=request.environment,
            ),
        )
        return view

    async def list_seats(self) -> Sequence[SeatView]:
        return list(self._seats.values())

    async def get_seat(self, name: str) -> SeatView:
        if name not in self._seats:
            raise UsageError(f"There is no seat {name}.", code="unknown_seat", hint="See `inspan seat list`.")
        return self._seats[name]

    async def remove_seat(self, name: str, *, stop: bool = False, delete_config: bool = False) -> SeatView:
        seat = await self.get_seat(name)
        if seat.launch is not None and seat.launch.status != "ended" and not stop:
            raise UsageError("It runs.", code="seat_running", hint="Stop it first.")
        self.log.append(name, SeatRemoved())
        return self._seats.pop(name)

    async def fork_seat(self, name: str, request: ForkSeat) -> SeatView:
        parent = await self.get_seat(name)
        return await self.add_seat(
            AddSeat(name=request.name, harness=parent.harness, workspace=parent.workspace)
        )

    async def configure_seat(self, name: str, request: ConfigureSeat) -> SeatView:
        self.configured.append(request)
        return await self.get_seat(name)

    async def list_sessions(
        self, name: str, *, page: str | None = None, workspace: str | None = None
    ) -> SessionsView:
        await self.get_seat(name)
        listed = ListedSession(id=f"after {page}", workspace=workspace or "/w")
        return SessionsView(seat=name, sessions=(listed,), next_page="next")

    async def delete_session(self, name: str, request: DeleteSession) -> DeletedSession:
        return DeletedSession(seat=name, session=request.session)

    async def list_questions(self, *, seat: str | None = None) -> Sequence[QuestionView]:
        return [one for one in self.questions if seat in (None, one.seat)]

    async def get_question(self, request: str) -> QuestionView:
        found = [one for one in self.questions if one.id == request]
        if not found:
            raise UsageError(f"There is no open question {request!r}.", code="unknown_question")
        return found[0]

    async def answer_question(self, request: str, answer: AnswerQuestion) -> QuestionView:
        view = await self.get_question(request)
        self.questions.remove(view)
        return msgspec.structs.replace(
            view, action=QuestionAction(answer.action), content=answer.fields, reason=answer.reason
        )

    async def start_seat(self, name: str, *, fresh: bool = False, session: str | None = None) -> SeatView:
        return await self._set_launch(name, "ready", "fresh" if fresh else "resume")

    async def stop_seat(self, name: str) -> SeatView:
        seat = await self.get_seat(name)
        self.asked_to_stop.append(name)
        if seat.launch is None or self.never_ends:
            return seat
        return await self._set_launch(name, "ended", seat.launch.attempt)

    async def release_seat(self, name: str) -> SeatView:
        self.released.append(name)
        return await self.get_seat(name)

    async def send_prompt(self, name: str, request: SendPrompt, *, peer: int | None = None) -> DeliveryView:
        await self.get_seat(name)
        delivery = request.id or f"d_{len(self._deliveries) + 1}"
        known = self._deliveries.get(delivery)
        if known is not None:
            if (known.seat, known.text) != (name, request.text):
                raise UsageError(
                    "That id was used.", code="delivery_conflict", hint="Use another.", retry_safe=False
                )
            return known
        self._set(
            DeliveryView(
                id=delivery, seat=name, state=DeliveryState.QUEUED, queued_at=_AT, text=request.text
            ),
            DeliveryQueued(delivery=delivery, text=request.text),
        )
        match request.text:
            case "wait":
                pass
            case "hold":
                self._change(
                    delivery,
                    DeliveryHeld(delivery=delivery, why=HeldReason.STOPPED),
                    state=DeliveryState.HELD,
                    held=HeldReason.STOPPED,
                )
            case "fail":
                error = CallError(code="call_failed", message="No.")
                self._change(
                    delivery,
                    DeliveryFailed(delivery=delivery, error=error),
                    state=DeliveryState.FAILED,
                    error=error,
                )
            case "ask":
                self._begin_turn(delivery)
                self._open_permission(name)
            case _:
                self._begin_turn(delivery)
                self.end_turn(delivery)
        return self._deliveries[delivery]

    async def list_deliveries(self, name: str, *, limit: int = 100) -> Sequence[DeliveryView]:
        await self.get_seat(name)
        return [one for one in self._deliveries.values() if one.seat == name][-limit:]

    async def get_delivery(self, delivery: str) -> DeliveryView:
        if delivery not in self._deliveries:
            raise UsageError("There is no such delivery.", code="unknown_delivery", hint="Look at the list.")
        return self._deliveries[delivery]

    async def withdraw_delivery(self, delivery: str) -> DeliveryView:
        view = await self.get_delivery(delivery)
        if view.state is not DeliveryState.QUEUED:
            raise UsageError("It went out.", code="delivery_final", hint="Cancel its turn.")
        error = CallError(code="call_failed", message="Withdrawn.")
        self._change(
            delivery,
            DeliveryFailed(delivery=delivery, error=error),
            state=DeliveryState.REFUSED,
            error=error,
        )
        return self._deliveries[delivery]

    async def cancel_turn(self, name: str) -> SeatView:
        seat = await self.get_seat(name)
        if not any(turn.seat == name and turn.outcome is None for turn in self._turns.values()):
            raise UsageError("No turn runs.", code="no_turn", hint="There is nothing to do.")
        return seat

    async def list_turns(self, name: str, *, limit: int = 100) -> Sequence[TurnView]:
        await self.get_seat(name)
        return [one for one in self._turns.values() if one.seat == name][-limit:]

    async def get_turn(self, turn: str) -> TurnView:
        if turn not in self._turns:
            raise UsageError("There is no such turn.", code="unknown_turn", hint="Look at the list.")
        return self._turns[turn]

    async def list_permissions(
        self, *, seat: str | None = None, include_closed: bool = False
    ) -> Sequence[PermissionView]:
        return [
            one
            for one in self._permissions.values()
            if seat in (None, one.seat) and (include_closed or one.decision is None)
        ]

    async def get_permission(self, request: str) -> PermissionView:
        if request not in self._permissions:
            raise UsageError("There is no such request.", code="unknown_permission", hint="Look at the list.")
        return self._permissions[request]

    async def answer_permission(self, request: str, answer: AnswerPermission) -> PermissionView:
        view = await self.get_permission(request)
        if view.decision is not None:
            raise UsageError(
                "It was answered.", code="permission_closed", hint="Nothing is left to do.", retry_safe=False
            )
        if answer.seat not in (None, view.seat):
            raise UsageError(
                "It is another seat's.", code="permission_of_other_seat", hint="Name the right one."
            )
        option = _OPTIONS[0] if answer.decision == "allow" else _OPTIONS[1]
        view = msgspec.structs.replace(
            view, decision=Decision(answer.decision), by=AnsweredBy.OPERATOR, option=option.id
        )
        self._permissions[request] = view
        self.log.append(
            view.seat,
            PermissionAnswered(
                request=request,
                wire_id="1",
                decision=Decision(answer.decision),
                by=AnsweredBy.OPERATOR,
                option=option.id,
                option_name=option.name,
                reason=answer.reason,
            ),
        )
        for delivery in list(self._deliveries.values()):
            if delivery.seat == view.seat and delivery.text == "ask":
                self.end_turn(delivery.id)
        return view

    async def explain_seat(self, name: str) -> ExplainView:
        seat = await self.get_seat(name)
        return ExplainView(seat=name, status=seat.status, activity=seat.activity, evidence=())

    def end_turn(self, delivery: str, outcome: TurnOutcome = TurnOutcome.COMPLETED) -> None:
        """What a harness would do in time."""
        turn = f"t_{delivery}"
        if turn not in self._turns:
            self._begin_turn(delivery)
        self._turns[turn] = msgspec.structs.replace(self._turns[turn], outcome=outcome, ended_at=_AT)
        self._change(delivery, TurnEnded(turn=turn, delivery=delivery, outcome=outcome), turn_outcome=outcome)

    def _begin_turn(self, delivery: str) -> None:
        turn = f"t_{delivery}"
        self._turns[turn] = TurnView(
            id=turn, seat=self._deliveries[delivery].seat, delivery=delivery, begun_at=_AT
        )
        self._change(delivery, DeliverySending(delivery=delivery, turn=turn), turn=turn)
        self._change(delivery, DeliveryStarted(delivery=delivery), state=DeliveryState.STARTED)

    def _open_permission(self, seat: str) -> None:
        request = f"p_{len(self._permissions) + 1}"
        call = ToolCall(id="c_1", title="Run a command")
        self._permissions[request] = PermissionView(
            id=request, seat=seat, opened_at=_AT, tool_call=call, options=_OPTIONS
        )
        self.log.append(
            seat, PermissionOpened(request=request, wire_id="1", tool_call=call, options=_OPTIONS)
        )

    async def _set_launch(self, name: str, status: str, attempt: str) -> SeatView:
        seat = await self.get_seat(name)
        launch = msgspec.convert(
            {"id": "l_1", "status": status, "attempt": attempt, "begun_at": _AT}, LaunchView
        )
        self._seats[name] = msgspec.structs.replace(seat, launch=launch, status="idle")
        return self._seats[name]

    def _set(self, view: DeliveryView, event: Event) -> None:
        self._deliveries[view.id] = view
        self.log.append(view.seat, event)

    def _change(self, delivery: str, event: Event, **changes: object) -> None:
        self._set(msgspec.structs.replace(self._deliveries[delivery], **changes), event)


def _is_folder(path: str) -> bool:
    return Path(path).is_dir()
