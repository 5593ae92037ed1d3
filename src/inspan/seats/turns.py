"""Turns: the queue, the one prompt that may be with the harness, and how its turn ends."""

from __future__ import annotations

from inspan.model.delivery import DeliveryState, HeldReason
from inspan.model.errors import UsageError
from inspan.model.events import (
    CancelRequested,
    DeliveryAccepted,
    DeliveryFailed,
    DeliveryHeld,
    DeliveryQueued,
    DeliveryRefused,
    DeliverySending,
    DeliverySent,
    DeliveryStarted,
    DeliveryUnknown,
    TurnEnded,
    TurnWentQuiet,
)
from inspan.model.evidence import Source
from inspan.model.permission import AnsweredBy
from inspan.model.reports import PromptAccepted, PromptAnswered, PromptStarted, Reported
from inspan.model.session import ResumeOutcome
from inspan.model.turn import CallError, TurnOutcome
from inspan.model.turn_events import DeliverySigned
from inspan.plugin.last_words import read_last_words

from .console_turns import DERIVED, check_typable, type_next
from .decision import Decision
from .guidance import queue_guidance
from .holds import hold_after, hold_newcomer, return_unsent
from .inputs import QueuePrompt, TurnFellQuiet, WithdrawDelivery, WriteEnded
from .launching import choose_attempt, request_launch
from .one_shot import stop_to_cancel
from .permissions import close_permissions
from .stuck import note_refused

__all__ = [
    "cancel_turn",
    "go_on",
    "launch_next",
    "note_accepted",
    "note_answered",
    "note_quiet",
    "note_started",
    "note_write_ended",
    "queue_prompt",
    "send_next",
    "withdraw_delivery",
]


_NO_WITNESS = CallError(
    code="harness_exited",
    message="The harness took the prompt and ended before it was seen to work on it.",
    hint="Look at the conversation, then send it again if it is not there.",
)


def queue_prompt(decision: Decision, command: QueuePrompt) -> None:
    """Accepts a prompt, and sends it at once where nothing stands in the way.

    Raises:
        UsageError: `prompt_too_large`, `invalid_argument` for an empty prompt.
    """
    size_bytes = len(command.text.encode("utf-8", "surrogatepass"))
    cap_bytes = decision.context.prompt_cap_bytes
    if size_bytes > cap_bytes:
        raise UsageError(
            f"The prompt has {size_bytes} bytes; at most {cap_bytes} can be sent at once.",
            code="prompt_too_large",
            hint="Put the text into a file in the workspace and name the file in the prompt.",
        )
    if not command.text.strip():
        raise UsageError("The prompt is empty.", hint="Give a text, or `-` to read it from standard input.")
    decision.seat  # noqa: B018 - raises where there is no such seat
    if decision.context.is_watched:
        check_typable(decision, command.text, is_urgent=command.is_urgent, override=command.override)
    queue_guidance(decision)
    decision.emit(
        DeliveryQueued(
            delivery=command.delivery,
            text=command.text,
            request=command.request,
            is_urgent=command.is_urgent,
            override=command.override,
            sender=command.sender,
        ),
        source=Source.OPERATOR,
        rule="send",
        in_turn=False,
    )
    if command.signer:
        signed = DeliverySigned(delivery=command.delivery, signer=command.signer)
        decision.emit(signed, source=Source.OPERATOR, rule="send.signed", in_turn=False)
    if not hold_newcomer(decision, command.delivery):
        go_on(decision)


def go_on(decision: Decision) -> None:
    """Sends the first prompt of the queue, or starts the harness for it."""
    if decision.launch is None:
        _launch_for_queue(decision)
    else:
        send_next(decision)


def send_next(decision: Decision) -> None:
    """Sends the first prompt of the queue if the session is open, free, and asks nothing.

    One prompt is in flight a session; a seat that needs input gets no prompt by itself. A one-shot run takes
    one prompt, before its session is known.
    """
    seat, launch = decision.seat, decision.launch
    if decision.context.is_watched:
        type_next(decision)
        return
    if launch is None or launch.status != "ready":
        return
    if launch.prompts if decision.context.is_one_shot else not seat.session_open:
        return
    if seat.in_flight is not None or seat.permissions or seat.questions:
        return
    prompt = next((p for p in seat.queue if p.held is None), None)
    if prompt is None:
        return
    decision.emit(
        DeliverySending(delivery=prompt.delivery, turn=decision.context.new_id("t")),
        source=Source.CORE,
        rule="queue.next",
    )


