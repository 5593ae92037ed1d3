"""One-shot runs: one prompt a process, whose end is normal."""

from __future__ import annotations

from datetime import timedelta

import pytest

from inspan.model.content import Retrying
from inspan.model.delivery import HeldReason
from inspan.model.errors import UsageError
from inspan.model.events import (
    CancelRequested,
    DeliveryFailed,
    DeliveryHeld,
    DeliveryRefused,
    DeliverySending,
    DeliveryStarted,
    DeliveryUnknown,
    LaunchEnded,
    LaunchReady,
    LaunchRequested,
    SessionOpened,
    StopRequested,
    TurnEnded,
)
from inspan.model.evidence import Source
from inspan.model.reports import (
    PromptAnswered,
    PromptReady,
    PromptStarted,
    Reported,
    SessionFailed,
    SessionReady,
    WillRetry,
)
from inspan.model.session import IdentityState, OpenedHow, ResumeOutcome
from inspan.model.turn import CallError, TurnOutcome
from inspan.seats.inputs import (
    CancelTurn,
    HandshakeTimedOut,
    HolderLost,
    HolderUp,
    LaunchPlanned,
    ProcessExited,
    QueuePrompt,
    StartSeat,
    StopSeat,
    TransportReported,
    WithdrawDelivery,
    WriteEnded,
)
from inspan.seats.view import HarnessFacts, show_seat
from support.seat_scene import Scene

ERROR = CallError(code="call_failed", message="no such conversation")


class Run(Scene):
    """A seat whose mode is one-shot."""

    def __init__(self) -> None:
        super().__init__(one_shot=True)

    def up(self) -> None:
        """From a requested launch to a process that takes its prompt."""
        planned = LaunchPlanned(
            launch=self.launch,
            nonce="n",
            directory="/d",
            program="/bin/x",
            arguments=(),
            transport="headless",
        )
        self.give(planned)
        self.give(HolderUp(launch=self.launch, pid=10, holder_pid=9))
        self.report(PromptReady())

    def begin(self, delivery: str = "d-1") -> Run:
        """A run in the middle of its turn, with a session."""
        self.send(delivery)
        self.up()
        self.wrote(delivery)
        self.report(SessionReady(session_id="s-1", how=OpenedHow.NEW))
        self.report(PromptStarted(delivery=delivery))
        return self

    def exit(self, code: int | None = 0, signal: int | None = None) -> list[object]:
        return list(self.give(ProcessExited(launch=self.launch, exit_code=code, signal=signal)))

    def told_by_exit(
        self, outcome: TurnOutcome, error: CallError | None = None, delivery: str = "d-1"
    ) -> None:
        body = PromptAnswered(delivery=delivery, outcome=outcome, raw_reason="exit", error=error)
        reported = Reported(body=body, source=Source.PROCESS, rule="headless.exit")
        self.give(TransportReported(launch=self.launch, reported=reported))

    def status(self) -> str:
        facts = HarnessFacts(name="Made Up", capabilities=self.capabilities)
        return show_seat(self.seat, facts, self.now).status


def test_a_prompt_goes_out_before_any_session_is_known() -> None:
    run = Run()
    run.send()
    run.up()
    assert run.last(LaunchReady).launch == run.launch
    assert run.last(DeliverySending).delivery == "d-1"
    assert run.seat.identity is IdentityState.NOT_YET
    assert not run.seat.session_open


def test_a_session_that_is_named_in_mid_turn_ends_no_work() -> None:
    run = Run().begin()
    assert run.count(SessionOpened) == 1
    assert run.seat.activity.value == "running"
    assert run.seat.session is not None


@pytest.mark.requirement("H-N18")
@pytest.mark.parametrize(("code", "signal"), [(0, None), (1, None), (None, 15)])
def test_a_result_and_then_any_exit_leave_the_seat_idle_with_the_result(
    code: int | None, signal: int | None
) -> None:
    run = Run().begin()
    run.answered()
    run.exit(code, signal)
    assert run.seat.last_turn is not None
    assert run.seat.last_turn.outcome is TurnOutcome.COMPLETED
    ended = run.last(LaunchEnded)
    assert (ended.reason, ended.error, ended.exit_code) == ("done", None, code)
    assert run.seat.activity.source is Source.PROTOCOL
    assert run.status() == "idle"


