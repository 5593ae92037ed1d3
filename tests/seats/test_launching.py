"""When a harness is started, with which session, and what its end means."""

from __future__ import annotations

import pytest

from inspan.model.capability import Claim, Support
from inspan.model.delivery import DeliveryState, HeldReason
from inspan.model.errors import UsageError
from inspan.model.events import (
    DeliveryHeld,
    DeliverySending,
    DeliveryUnknown,
    LaunchEnded,
    LaunchRequested,
    PermissionAnswered,
    SessionOpened,
    StopRequested,
    TurnEnded,
)
from inspan.model.permission import AnsweredBy, Decision
from inspan.model.reports import ConnectFailed, SessionFailed, SessionReady
from inspan.model.session import IdentityState, OpenedHow, Provenance, ResumeOutcome
from inspan.model.turn import CallError, TurnOutcome
from inspan.seats.inputs import (
    HandshakeTimedOut,
    HolderLost,
    LaunchRefused,
    ProcessExited,
    StartSeat,
    StopSeat,
    WriteEnded,
)
from inspan.seats.launching import choose_attempt
from support.seat_scene import Scene, claims

UNSUPPORTED = Claim(support=Support.UNSUPPORTED, note="Its load destroys the session.")


def ended(scene: Scene, *, code: int | None = 1, signal: int | None = None) -> None:
    scene.give(ProcessExited(launch=scene.launch, exit_code=code, signal=signal, stderr_tail="last words"))


def test_a_prompt_to_a_seat_without_a_harness_asks_for_a_fresh_launch() -> None:
    scene = Scene()
    scene.send()
    requested = scene.last(LaunchRequested)
    assert (requested.attempt, requested.by) == ("fresh", "prompt")
    assert scene.seat.queue[0].held is None


@pytest.mark.requirement("H-B28", "H-D2", "H-D14")
def test_the_session_id_that_the_harness_reports_becomes_the_identity_with_its_provenance() -> None:
    scene = Scene()
    scene.send()
    assert scene.seat.identity is IdentityState.NOT_YET
    scene.open_session("agent-1/conversation-2")
    reference = scene.last(SessionOpened).reference
    assert scene.seat.session == reference
    assert (reference.id, reference.provenance) == ("agent-1/conversation-2", Provenance.REPORTED)
    assert reference.resume_type == "made-up.session"


@pytest.mark.requirement("H-D8")
def test_a_composite_session_id_is_kept_whole() -> None:
    scene = Scene()
    scene.send()
    scene.open_session("agent-1/conversation-2")
    ended(scene)
    scene.send("d-2")
    reference = scene.last(LaunchRequested).reference
    assert reference is not None
    assert reference.id == "agent-1/conversation-2"


@pytest.mark.requirement("L7")
def test_an_exited_seat_resumes_its_conversation_with_the_next_prompt() -> None:
    scene = Scene().running()
    scene.answered()
    ended(scene, code=0)
    scene.send("d-2")
    assert scene.last(LaunchRequested).attempt == "resume"
    scene.connect()
    scene.report(SessionReady(session_id="s-1", how=OpenedHow.RESUMED))
    assert scene.seat.resume_outcome is ResumeOutcome.RESUMED
    assert scene.last(DeliverySending).delivery == "d-2"


def test_a_seat_whose_harness_cannot_resume_waits_for_a_decision() -> None:
    scene = Scene(capabilities=claims(resume=UNSUPPORTED)).running()
    scene.answered()
    ended(scene, code=0)
    launches = scene.count(LaunchRequested)
    scene.send("d-2")
    assert scene.count(LaunchRequested) == launches
    assert scene.last(DeliveryHeld).why is HeldReason.AWAITING_DECISION
    with pytest.raises(UsageError) as refusal:
        scene.give(StartSeat())
    assert refusal.value.code == "resume_decision_needed"
    assert "destroys" in refusal.value.message
    scene.give(StartSeat(fresh=True))
    assert scene.last(LaunchRequested).attempt == "fresh"
    assert scene.seat.queue[0].held is None


@pytest.mark.parametrize("support", [Support.UNKNOWN, Support.UNSUPPORTED])
def test_only_a_supported_resume_is_tried_by_itself(support: Support) -> None:
    scene = Scene(capabilities=claims(resume=Claim(support=support))).running()
    assert choose_attempt(scene.seat, scene.capabilities) is None


@pytest.mark.requirement("L7")
def test_a_session_that_is_gone_starts_nothing_in_its_place() -> None:
    scene = Scene().running()
    scene.answered()
    ended(scene)
    scene.send("d-2")
    scene.connect()
    gone = CallError(code="session_missing", message="no such session")
    scene.report(SessionFailed(outcome=ResumeOutcome.MISSING, error=gone))
    assert scene.last(StopRequested).by == "core"
    ended(scene, code=0)
    assert scene.last(LaunchEnded).error == gone
    assert scene.seat.session is not None
    assert scene.seat.session.id == "s-1"
    launches = scene.count(LaunchRequested)
    scene.send("d-3")
    assert scene.count(LaunchRequested) == launches
    assert [p.held for p in scene.seat.queue] == [HeldReason.AWAITING_DECISION] * 2
    scene.give(StartSeat())
    assert scene.last(LaunchRequested).attempt == "resume"


def test_a_launch_that_could_not_be_planned_holds_the_queue_with_the_reason() -> None:
    scene = Scene()
    scene.send()
    error = CallError(code="not_installed", message="It is not there.")
    scene.give(LaunchRefused(launch=scene.launch, error=error))
    held = scene.last(DeliveryHeld)
    assert (held.why, held.error) == (HeldReason.LAUNCH_FAILED, error)
    assert scene.last(LaunchEnded).reason == "failed"
    scene.give(StartSeat())
    assert scene.seat.queue[0].held is None


