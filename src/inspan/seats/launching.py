"""Launches: when a harness is started, with which session, and what its end means."""

from __future__ import annotations

from typing import Literal

from inspan.model.capability import Capabilities
from inspan.model.delivery import CONSOLE_REASONS, FUTILE_REASONS, DeliveryState, HeldReason
from inspan.model.errors import UsageError
from inspan.model.events import (
    DeliveryHeld,
    DeliveryUnknown,
    LaunchConnected,
    LaunchEnded,
    LaunchRequested,
    LaunchStarted,
    LaunchStarting,
    SessionOpened,
    SessionOpenFailed,
    StopRequested,
    TurnEnded,
)
from inspan.model.evidence import Source
from inspan.model.permission import AnsweredBy
from inspan.model.reports import Connected, ConnectFailed, Reported, SessionFailed, SessionReady
from inspan.model.session import IdentityState, OpenedHow, Provenance, ResumeOutcome, SessionReference
from inspan.model.session_events import IdentityUnclear
from inspan.model.state import SeatState
from inspan.model.turn import CallError, TurnOutcome

from .decision import Decision
from .early_exit import early_exit_error, has_no_session_yet
from .holds import return_unsent
from .inputs import (
    HandshakeTimedOut,
    HolderLost,
    HolderUp,
    LaunchPlanned,
    LaunchRefused,
    ProcessExited,
    SessionLookedUp,
    StartSeat,
)
from .one_shot import check_start, is_done
from .permissions import close_permissions
from .stuck import is_restarting

__all__ = [
    "choose_attempt",
    "end_launch",
    "fail_handshake",
    "hold_queue",
    "note_connect_failed",
    "note_connected",
    "note_holder_up",
    "note_looked_up",
    "note_planned",
    "note_refused",
    "note_session_failed",
    "note_session_ready",
    "request_launch",
    "start_seat",
    "stop_seat",
]

_LAUNCH_RULES = {"operator": "start", "prompt": "send", "stuck": "turn.stuck"}


def choose_attempt(
    state: SeatState, capabilities: Capabilities, *, fresh: bool = False, retry: bool = False
) -> Literal["fresh", "resume", "fork"] | None:
    """How the next launch treats the seat's conversation; `None` says that a person must decide.

    A conversation is never replaced silently: a fresh start over an existing one needs `fresh`.

    Args:
        state: The seat.
        capabilities: What its mode can do.
        fresh: The operator decided for a new conversation.
        retry: The operator asked for the resume or the fork, although one failed before.
    """
    if fresh:
        return "fresh"
    newest = state.launch
    has_failed = state.resume_outcome not in (None, ResumeOutcome.RESUMED)
    if has_failed and not retry and newest is not None and newest.attempt != "fresh":
        return None
    if state.session is None and state.identity is IdentityState.AMBIGUOUS:
        return None
    if state.session is None:
        return "fresh" if state.fork_of is None else "fork"
    return "resume" if capabilities.resume.is_supported else None


def start_seat(decision: Decision, command: StartSeat) -> None:
    """Starts the harness; a seat that runs stays as it is.

    Raises:
        UsageError: `seat_running` for a fresh start over a running launch, `resume_decision_needed`,
            `nothing_to_run` for a one-shot run without a prompt.
    """
    seat = decision.seat
    if seat.live_launch is not None:
        if command.fresh or command.session is not None:
            raise UsageError(
                f"The seat {seat.name} runs already, so it stays with its conversation.",
                code="seat_running",
                hint=f"Stop it first with `inspan stop {seat.name}`.",
            )
        return
    check_start(decision)
    if command.session is not None:
        _resume_chosen(decision, command.session)
        return
    attempt = choose_attempt(seat, decision.context.capabilities, fresh=command.fresh, retry=True)
    if attempt is None:
        claim = decision.context.capabilities.resume
        what = f"The conversation of {seat.name} cannot be resumed in this mode. {claim.note}".rstrip()
        if seat.identity is IdentityState.AMBIGUOUS:
            what = f"Which of several sessions is the conversation of {seat.name} is not known."
        raise UsageError(
            what,
            code="resume_decision_needed",
            hint=f"`inspan start {seat.name} --fresh` begins a new conversation; the old one stays in the log.",
            detail={"seat": seat.name, "outcome": str(ResumeOutcome.AWAITING_DECISION)},
        )
    request_launch(decision, attempt, by="operator")