def launch_next(decision: Decision) -> None:
    """Once a one-shot run is done, the next prompt of the queue gets a run of its own."""
    seat = decision.seat
    is_done = seat.launch is not None and seat.launch.reason == "done"
    if is_done and seat.live_launch is None and any(p.held is None for p in seat.queue):
        _launch_for_queue(decision)


def withdraw_delivery(decision: Decision, command: WithdrawDelivery) -> None:
    """Takes a prompt out of the queue.

    Raises:
        UsageError: `delivery_final` where it is not in the queue any more.
    """
    if not any(p.delivery == command.delivery for p in decision.seat.queue):
        raise UsageError(
            f"The delivery {command.delivery} is not in the queue any more.",
            code="delivery_final",
            hint=f"`inspan cancel {decision.name}` stops a turn that runs.",
            detail={"delivery": command.delivery},
        )
    decision.emit(
        DeliveryRefused(
            delivery=command.delivery,
            error=CallError(
                code="call_failed", message="It was withdrawn by its operator before it was sent."
            ),
        ),
        source=Source.OPERATOR,
        rule="withdraw",
        in_turn=False,
    )


def cancel_turn(decision: Decision) -> None:
    """Asks the harness to stop; requests that are open are answered `cancelled`, the queue is kept.

    A one-shot run is stopped itself.

    The cancel is no outcome: the turn ends when the harness says so, or with its process.

    Raises:
        UsageError: `no_turn`, `unsupported_capability`.
    """
    seat = decision.seat
    flight = seat.in_flight
    if flight is None or seat.live_launch is None:
        raise UsageError(
            f"No turn runs in {seat.name}.",
            code="no_turn",
            hint="Prompts in the queue are taken back with `inspan delivery withdraw ID`.",
        )
    claim = decision.context.capabilities.cancel
    if not claim.is_supported:
        raise UsageError(
            "A turn cannot be cancelled in this mode.",
            code="unsupported_capability",
            hint=claim.note or f"`inspan stop {seat.name}` stops the harness itself.",
        )
    if not flight.cancel_requested:
        decision.emit(CancelRequested(turn=flight.turn), source=Source.OPERATOR, rule="cancel")
    close_permissions(decision, AnsweredBy.CANCEL, "the turn is being cancelled")
    stop_to_cancel(decision)


def note_write_ended(decision: Decision, seen: WriteEnded) -> None:
    """Records what became of the write of a prompt."""
    flight = decision.flight
    if flight is None or flight.delivery != seen.delivery or flight.state is not DeliveryState.SENDING:
        return
    if seen.purpose == "type":
        return  # a text that is not submitted is not sent, however much of it was typed
    match seen.result:
        case "done":
            decision.emit(
                DeliverySent(delivery=seen.delivery), source=Source.PROCESS, rule="holder.write_done"
            )
        case "clean":
            return_unsent(
                decision, HeldReason.HARNESS_EXITED, source=Source.PROCESS, rule="holder.write_refused"
            )
        case "cut":
            error = CallError(
                code="harness_exited",
                message="The write was cut in the middle: a part of the prompt may have arrived.",
                hint="Look at the conversation, then send it again if it is not there.",
            )
            decision.emit(
                DeliveryUnknown(delivery=seen.delivery, error=error),
                source=Source.PROCESS,
                rule="holder.write_cut",
            )
            decision.emit(
                TurnEnded(turn=flight.turn, delivery=flight.delivery, outcome=TurnOutcome.LOST, error=error),
                source=Source.PROCESS,
                rule="holder.write_cut",
            )


def note_accepted(decision: Decision, reported: Reported, body: PromptAccepted) -> None:
    """Records that the harness's own API took the prompt: more than written, less than begun."""
    flight = decision.flight
    if flight is None or flight.delivery != body.delivery:
        return
    if flight.state in (DeliveryState.SENDING, DeliveryState.SENT):
        decision.emit(
            DeliveryAccepted(delivery=body.delivery),
            source=reported.source,
            rule=reported.rule,
            session=reported.session,
        )