@pytest.mark.requirement("H-B23", "H-H6")
def test_a_failed_handshake_ends_the_launch_with_its_error() -> None:
    scene = Scene()
    scene.send()
    scene.connect()
    error = CallError(code="protocol_version", message="it speaks version 9")
    scene.report(ConnectFailed(error=error))
    ended(scene, code=0)
    end = scene.last(LaunchEnded)
    assert (end.reason, end.error) == ("failed", error)
    assert scene.last(DeliveryHeld).why is HeldReason.SESSION_NOT_OPENED


def test_a_session_that_does_not_open_in_time_is_said_so_and_stopped() -> None:
    scene = Scene()
    scene.send()
    scene.connect()
    scene.give(HandshakeTimedOut(launch=scene.launch, timeout_s=5))
    assert scene.last(StopRequested).by == "core"
    ended(scene, code=None, signal=15)
    assert scene.last(LaunchEnded).error is not None
    assert scene.last(LaunchEnded).reason == "failed"


def test_a_handshake_deadline_that_passes_in_an_open_session_means_nothing() -> None:
    scene = Scene().running()
    assert scene.give(HandshakeTimedOut(launch=scene.launch, timeout_s=5)) == []


@pytest.mark.requirement("H-B17", "H-N23")
def test_a_harness_that_dies_in_mid_turn_leaves_a_failed_turn_and_a_held_queue() -> None:
    scene = Scene().running()
    scene.send("d-2")
    ended(scene, code=None, signal=9)
    turn = scene.last(TurnEnded)
    assert turn.outcome is TurnOutcome.FAILED
    assert turn.error is not None
    assert "signal 9" in turn.error.message
    assert scene.last(LaunchEnded).stderr_tail == "last words"
    assert scene.seat.in_flight is None
    assert scene.seat.queue[0].held is HeldReason.HARNESS_EXITED
    assert scene.seat.activity.value == "unknown"


@pytest.mark.requirement("H-N43")
def test_a_lost_holder_leaves_a_lost_turn_and_never_an_idle_seat() -> None:
    scene = Scene().running()
    scene.give(HolderLost(launch=scene.launch))
    assert scene.last(TurnEnded).outcome is TurnOutcome.LOST
    assert scene.last(LaunchEnded).reason == "holder_lost"
    assert scene.seat.activity.value == "unknown"


def test_a_prompt_that_was_never_written_returns_to_the_head_of_the_queue() -> None:
    scene = Scene()
    scene.send("d-1")
    scene.send("d-2")
    scene.open_session()
    assert scene.seat.in_flight is not None
    assert scene.seat.in_flight.state is DeliveryState.SENDING
    scene.give(HolderLost(launch=scene.launch))
    assert scene.seat.in_flight is None
    assert [(p.delivery, p.held) for p in scene.seat.queue] == [
        ("d-1", HeldReason.HOLDER_LOST),
        ("d-2", HeldReason.HOLDER_LOST),
    ]
    assert scene.count(TurnEnded) == 0
    assert scene.seat.turns == 0


@pytest.mark.requirement("H-E3", "H-C9")
def test_a_prompt_that_was_written_without_a_witness_ends_as_unknown() -> None:
    scene = Scene()
    scene.send()
    scene.open_session()
    scene.wrote()
    ended(scene)
    assert scene.last(DeliveryUnknown).delivery == "d-1"
    assert scene.last(TurnEnded).outcome is TurnOutcome.FAILED


def test_a_write_that_was_cut_ends_as_unknown_and_is_never_repeated() -> None:
    scene = Scene()
    scene.send()
    scene.open_session()
    scene.give(WriteEnded(launch=scene.launch, delivery="d-1", result="cut"))
    ended(scene)
    assert scene.last(DeliveryUnknown).delivery == "d-1"
    assert scene.seat.queue == ()


def test_a_stop_is_recorded_as_a_stop_and_its_open_turn_is_lost() -> None:
    scene = Scene().running()
    scene.ask()
    scene.send("d-2")
    scene.give(StopSeat())
    scene.give(StopSeat())
    assert scene.count(StopRequested) == 1
    ended(scene, code=0)
    assert scene.last(LaunchEnded).reason == "stopped"
    assert scene.last(TurnEnded).outcome is TurnOutcome.LOST
    assert scene.seat.queue[0].held is HeldReason.STOPPED
    settled = scene.last(PermissionAnswered)
    assert (settled.decision, settled.by) == (Decision.CANCELLED, AnsweredBy.LAUNCH_END)


def test_a_stop_before_the_harness_runs_ends_the_launch_as_stopped() -> None:
    scene = Scene()
    scene.send()
    scene.give(StopSeat())
    scene.give(LaunchRefused(launch=scene.launch, error=CallError(code="launch_failed", message="stopped")))
    assert scene.last(LaunchEnded).reason == "stopped"
    assert scene.seat.queue[0].held is HeldReason.STOPPED


def test_a_fresh_start_over_a_running_harness_is_refused() -> None:
    scene = Scene().running()
    with pytest.raises(UsageError) as refusal:
        scene.give(StartSeat(fresh=True))
    assert refusal.value.code == "seat_running"
    assert scene.give(StartSeat()) == []


def test_what_an_earlier_launch_says_settles_no_new_turn_and_replaces_no_identity() -> None:
    scene = Scene().running()
    old = scene.launch
    ended(scene)
    scene.send("d-2")
    scene.connect()
    scene.report(SessionReady(session_id="s-1", how=OpenedHow.RESUMED))
    before = scene.seat
    assert scene.report(SessionReady(session_id="stranger", how=OpenedHow.NEW), launch=old) == []
    assert scene.give(ProcessExited(launch=old, exit_code=0)) == []
    assert scene.seat == before