def request_launch(
    decision: Decision,
    attempt: Literal["fresh", "resume", "fork"],
    *,
    by: Literal["operator", "prompt", "stuck"],
    chosen: SessionReference | None = None,
) -> None:
    """Decides on a launch; `chosen` is resumed in the place of the seat's own conversation."""
    seat = decision.seat
    launch = decision.context.new_id("l")
    references = {"fresh": None, "resume": chosen or seat.session, "fork": seat.fork_of}
    decision.emit(
        LaunchRequested(
            launch=launch,
            attempt=attempt,
            reference=references[attempt],
            by=by,
        ),
        source=Source.CORE if by == "stuck" else Source.OPERATOR,
        rule=_LAUNCH_RULES[by],
        launch=launch,
    )


def _resume_chosen(decision: Decision, session: str) -> None:
    seat, context = decision.seat, decision.context
    claim = context.capabilities.resume
    if not claim.is_supported:
        raise UsageError(
            f"A session cannot be resumed in this mode of {seat.name}.",
            code="unsupported_capability",
            hint=claim.note or f"`inspan start {seat.name} --fresh` begins a new conversation.",
        )
    reference = SessionReference(
        harness=seat.harness,
        resume_type=context.resume_type,
        id=session,
        workspace=seat.workspace,
        posture=seat.posture,
        provenance=Provenance.CHOSEN,
    )
    request_launch(decision, "resume", by="operator", chosen=reference)


def stop_seat(decision: Decision) -> None:
    """Asks for the end of the live launch; twice is once."""
    launch = decision.seat.live_launch
    if launch is None or launch.stopped_by == "operator":
        return
    decision.emit(StopRequested(launch=launch.id), source=Source.OPERATOR, rule="stop")


def note_planned(decision: Decision, seen: LaunchPlanned) -> None:
    """Records the intent to start a holder."""
    if _is_current(decision, seen.launch):
        decision.emit(
            LaunchStarting(
                launch=seen.launch,
                nonce=seen.nonce,
                directory=seen.directory,
                program=seen.program,
                arguments=seen.arguments,
                transport=seen.transport,
            ),
            source=Source.CORE,
            rule="launch.plan",
        )


def note_refused(decision: Decision, seen: LaunchRefused) -> None:
    """Records that no process came of the launch."""
    launch = decision.launch
    if launch is None or launch.id != seen.launch:
        return
    reason = "never_started" if seen.never_started else "failed"
    if launch.stopped_by == "operator":
        reason = "stopped"
    why = HeldReason.STOPPED if reason == "stopped" else HeldReason.LAUNCH_FAILED
    # A launch that is given up usually has nothing open; one that is given up late must leave nothing open.
    close_permissions(decision, AnsweredBy.LAUNCH_END, "the launch came to nothing")
    _end_flight(decision, reason, seen.error, "launch.refused", why)
    decision.emit(
        LaunchEnded(launch=seen.launch, reason=reason, error=None if reason == "stopped" else seen.error),
        source=Source.CORE,
        rule="launch.refused",
    )
    hold_queue(decision, why, seen.error)


def note_holder_up(decision: Decision, seen: HolderUp) -> None:
    """Records that the harness's process runs."""
    launch = decision.launch
    if launch is not None and launch.id == seen.launch and launch.pid is None:
        decision.emit(
            LaunchStarted(launch=seen.launch, pid=seen.pid, holder_pid=seen.holder_pid),
            source=Source.PROCESS,
            rule="holder.welcome",
        )


def note_connected(decision: Decision, reported: Reported, body: Connected) -> None:
    """Records what the harness said of itself."""
    launch = decision.launch
    if launch is None:
        return
    decision.emit(
        LaunchConnected(
            launch=launch.id,
            protocol_version=body.protocol_version,
            harness_name=body.harness_name,
            harness_version=body.harness_version,
            offers=body.offers,
            auth_methods=body.auth_methods,
        ),
        source=reported.source,
        rule=reported.rule,
    )


def note_connect_failed(decision: Decision, reported: Reported, body: ConnectFailed) -> None:
    """Records that the handshake failed, and asks for the end of the launch."""
    _fail_session(decision, reported, ResumeOutcome.FAILED, body.error)


