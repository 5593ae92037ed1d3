"""The decider under any order of commands and observations: what must hold, always holds."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from inspan.model.content import ErrorReported, MessageChunk, ProtocolFault
from inspan.model.delivery import FUTILE_REASONS, DeliveryState
from inspan.model.errors import UsageError
from inspan.model.events import (
    DeliveryFailed,
    DeliveryHeld,
    DeliveryQueued,
    DeliveryRefused,
    DeliverySending,
    DeliveryStarted,
    DeliveryUnknown,
    LaunchEnded,
    LaunchRequested,
    PermissionAnswered,
    PermissionOpened,
    TurnEnded,
)
from inspan.model.evolving import evolve
from inspan.model.permission import ToolCall
from inspan.model.posture import Posture, Unattended
from inspan.model.reports import (
    Connected,
    ConnectFailed,
    PermissionRequested,
    PermissionWithdrawn,
    PromptAccepted,
    PromptAnswered,
    PromptStarted,
    ReportBody,
    SessionFailed,
    SessionReady,
)
from inspan.model.request_events import RequestHandedOff, RequestSettled
from inspan.model.session import OpenedHow, ResumeOutcome
from inspan.model.state import SeatState
from inspan.model.turn import CallError, TurnOutcome
from inspan.model.turn_events import QueueReleased, TurnStuck
from inspan.seats.inputs import (
    AnswerPermission,
    CancelTurn,
    HandshakeTimedOut,
    HolderLost,
    HolderUp,
    Input,
    LaunchPlanned,
    LaunchRefused,
    LimitReset,
    PermissionsExpired,
    ProcessExited,
    QueuePrompt,
    ReleaseQueue,
    RemoveSeat,
    Resumed,
    StartSeat,
    StopSeat,
    TurnFellStuck,
    WithdrawDelivery,
    WriteEnded,
)
from inspan.seats.request_inputs import HandOff
from inspan.seats.stuck import RESTARTS_IN_A_ROW
from support.seat_scene import OPTIONS, Scene

ERROR = CallError(code="call_failed", message="it failed")
LIMITED = CallError(code="limited", message="It resets at 1pm (UTC).")
UNSIGNED = CallError(code="auth_required", message="sign in")
ACTIVE = CallError(code="active_run", message="already has an active run")
_FINAL = (DeliveryStarted, DeliveryRefused, DeliveryFailed)


class AnySeat(RuleBasedStateMachine):
    """Commands may be refused; observations may be late, doubled, or of an earlier launch."""

    def __init__(self) -> None:
        super().__init__()
        self.scene = Scene(posture=Posture(permission_timeout_s=50, unattended=Unattended.PERSON))
        self.prompts = 0
        self.launches: list[str] = []

    def command(self, given: Input) -> None:
        before = self.scene.state
        length = len(self.scene.log)
        is_refused = False
        try:
            self.scene.give(given)
        except UsageError:
            is_refused = True
        if is_refused:
            assert self.scene.state is before
            assert len(self.scene.log) == length
        self.note_launch()

    def observe(self, given: Input) -> None:
        self.scene.give(given)
        self.note_launch()

    def note_launch(self) -> None:
        launch = self.scene.seat.launch
        if launch is not None and launch.id not in self.launches:
            self.launches.append(launch.id)

    def launch(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(self.launches[-2:]))

    def delivery(self, data: st.DataObject) -> str:
        flight = self.scene.seat.in_flight
        known = [] if flight is None else [flight.delivery] * 3
        return data.draw(st.sampled_from([*known, *(f"d-{n}" for n in range(1, self.prompts + 2))]))

    @rule()
    def send(self) -> None:
        self.prompts += 1
        request = f"r-{self.prompts}" if self.prompts % 2 else ""
        self.command(QueuePrompt(delivery=f"d-{self.prompts}", text="hello", request=request))

    @rule(data=st.data())
    def hand_off(self, data: st.DataObject) -> None:
        seat = self.scene.seat
        waiting = [prompt.delivery for prompt in seat.queue if prompt.request]
        if seat.in_flight is not None and seat.in_flight.request:
            waiting.append(seat.in_flight.delivery)
        if waiting:
            delivery = data.draw(st.sampled_from(waiting))
            number = delivery.removeprefix("d-")
            self.command(
                HandOff(
                    request=f"r-{number}",
                    delivery=delivery,
                    to_seat="other",
                    next_delivery=f"n-{number}-{len(self.scene.log)}",
                )
            )

    @rule(fresh=st.booleans())
    def start(self, fresh: bool) -> None:
        self.command(StartSeat(fresh=fresh))

    @rule()
    def stop(self) -> None:
        self.command(StopSeat())

    @rule()
    def cancel(self) -> None:
        self.command(CancelTurn())

    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        self.command(WithdrawDelivery(delivery=self.delivery(data)))

    @rule(data=st.data(), decision=st.sampled_from(["allow", "deny"]))
    def answer(self, data: st.DataObject, decision: str) -> None:
        known = [d.event.request for d in self.scene.log if isinstance(d.event, PermissionOpened)]
        request = data.draw(st.sampled_from([*known, "p-none"]))
        self.command(AnswerPermission(request=request, decision=decision))  # pyright: ignore[reportArgumentType]

    @rule(seconds=st.sampled_from([1, 60]))
    def expire(self, seconds: int) -> None:
        self.scene.now += timedelta(seconds=seconds)
        self.observe(PermissionsExpired())

    @rule(hours=st.sampled_from([0, 3]))
    def limits_end(self, hours: int) -> None:
        self.scene.now += timedelta(hours=hours)
        self.observe(LimitReset())

    @rule()
    def release(self) -> None:
        self.command(ReleaseQueue())

    @rule(is_old=st.booleans())
    def turn_falls_stuck(self, is_old: bool) -> None:
        flight, last = self.scene.seat.in_flight, self.scene.seat.last_turn
        if is_old and last is not None:
            self.observe(TurnFellStuck(turn=last.turn, after_s=60))
        elif flight is not None:
            self.observe(TurnFellStuck(turn=flight.turn, after_s=60))

    @rule()
    def resumed(self) -> None:
        self.observe(Resumed())

    @rule()
    def remove(self) -> None:
        if self.scene.seat.live_launch is not None:
            self.command(RemoveSeat())

    @precondition(lambda self: bool(self.launches))
    @rule(data=st.data())
    def launch_goes_on(self, data: st.DataObject) -> None:
        launch = self.launch(data)
        planned = LaunchPlanned(
            launch=launch, nonce="n", directory="/d", program="/p", arguments=(), transport="acp"
        )
        self.observe(
            data.draw(
                st.sampled_from(
                    [
                        planned,
                        HolderUp(launch=launch, pid=1, holder_pid=2),
                        LaunchRefused(launch=launch, error=ERROR),
                        HandshakeTimedOut(launch=launch, timeout_s=1),
                    ]
                )
            )
        )

    @precondition(lambda self: bool(self.launches))
    @rule()
    def session_opens(self) -> None:
        launch = self.launches[-1]
        self.observe(
            LaunchPlanned(launch=launch, nonce="n", directory="/d", program="/p", arguments=(), transport="a")
        )
        self.observe(HolderUp(launch=launch, pid=1, holder_pid=2))
        self.scene.report(SessionReady(session_id="s-1", how=OpenedHow.NEW), launch=launch)

    @rule()
    def a_turn_runs(self) -> None:
        """The way that random steps rarely find: a prompt, an open session, and work on it."""
        self.send()
        if self.scene.seat.live_launch is not None:
            self.session_opens()
        flight, launch = self.scene.seat.in_flight, self.scene.seat.live_launch
        if flight is not None and launch is not None:
            self.observe(WriteEnded(launch=launch.id, delivery=flight.delivery, result="done"))
            self.scene.report(PromptStarted(delivery=flight.delivery))

    @rule(error=st.sampled_from([None, ERROR, LIMITED, UNSIGNED, ACTIVE]))
    def the_turn_meets(self, error: CallError | None) -> None:
        """It ends well, or with an error, or shows one without an end after which nothing comes."""
        flight, launch = self.scene.seat.in_flight, self.scene.seat.live_launch
        if flight is None or launch is None:
            return
        if error is ERROR:
            self.scene.report(ErrorReported(error=ERROR))
            self.observe(TurnFellStuck(turn=flight.turn, after_s=60))
            return
        outcome = TurnOutcome.COMPLETED if error is None else TurnOutcome.FAILED
        self.scene.report(
            PromptAnswered(delivery=flight.delivery, outcome=outcome, raw_reason="", error=error)
        )

    @rule()
    def a_stop_comes_to_its_end(self) -> None:
        launch = self.scene.seat.live_launch
        if launch is not None and launch.status == "stopping":
            self.observe(ProcessExited(launch=launch.id, signal=9))

    @precondition(lambda self: bool(self.launches))
    @rule(data=st.data(), result=st.sampled_from(["done", "done", "clean", "cut"]))
    def write_ends(self, data: st.DataObject, result: str) -> None:
        given = WriteEnded(
            launch=self.launch(data),
            delivery=self.delivery(data),
            result=result,  # pyright: ignore[reportArgumentType]
        )
        self.observe(given)

    @precondition(lambda self: bool(self.launches))
    @rule(data=st.data())
    def harness_says(self, data: st.DataObject) -> None:
        delivery = self.delivery(data)
        bodies: list[ReportBody] = [
            Connected(protocol_version=1),
            ConnectFailed(error=ERROR),
            SessionFailed(outcome=ResumeOutcome.MISSING, error=ERROR),
            PromptAccepted(delivery=delivery),
            PromptStarted(delivery=delivery),
            PromptAnswered(delivery=delivery, outcome=TurnOutcome.COMPLETED, raw_reason="end_turn"),
            PromptAnswered(delivery=delivery, outcome=TurnOutcome.CANCELLED, raw_reason="cancelled"),
            PromptAnswered(delivery=delivery, outcome=TurnOutcome.FAILED, raw_reason="", error=ERROR),
            PromptAnswered(delivery=delivery, outcome=TurnOutcome.LIMITED, raw_reason="", error=LIMITED),
            PromptAnswered(delivery=delivery, outcome=TurnOutcome.FAILED, raw_reason="", error=UNSIGNED),
            PromptAnswered(delivery=delivery, outcome=TurnOutcome.FAILED, raw_reason="", error=ACTIVE),
            ErrorReported(error=ERROR),
            PermissionRequested(wire_id="1", tool_call=ToolCall(id="c"), options=OPTIONS),
            PermissionWithdrawn(wire_id="1"),
            MessageChunk(role="agent", text="x"),
            ProtocolFault(code="frame_too_large", message="too large", fatal=True),
        ]
        self.scene.report(data.draw(st.sampled_from(bodies)), launch=self.launch(data))
        self.note_launch()

    @precondition(lambda self: bool(self.launches))
    @rule(data=st.data(), lost=st.booleans())
    def process_ends(self, data: st.DataObject, lost: bool) -> None:
        launch = self.launch(data)
        self.observe(HolderLost(launch=launch) if lost else ProcessExited(launch=launch, exit_code=0))

    @invariant()
    def a_rebuild_equals_the_state(self) -> None:
        state: SeatState | None = None
        for draft in self.scene.log:
            state = evolve(state, draft)
        assert state == self.scene.state

    @invariant()
    def a_prompt_is_sent_again_only_after_it_was_certainly_not_sent(self) -> None:
        is_open: set[str] = set()
        for draft in self.scene.log:
            match draft.event:
                case DeliverySending(delivery=delivery):
                    assert delivery not in is_open
                    is_open.add(delivery)
                case DeliveryHeld(delivery=delivery):
                    is_open.discard(delivery)
                case _:
                    pass

    @invariant()
    def every_prompt_is_somewhere_and_only_once(self) -> None:
        accepted = {d.event.delivery for d in self.scene.log if isinstance(d.event, DeliveryQueued)}
        waiting = [p.delivery for p in self.scene.seat.queue]
        flight = self.scene.seat.in_flight
        if flight is not None:
            waiting.append(flight.delivery)
        assert len(waiting) == len(set(waiting))
        gone = {d.event.delivery for d in self.scene.log if isinstance(d.event, (*_FINAL, DeliveryUnknown))}
        assert accepted == set(waiting) | gone
        assert not gone & {p.delivery for p in self.scene.seat.queue}

    @invariant()
    def a_final_state_is_reached_once(self) -> None:
        finals = Counter(d.event.delivery for d in self.scene.log if isinstance(d.event, _FINAL))
        assert all(count == 1 for count in finals.values())

    @invariant()
    def every_turn_and_every_request_ends_at_most_once(self) -> None:
        turns = Counter(d.event.turn for d in self.scene.log if isinstance(d.event, TurnEnded))
        answers = Counter(d.event.request for d in self.scene.log if isinstance(d.event, PermissionAnswered))
        ends = Counter(d.event.launch for d in self.scene.log if isinstance(d.event, LaunchEnded))
        assert all(count == 1 for count in (*turns.values(), *answers.values(), *ends.values()))

    @invariant()
    def an_attempt_settles_its_request_or_hands_it_off_at_most_once(self) -> None:
        done: Counter[str] = Counter()
        ended: dict[str, TurnOutcome] = {}
        for draft in self.scene.log:
            match draft.event:
                case RequestSettled(delivery=delivery) | RequestHandedOff(delivery=delivery):
                    done[delivery] += 1
                case TurnEnded(delivery=delivery, outcome=outcome):
                    ended[delivery] = outcome
                case _:
                    pass
        assert all(count == 1 for count in done.values())
        settled = {d.event.delivery for d in self.scene.log if isinstance(d.event, RequestSettled)}
        for draft in self.scene.log:
            if isinstance(draft.event, DeliveryQueued) and draft.event.request:
                is_answered = ended.get(draft.event.delivery) is TurnOutcome.COMPLETED
                assert not is_answered or draft.event.delivery in settled
        here = {prompt.delivery for prompt in self.scene.seat.queue}
        if self.scene.seat.in_flight is not None:
            here.add(self.scene.seat.in_flight.delivery)
        assert {one.delivery for one in self.scene.seat.handoffs} <= here

    @invariant()
    def one_launch_lives_at_a_time(self) -> None:
        live: str | None = None
        for draft in self.scene.log:
            match draft.event:
                case LaunchRequested(launch=launch):
                    assert live is None
                    live = launch
                case LaunchEnded(launch=launch):
                    assert launch == live
                    live = None
                case _:
                    pass

    @invariant()
    def nothing_is_open_without_a_launch(self) -> None:
        seat = self.scene.seat
        if seat.live_launch is None:
            assert seat.in_flight is None
            assert seat.permissions == ()
            assert not seat.session_open
            assert seat.activity.value == "unknown"
            assert all(p.held is not None for p in seat.queue)

    @invariant()
    def a_turn_is_stuck_once_with_an_error_and_while_nobody_is_asked(self) -> None:
        seen: set[str] = set()
        errors: set[str | None] = set()
        asked: set[str] = set()
        for draft in self.scene.log:
            match draft.event:
                case ErrorReported():
                    errors.add(draft.turn)
                case TurnEnded(turn=turn, error=error) if error == ACTIVE:
                    errors.add(turn)
                case PermissionOpened(request=request):
                    asked.add(request)
                case PermissionAnswered(request=request):
                    asked.discard(request)
                case TurnStuck(turn=turn):
                    assert turn not in seen
                    assert turn in errors
                    assert not asked
                    seen.add(turn)
                case _:
                    pass

    @invariant()
    def restarts_resume_what_was_stuck_and_are_bounded(self) -> None:
        row, newest = 0, None
        for draft in self.scene.log:
            match draft.event:
                case TurnStuck():
                    newest = draft.event
                case LaunchRequested(by="stuck", attempt=attempt):
                    assert newest is not None
                    assert (newest.action, attempt) == ("restart", "resume")
                    row += 1
                    assert row <= RESTARTS_IN_A_ROW
                case LaunchRequested() | TurnEnded(outcome=TurnOutcome.COMPLETED):
                    row = 0
                case QueueReleased(by="operator"):
                    row = 0
                case _:
                    pass

    @invariant()
    def what_is_held_as_futile_is_sent_only_after_it_was_released(self) -> None:
        held: set[str] = set()
        for draft in self.scene.log:
            match draft.event:
                case DeliveryHeld(delivery=delivery, why=why):
                    if why in FUTILE_REASONS:
                        held.add(delivery)
                case QueueReleased() | LaunchRequested(by="operator"):
                    held.clear()
                case DeliverySending(delivery=delivery):
                    assert delivery not in held
                case _:
                    pass

    @invariant()
    def an_idle_seat_was_said_to_be_idle(self) -> None:
        seat = self.scene.seat
        if seat.activity.value == "idle":
            assert seat.session_open
            assert seat.activity.source == "protocol"

    @invariant()
    def a_started_prompt_never_becomes_something_else(self) -> None:
        flight = self.scene.seat.in_flight
        if flight is not None and flight.state is DeliveryState.STARTED:
            assert any(
                isinstance(d.event, DeliveryStarted) and d.event.delivery == flight.delivery
                for d in self.scene.log
            )


TestAnySeat = AnySeat.TestCase
TestAnySeat.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