@pytest.mark.requirement("H-N17")
def test_prompts_that_come_during_a_run_are_separate_turns_in_runs_of_their_own() -> None:
    run = Run().begin()
    run.send("d-2")
    run.send("d-3")
    assert run.count(DeliverySending) == 1
    run.answered()
    assert run.count(DeliverySending) == 1, "the same process takes no second prompt"
    run.exit()
    assert run.count(LaunchRequested) == 2
    assert run.last(LaunchRequested).attempt == "resume"
    run.up()
    assert run.last(DeliverySending).delivery == "d-2"
    run.wrote("d-2")
    run.answered("d-2")
    run.exit()
    run.up()
    assert run.last(DeliverySending).delivery == "d-3"
    assert run.count(DeliveryHeld) == 0


def test_a_failure_by_a_result_record_holds_nothing_back() -> None:
    run = Run().begin()
    run.send("d-2")
    body = PromptAnswered(delivery="d-1", outcome=TurnOutcome.LIMITED, raw_reason="error", error=ERROR)
    run.report(body)
    run.exit(1)
    assert run.last(LaunchEnded).reason == "done"
    assert run.count(LaunchRequested) == 2


def test_an_exit_that_completes_the_turn_is_done() -> None:
    run = Run().begin()
    run.told_by_exit(TurnOutcome.COMPLETED)
    run.exit()
    assert run.last(LaunchEnded).reason == "done"
    assert run.status() == "idle"


def test_an_exit_that_fails_the_turn_holds_the_queue() -> None:
    run = Run()
    run.send("d-1")
    run.send("d-2")
    run.up()
    run.wrote()
    run.told_by_exit(TurnOutcome.FAILED, ERROR)
    assert run.last(DeliveryFailed).error == ERROR
    run.exit(41)
    assert run.last(LaunchEnded).reason == "exit"
    assert run.count(LaunchRequested) == 1
    assert [p.held for p in run.seat.queue] == [HeldReason.HARNESS_EXITED]
    run.give(StartSeat())
    run.up()
    assert run.last(DeliverySending).delivery == "d-2"


def test_a_run_that_a_signal_ended_in_mid_turn_has_failed() -> None:
    run = Run().begin()
    run.exit(None, 9)
    assert run.last(TurnEnded).outcome is TurnOutcome.FAILED
    assert run.last(LaunchEnded).reason == "exit"
    assert run.status() == "exited"


def test_a_prompt_without_a_witness_is_unknown_where_a_signal_ended_its_run() -> None:
    run = Run()
    run.send()
    run.up()
    run.wrote()
    run.exit(None, 9)
    assert run.last(DeliveryUnknown).delivery == "d-1"


def test_a_lost_holder_loses_the_turn() -> None:
    run = Run().begin()
    run.give(HolderLost(launch=run.launch))
    assert run.last(TurnEnded).outcome is TurnOutcome.LOST


def test_a_cancel_stops_the_run_and_is_the_outcome_once_it_has_ended() -> None:
    run = Run().begin()
    run.send("d-2")
    run.give(CancelTurn())
    assert run.count(CancelRequested) == 1
    assert run.last(StopRequested).by == "cancel"
    assert run.seat.in_flight is not None, "a cancel is no outcome"
    run.give(CancelTurn())
    assert run.count(StopRequested) == 1
    run.told_by_exit(TurnOutcome.CANCELLED)
    run.exit(None, 15)
    assert run.last(LaunchEnded).reason == "done"
    assert run.count(LaunchRequested) == 2, "the queue goes on"


def test_a_result_that_came_before_the_cancel_took_hold_counts() -> None:
    run = Run().begin()
    run.give(CancelTurn())
    run.answered()
    run.exit(None, 15)
    assert run.last(TurnEnded).outcome is TurnOutcome.COMPLETED
    assert run.last(LaunchEnded).reason == "done"


def test_an_operators_stop_is_no_cancel() -> None:
    run = Run().begin()
    run.send("d-2")
    run.give(StopSeat())
    run.told_by_exit(TurnOutcome.FAILED, ERROR)
    assert run.count(TurnEnded) == 0, "what the exit of a stopped process says is not believed"
    run.exit(143)
    assert run.last(TurnEnded).outcome is TurnOutcome.LOST
    assert run.last(LaunchEnded).reason == "stopped"
    assert [p.held for p in run.seat.queue] == [HeldReason.STOPPED]