def note_session_failed(decision: Decision, reported: Reported, body: SessionFailed) -> None:
    """Records that no session was opened; nothing is started in its place."""
    _fail_session(decision, reported, body.outcome, body.error)


def note_session_ready(decision: Decision, reported: Reported, body: SessionReady) -> None:
    """The one place where a session id becomes the seat's identity."""
    seat, launch = decision.seat, decision.launch
    if launch is None:
        return
    is_hook = reported.source is Source.HOOK
    if is_hook and seat.session_open and seat.session is not None and seat.session.id == body.session_id:
        return  # it was told before, as one that was chosen
    known = launch.reference if launch.attempt == "resume" else None
    if known is not None and known.id == body.session_id:
        reference = known
    else:
        reference = SessionReference(
            harness=seat.harness,
            resume_type=decision.context.resume_type,
            id=body.session_id,
            workspace=seat.workspace,
            posture=seat.posture,
            provenance=Provenance.HOOK if is_hook else decision.context.provenance,
        )
    decision.emit(
        SessionOpened(launch=launch.id, reference=reference, how=body.how),
        source=reported.source,
        rule=reported.rule,
        session=body.session_id,
    )


def note_looked_up(decision: Decision, seen: SessionLookedUp) -> None:
    """Records what was found of the launch's session, once its process has ended."""
    seat, launch = decision.seat, decision.launch
    if launch is None or launch.id != seen.launch or seat.session is not None:
        return
    rule = f"session.{seen.provenance}"
    if seen.session_id is None:
        unclear = IdentityUnclear(launch=launch.id, identity=seen.identity, why=seen.why)
        decision.emit(unclear, source=Source.CORE, rule=rule)
        return
    reference = SessionReference(
        harness=seat.harness,
        resume_type=decision.context.resume_type,
        id=seen.session_id,
        workspace=seat.workspace,
        posture=seat.posture,
        provenance=seen.provenance,
    )
    how = OpenedHow.FORKED if launch.attempt == "fork" else OpenedHow.NEW
    decision.emit(
        SessionOpened(launch=launch.id, reference=reference, how=how),
        source=Source.CORE,
        rule=rule,
        session=seen.session_id,
    )


def fail_handshake(decision: Decision, seen: HandshakeTimedOut) -> None:
    """Ends a launch whose session did not open in time; a one-shot run that took its prompt has time."""
    launch = decision.launch
    if launch is None or launch.id != seen.launch or decision.seat.session_open:
        return
    if launch.status in ("ready", "stopping"):
        return
    error = CallError(
        code="handshake_timeout",
        message=f"No session was open after {seen.timeout_s:g} seconds"
        + (", although it had the time of a first start." if seen.is_cold else "."),
        hint="Start the program by hand once: it may ask for a sign-in, or be slow on its first start.",
    )
    decision.emit(
        SessionOpenFailed(launch=launch.id, outcome=ResumeOutcome.FAILED, error=error),
        source=Source.CORE,
        rule="launch.handshake_timeout",
    )
    decision.emit(
        StopRequested(launch=launch.id, by="core", error=error),
        source=Source.CORE,
        rule="launch.handshake_timeout",
    )