def note_started(decision: Decision, reported: Reported, body: PromptStarted) -> None:
    """Records a witness that the prompt's turn began."""
    flight = decision.flight
    if flight is None or flight.delivery != body.delivery or flight.state is DeliveryState.STARTED:
        return
    decision.emit(
        DeliveryStarted(delivery=body.delivery),
        source=reported.source,
        rule=reported.rule,
        session=reported.session,
    )


def note_answered(decision: Decision, reported: Reported, body: PromptAnswered) -> None:
    """Records the terminal result of a prompt: its turn's outcome, and the delivery's where it was open."""
    flight, launch = decision.flight, decision.launch
    if flight is None or flight.delivery != body.delivery:
        return
    if reported.source is Source.PROCESS and launch is not None and launch.stopped_by in ("operator", "core"):
        return  # a process that ended since it was stopped says nothing of its turn
    source, rule, session = reported.source, reported.rule, reported.session
    close_permissions(decision, AnsweredBy.HARNESS, "its turn ended", turn=flight.turn)
    is_lost = body.outcome is TurnOutcome.LOST and flight.state is not DeliveryState.STARTED
    if is_lost or (flight.state is DeliveryState.ACCEPTED and source is Source.PROCESS):
        # It took the prompt and ended; its end is no witness that it ever worked on it.
        decision.emit(
            DeliveryUnknown(delivery=body.delivery, error=body.error or _NO_WITNESS), source=source, rule=rule
        )
    elif body.error is not None and flight.state is not DeliveryState.STARTED and source not in DERIVED:
        kind = DeliveryRefused if body.declined else DeliveryFailed
        decision.emit(
            kind(delivery=body.delivery, error=body.error), source=source, rule=rule, session=session
        )
    elif flight.state is not DeliveryState.STARTED and source not in DERIVED:
        decision.emit(DeliveryStarted(delivery=body.delivery), source=source, rule=rule, session=session)
    outcome, error = body.outcome, body.error
    doubt = None
    read = read_last_words(body, decision.context.turn_text_failures)
    if read is not None and not read.is_certain:
        doubt = read.error
    elif read is not None:
        error, rule, outcome = read.error, read.rule, read.outcome
    decision.emit(
        TurnEnded(
            turn=flight.turn,
            delivery=body.delivery,
            outcome=outcome,
            raw_reason=body.raw_reason,
            error=error,
            usage=body.usage,
            doubt=doubt,
        ),
        source=source,
        rule=rule,
        session=session,
    )
    hold_after(decision, error)
    note_refused(decision, flight, error)


def note_quiet(decision: Decision, seen: TurnFellQuiet) -> None:
    """Records that an open turn is quiet; a turn that waits for a person is not, and quiet ends nothing."""
    flight = decision.flight
    seat = decision.seat
    if flight is None or flight.turn != seen.turn or flight.quiet_at is not None:
        return
    if seat.permissions or seat.questions:
        return
    decision.emit(
        TurnWentQuiet(turn=seen.turn, limit_s=seen.limit_s), source=Source.CORE, rule="turn.inactivity_limit"
    )


def _launch_for_queue(decision: Decision) -> None:
    seat = decision.seat
    attempt = choose_attempt(seat, decision.context.capabilities)
    if attempt is not None:
        request_launch(decision, attempt, by="prompt")
        return
    error = CallError(
        code="resume_decision_needed",
        message=(
            "The conversation of this seat cannot be resumed by itself "
            f"({seat.resume_outcome or ResumeOutcome.AWAITING_DECISION})."
        ),
        hint=(
            f"`inspan start {seat.name}` tries the resume again; "
            f"`inspan start {seat.name} --fresh` begins a new conversation."
        ),
    )
    for prompt in seat.queue:
        if prompt.held is not HeldReason.AWAITING_DECISION:
            decision.emit(
                DeliveryHeld(delivery=prompt.delivery, why=HeldReason.AWAITING_DECISION, error=error),
                source=Source.CORE,
                rule="queue.hold",
                in_turn=False,
            )