def test_a_stop_after_a_cancel_is_a_stop() -> None:
    run = Run().begin()
    run.give(CancelTurn())
    run.give(StopSeat())
    run.exit(None, 15)
    assert run.last(LaunchEnded).reason == "stopped"


def test_a_prompt_that_was_never_written_returns_to_the_queue_and_waits() -> None:
    run = Run()
    run.send()
    run.up()
    run.give(WriteEnded(launch=run.launch, delivery="d-1", result="clean"))
    run.exit(1)
    assert [p.held for p in run.seat.queue] == [HeldReason.HARNESS_EXITED]
    assert run.last(LaunchEnded).reason == "exit"
    assert run.seat.turns == 0


def test_a_run_whose_prompt_was_taken_back_is_ended() -> None:
    run = Run()
    run.send()
    run.give(WithdrawDelivery(delivery="d-1"))
    run.up()
    assert run.last(StopRequested).by == "cancel"
    run.exit(None, 15)
    assert run.last(LaunchEnded).reason == "done"


def test_a_prompt_that_comes_while_an_empty_run_is_ended_gets_the_next_one() -> None:
    run = Run()
    run.send()
    run.give(WithdrawDelivery(delivery="d-1"))
    run.up()
    run.send("d-2")
    assert run.count(DeliverySending) == 0
    run.exit(0)
    run.up()
    assert run.last(DeliverySending).delivery == "d-2"


def test_a_seat_without_a_prompt_has_nothing_to_start() -> None:
    run = Run()
    with pytest.raises(UsageError) as caught:
        run.give(StartSeat())
    assert caught.value.code == "nothing_to_run"


@pytest.mark.requirement("H-N25")
def test_a_session_that_cannot_be_resumed_declines_the_prompt_and_waits_for_a_decision() -> None:
    run = Run().begin()
    run.answered()
    run.exit()
    run.send("d-2")
    run.send("d-3")
    run.up()
    run.wrote("d-2")
    answer = PromptAnswered(
        delivery="d-2", outcome=TurnOutcome.FAILED, raw_reason="exit 1", error=ERROR, declined=True
    )
    for body in (answer, SessionFailed(outcome=ResumeOutcome.MISSING, error=ERROR)):
        reported = Reported(body=body, source=Source.PROCESS, rule="headless.exit")
        run.give(TransportReported(launch=run.launch, reported=reported))
    assert run.last(DeliveryRefused).delivery == "d-2"
    run.exit(1)
    assert run.seat.resume_outcome is ResumeOutcome.MISSING
    assert [p.held for p in run.seat.queue] == [HeldReason.AWAITING_DECISION]
    assert run.seat.session is not None, "the conversation is not given up"
    run.give(StartSeat(fresh=True))
    run.up()
    assert run.last(DeliverySending).delivery == "d-3"


def test_a_run_has_no_handshake_that_could_time_out() -> None:
    run = Run()
    run.send()
    run.up()
    run.wrote()
    assert run.give(HandshakeTimedOut(launch=run.launch, timeout_s=1)) == []


def test_a_wait_for_another_attempt_has_a_time_and_ends_with_the_next_word_or_the_turn() -> None:
    run = Run().begin()
    run.report(WillRetry(delay_s=60, reason="429", attempt=1, limit=10))
    said = run.last(Retrying)
    assert said.retry_at == run.now + timedelta(seconds=60)
    assert run.seat.retrying == said
    facts = HarnessFacts(name="Made Up", capabilities=run.capabilities)
    view = show_seat(run.seat, facts, run.now)
    assert view.status == "running"
    assert "try again at 12:0" in view.activity.why
    run.answered()
    assert run.seat.retrying is None


def test_a_delivery_is_started_at_the_latest_by_its_result() -> None:
    run = Run()
    run.send()
    run.up()
    run.wrote()
    run.answered()
    assert run.count(DeliveryStarted) == 1
    assert run.seat.in_flight is None


def test_the_first_prompt_of_a_seat_needs_no_start() -> None:
    run = Run()
    (queued, requested) = run.give(QueuePrompt(delivery="d-1", text="hello"))
    assert isinstance(requested, LaunchRequested)
    assert (requested.attempt, requested.by) == ("fresh", "prompt")
    assert queued is not None
