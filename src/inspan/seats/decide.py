"""The decider: (state, input, context) -> events. Pure; everything else acts on what it decides."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_never

from inspan.model.console import ConsoleJudged
from inspan.model.content import ProtocolFault, Retrying, UnknownMessage
from inspan.model.errors import UsageError
from inspan.model.events import EventDraft, SeatAdded, SeatRemoved, StopRequested
from inspan.model.evidence import Source
from inspan.model.reports import (
    Connected,
    ConnectFailed,
    PermissionRequested,
    PermissionWithdrawn,
    PromptAccepted,
    PromptAnswered,
    PromptCorrected,
    PromptReady,
    PromptRendered,
    PromptStarted,
    PromptTakenBack,
    QuestionAsked,
    QuestionWithdrawn,
    Reported,
    SessionFailed,
    SessionReady,
    WillRetry,
)
from inspan.model.session_events import SeatForked
from inspan.model.state import SeatState
from inspan.model.turn import CallError

from . import (
    console_turns,
    handoffs,
    holds,
    launching,
    one_shot,
    permissions,
    questions,
    sessions,
    stuck,
    turns,
)
from .decision import Context, Decision
from .inputs import (
    AddSeat,
    AnswerPermission,
    CancelTurn,
    ConsoleFree,
    HandshakeTimedOut,
    HolderLost,
    HolderUp,
    Input,
    LaunchPlanned,
    LaunchRefused,
    LimitReset,
    PermissionsExpired,
    PressKeys,
    ProcessExited,
    QueuePrompt,
    ReleaseQueue,
    RemoveSeat,
    Resumed,
    SessionLookedUp,
    StartSeat,
    StopSeat,
    TransportReported,
    TurnFellQuiet,
    TurnFellStuck,
    WithdrawDelivery,
    WriteEnded,
)
from .request_inputs import HandOff, NoteHandoffFailed, SettleRequest
from .session_inputs import AnswerQuestion, ConfigureSession, DeleteSession, GiveUpCall, ListSessions
from .unanswerable import note_declined

__all__ = ["decide", "decide_into"]


def decide(name: str, state: SeatState | None, given: Input, context: Context) -> tuple[EventDraft, ...]:
    """What follows from `given` in `state`.

    Args:
        name: The seat's name.
        state: The seat's state, `None` where there never was one.
        given: A command or an observation.
        context: Time, ids and what the harness can do.

    Returns:
        The events, in order; none where nothing follows.

    Raises:
        UsageError: The command cannot be carried out; nothing follows from it. Observations never raise.
    """
    decision = Decision(name, state, context)
    decide_into(decision, given)
    return tuple(decision.drafts)


def decide_into(decision: Decision, given: Input) -> None:
    """As `decide`, on top of what `decision` holds already."""
    before, first = decision.state, len(decision.drafts)
    _decide_one(decision, given)
    handoffs.follow_requests(decision, before, first)


def _decide_one(decision: Decision, given: Input) -> None:
    match given:
        case AddSeat():
            _add_seat(decision, given)
        case RemoveSeat():
            _remove_seat(decision)
        case StartSeat():
            launching.start_seat(decision, given)
            if holds.release_held(decision):
                turns.send_next(decision)
        case ReleaseQueue():
            holds.release_queue(decision)
            turns.go_on(decision)
        case StopSeat():
            launching.stop_seat(decision)
        case QueuePrompt():
            turns.queue_prompt(decision, given)
        case WithdrawDelivery():
            turns.withdraw_delivery(decision, given)
        case CancelTurn():
            turns.cancel_turn(decision)
        case PressKeys():
            console_turns.press_keys(decision, given)
        case AnswerPermission():
            permissions.answer_permission(decision, given)
            turns.send_next(decision)
        case AnswerQuestion():
            questions.answer_question(decision, given)
            turns.send_next(decision)
        case ConfigureSession() | ListSessions() | DeleteSession() | GiveUpCall():
            sessions.decide_session(decision, given)
        case HandOff() | NoteHandoffFailed() | SettleRequest():
            handoffs.decide_request(decision, given)
        case _ if decision.state is None or decision.state.removed:
            return
        case LaunchPlanned():
            launching.note_planned(decision, given)
        case LaunchRefused():
            launching.note_refused(decision, given)
        case HolderUp():
            launching.note_holder_up(decision, given)
        case TransportReported():
            _note_report(decision, given)
        case WriteEnded():
            if _is_live(decision, given.launch):
                turns.note_write_ended(decision, given)
        case SessionLookedUp():
            launching.note_looked_up(decision, given)
        case ProcessExited() | HolderLost():
            launching.end_launch(decision, given)
            turns.launch_next(decision)
        case HandshakeTimedOut():
            launching.fail_handshake(decision, given)
        case PermissionsExpired():
            permissions.expire_permissions(decision)
            turns.send_next(decision)
        case TurnFellQuiet():
            turns.note_quiet(decision, given)
        case TurnFellStuck():
            stuck.note_stuck(decision, given)
        case LimitReset():
            if holds.note_limit_reset(decision):
                turns.go_on(decision)
        case ConsoleFree():
            if _is_live(decision, given.launch):
                turns.send_next(decision)
        case Resumed():
            permissions.expire_permissions(decision)
            turns.send_next(decision)
        case _:
            assert_never(given)


def _add_seat(decision: Decision, command: AddSeat) -> None:
    if decision.state is not None and not decision.state.removed:
        raise UsageError(
            f"There is a seat {decision.name!r} already.",
            code="seat_exists",
            hint=f"Use another name, or `inspan seat remove {decision.name}` first.",
        )
    decision.emit(
        SeatAdded(
            harness=command.harness,
            mode=command.mode,
            workspace=command.workspace,
            posture=command.posture,
            environment=command.environment,
            model=command.model,
            effort=command.effort,
            trusts_workspace=command.trusts_workspace,
            guidance=command.guidance,
            axes=command.axes,
            config=command.config or (decision.context.new_id("c") if command.is_isolated else ""),
            shares=command.shares,
            forwards_auth=command.forwards_auth,
            clean_environment=command.clean_environment,
        ),
        source=Source.OPERATOR,
        rule="seat.add",
    )
    if command.forks is not None:
        decision.emit(
            SeatForked(parent=command.parent, reference=command.forks),
            source=Source.OPERATOR,
            rule="seat.fork",
        )


def _remove_seat(decision: Decision) -> None:
    seat = decision.seat
    if seat.live_launch is not None:
        raise UsageError(
            f"The seat {seat.name} has a running harness.",
            code="seat_running",
            hint=f"Stop it first with `inspan stop {seat.name}`, or remove it with `--stop`.",
        )
    for prompt in seat.queue:
        turns.withdraw_delivery(decision, WithdrawDelivery(delivery=prompt.delivery))
    decision.emit(SeatRemoved(), source=Source.OPERATOR, rule="seat.remove")


def _note_report(decision: Decision, given: TransportReported) -> None:
    reported = given.reported
    body = reported.body
    is_current = _is_live(decision, given.launch)
    match body:
        case (
            Connected()
            | ConnectFailed()
            | SessionReady()
            | SessionFailed()
            | PromptReady()
            | PromptAccepted()
            | PromptRendered()
            | PromptTakenBack()
            | PromptStarted()
            | PromptAnswered()
            | PromptCorrected()
            | WillRetry()
            | PermissionRequested()
            | PermissionWithdrawn()
            | QuestionAsked()
            | QuestionWithdrawn()
        ) if not is_current:
            # What belongs to an earlier launch is history: it settles no turn and replaces no identity.
            return
        case Connected():
            launching.note_connected(decision, reported, body)
        case ConnectFailed():
            launching.note_connect_failed(decision, reported, body)
        case SessionReady():
            launching.note_session_ready(decision, reported, body)
            turns.send_next(decision)
        case SessionFailed():
            launching.note_session_failed(decision, reported, body)
        case PromptReady():
            one_shot.note_prompt_ready(decision, reported)
            turns.send_next(decision)
            one_shot.stop_idle_run(decision)
        case WillRetry():
            _note_retry(decision, reported, body)
        case PromptAccepted():
            turns.note_accepted(decision, reported, body)
        case PromptRendered():
            console_turns.note_rendered(decision, reported, body)
        case PromptTakenBack():
            console_turns.note_taken_back(decision, reported, body)
        case PromptStarted():
            turns.note_started(decision, reported, body)
        case PromptAnswered():
            turns.note_answered(decision, reported, body)
            turns.send_next(decision)
        case PromptCorrected():
            console_turns.note_corrected(decision, reported, body)
        case PermissionRequested():
            permissions.open_permission(decision, reported, body)
        case PermissionWithdrawn():
            permissions.withdraw_permission(decision, body.wire_id)
            turns.send_next(decision)
        case QuestionAsked():
            questions.open_question(decision, reported, body)
        case QuestionWithdrawn():
            questions.withdraw_question(decision, body.wire_id)
            turns.send_next(decision)
        case _:
            is_replay = getattr(body, "replay", False)
            decision.emit(
                body,
                source=reported.source,
                rule=reported.rule,
                launch=given.launch,
                session=reported.session,
                in_turn=is_current and not is_replay,
            )
            if isinstance(body, ProtocolFault) and body.fatal and is_current:
                _stop_for_fault(decision, body)
            elif isinstance(body, UnknownMessage) and is_current:
                note_declined(decision, body)
            elif isinstance(body, ConsoleJudged) and is_current:
                stuck.note_shown_wedge(decision, body)


def _note_retry(decision: Decision, reported: Reported, body: WillRetry) -> None:
    wait_s = body.delay_s
    retry_at = None if wait_s is None else decision.context.now + timedelta(seconds=wait_s)
    decision.emit(
        Retrying(reason=body.reason, attempt=body.attempt, limit=body.limit, retry_at=retry_at),
        source=reported.source,
        rule=reported.rule,
        session=reported.session,
    )


def _stop_for_fault(decision: Decision, body: ProtocolFault) -> None:
    launch = decision.launch
    if launch is None or launch.status == "stopping":
        return
    code = "frame_too_large" if body.code == "frame_too_large" else "protocol_fault"
    decision.emit(
        StopRequested(launch=launch.id, by="core", error=CallError(code=code, message=body.message)),
        source=Source.CORE,
        rule="launch.protocol_fault",
    )


def _is_live(decision: Decision, launch: str) -> bool:
    live = decision.launch
    return live is not None and live.id == launch