def end_launch(decision: Decision, seen: ProcessExited | HolderLost) -> None:
    """Records the end of a launch, and what it means for the open turn, the requests and the queue.

    A prompt that was never written returns to the queue, unless it is being cancelled; one that was written without a witness of its turn
    is `unknown`; a turn that was open has failed with the exit, or is lost. A one-shot run that is done ends
    without a fault, and holds nothing back.
    """
    launch = decision.launch
    if launch is None or launch.id != seen.launch:
        return
    close_permissions(decision, AnsweredBy.LAUNCH_END, "the harness is gone")
    is_exit = isinstance(seen, ProcessExited)
    session_failed = not decision.seat.session_open and launch.error is not None
    stuck = decision.seat.stuck
    is_stuck = stuck is not None and stuck.launch == launch.id
    restarts = is_restarting(decision.seat, launch)
    done = is_done(decision, seen)
    if done:
        reason, why = "done", HeldReason.HARNESS_EXITED
    elif launch.stopped_by == "operator":
        reason, why = "stopped", HeldReason.STOPPED
    elif launch.stopped_by == "core" or session_failed:
        reason, why = "failed", HeldReason.SESSION_NOT_OPENED
    elif is_exit:
        reason, why = "exit", HeldReason.HARNESS_EXITED
    else:
        reason, why = "holder_lost", HeldReason.HOLDER_LOST
    if is_stuck and launch.stopped_by == "core":
        why = HeldReason.HARNESS_EXITED if restarts else HeldReason.STUCK
    elif launch.attempt != "fresh" and session_failed:
        why = HeldReason.AWAITING_DECISION
    error = _end_error(seen, stopped=reason == "stopped")
    if reason == "failed" and launch.error is not None:
        error = launch.error
    if reason in ("exit", "failed") and isinstance(seen, ProcessExited) and has_no_session_yet(launch):
        error = seen.meaning or (early_exit_error(error, seen.stderr_tail) if reason == "exit" else error)
    rule = "process.exit" if is_exit else "holder.lost"
    _end_flight(decision, reason, error, rule, why)
    decision.emit(
        LaunchEnded(
            launch=launch.id,
            reason=reason,
            exit_code=seen.exit_code if isinstance(seen, ProcessExited) else None,
            signal=seen.signal if isinstance(seen, ProcessExited) else None,
            error=None if reason in ("done", "stopped") else error,
            stderr_tail=seen.stderr_tail,
        ),
        source=Source.PROCESS,
        rule=rule,
    )
    waits = any(prompt.held not in FUTILE_REASONS for prompt in decision.seat.queue)
    if restarts and (waits or not decision.context.is_one_shot):
        # The queue is kept as it is, and goes on once the conversation is open again.
        request_launch(decision, "resume", by="stuck")
    elif not done:
        hold_queue(decision, why, None if reason == "stopped" else error)


def hold_queue(decision: Decision, why: HeldReason, error: CallError | None) -> None:
    """Every prompt that was not sent waits for a person from here on."""
    for prompt in decision.seat.queue:
        # What a console held is held by the end of the console from now on.
        if prompt.held is None or prompt.held in CONSOLE_REASONS:
            decision.emit(
                DeliveryHeld(delivery=prompt.delivery, why=why, error=error),
                source=Source.CORE,
                rule="queue.hold",
                in_turn=False,
            )


def _end_flight(decision: Decision, reason: str, error: CallError, rule: str, why: HeldReason) -> None:
    flight = decision.flight
    if flight is None:
        return
    if flight.state is DeliveryState.SENDING:
        return_unsent(decision, why, error, source=Source.PROCESS, rule=rule)
        return
    if flight.state is not DeliveryState.STARTED:
        decision.emit(
            DeliveryUnknown(delivery=flight.delivery, error=error), source=Source.PROCESS, rule=rule
        )
    outcome = TurnOutcome.FAILED if reason in ("exit", "failed") else TurnOutcome.LOST
    decision.emit(
        TurnEnded(turn=flight.turn, delivery=flight.delivery, outcome=outcome, error=error),
        source=Source.PROCESS,
        rule=rule,
    )


def _end_error(seen: ProcessExited | HolderLost, *, stopped: bool) -> CallError:
    if stopped:
        return CallError(code="harness_exited", message="The harness was stopped by its operator.")
    if isinstance(seen, HolderLost):
        return CallError(
            code="holder_lost",
            message="The holder of the harness is gone, and no exit was recorded.",
            hint="Send a prompt or start the seat to resume its conversation.",
        )
    if seen.signal is not None:
        how = f"was ended by signal {seen.signal}"
    elif seen.exit_code is not None:
        how = f"exited with status {seen.exit_code}"
    else:
        how = "exited"
    return CallError(
        code="harness_exited",
        message=f"The harness {how}.",
        hint="Send a prompt or start the seat to resume its conversation.",
    )


def _fail_session(decision: Decision, reported: Reported, outcome: ResumeOutcome, error: CallError) -> None:
    launch = decision.launch
    if launch is None:
        return
    decision.emit(
        SessionOpenFailed(launch=launch.id, outcome=outcome, error=error),
        source=reported.source,
        rule=reported.rule,
    )
    if launch.status != "stopping":
        decision.emit(
            StopRequested(launch=launch.id, by="core", error=error), source=Source.CORE, rule="launch.failed"
        )


def _is_current(decision: Decision, launch: str) -> bool:
    live = decision.launch
    return live is not None and live.id == launch
