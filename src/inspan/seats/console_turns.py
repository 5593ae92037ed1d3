"""Turns of a console: a prompt is typed when nothing stands in the way, and what is only seen confirms nothing."""

from __future__ import annotations

from inspan.model.attention import AttentionRaised
from inspan.model.console import KeysPressed
from inspan.model.delivery import CONSOLE_REASONS, DeliveryState, HeldReason
from inspan.model.errors import UsageError
from inspan.model.events import DeliveryRendered, DeliverySending
from inspan.model.evidence import Source
from inspan.model.reports import PromptCorrected, PromptRendered, PromptTakenBack, Reported
from inspan.model.state import QueuedPrompt
from inspan.model.turn_events import TurnCorrected
from inspan.model.typing_recipe import TypingBlock
from inspan.transports.terminal.message import check_command, check_message

from .decision import Decision
from .holds import hold_after, return_unsent
from .inputs import PressKeys

__all__ = [
    "DERIVED",
    "HELD_BY",
    "check_typable",
    "next_typed",
    "note_corrected",
    "note_rendered",
    "note_taken_back",
    "press_keys",
    "type_next",
    "what_is_ignored",
]

DERIVED = (Source.SCREEN, Source.TITLE, Source.PROGRAM_STATUS, Source.HOOK)
"""Sources that tell a turn's end, and not whose it was: that alone is no witness that a prompt was taken."""

HELD_BY: dict[TypingBlock, HeldReason] = {
    "not_ready": HeldReason.NOT_READY,
    "foreground": HeldReason.FOREGROUND,
    "needs_input": HeldReason.NEEDS_INPUT,
    "running": HeldReason.BUSY,
    "typing": HeldReason.BUSY,
    "activity_unknown": HeldReason.ACTIVITY_UNKNOWN,
    "draft": HeldReason.DRAFT,
    "person_typing": HeldReason.PERSON_TYPING,
}
"""As what a prompt is held that may not be typed."""


def check_typable(decision: Decision, text: str, *, is_urgent: bool = False, override: str = "") -> None:
    """Refuses a prompt that can never be typed.

    Raises:
        UsageError: `delivery_unsupported`, `message_has_controls`; `message_is_command` without an override;
            `unsupported_capability` for one that is to be typed while a turn runs, where nobody said that the
            console takes it.
    """
    if not decision.context.can_type:
        raise UsageError(
            f"Nobody said how a prompt is typed into the console of {decision.name}.",
            code="delivery_unsupported",
            hint=f"`inspan attach {decision.name}` attaches to it; another mode of the harness may take prompts.",
        )
    if is_urgent and not decision.context.takes_text_while_running:
        raise UsageError(
            f"The console of {decision.name} is not known to take text while a turn runs.",
            code="unsupported_capability",
            hint="Leave `--now` out: it is typed once the turn has ended.",
        )
    check_message(text)
    if not override:
        check_command(text, decision.context.typed_commands)


def next_typed(queue: tuple[QueuedPrompt, ...]) -> QueuedPrompt | None:
    """The prompt that is typed next: what a console held is held no longer than it does."""
    return next((prompt for prompt in queue if prompt.held is None or prompt.held in CONSOLE_REASONS), None)


def what_is_ignored(prompt: QueuedPrompt) -> tuple[TypingBlock, ...]:
    """What its operator said not to mind. Neither a draft of somebody's nor another program in front."""
    if prompt.override:
        return ("running", "activity_unknown", "needs_input", "command")
    return ("running",) if prompt.is_urgent else ()


def type_next(decision: Decision) -> None:
    """Begins to type the first prompt of the queue, if nothing stands in the way that counts for it."""
    seat, launch = decision.seat, decision.launch
    if launch is None or launch.status == "stopping" or seat.in_flight is not None:
        return
    prompt = next_typed(seat.queue)
    if prompt is None:
        return
    blocks, ignored = decision.context.typing_blocks, what_is_ignored(prompt)
    if not set(blocks) <= set(ignored):
        return
    decision.emit(
        DeliverySending(delivery=prompt.delivery, turn=decision.context.new_id("t")),
        source=Source.CORE,
        rule="queue.next",
    )
    if seat.console is not None and seat.console.activity == "unknown" and not prompt.override:
        _advise(decision, prompt)


def _advise(decision: Decision, prompt: QueuedPrompt) -> None:
    """Says of a prompt that is typed all the same that nobody could say what the console does; it holds nothing back."""
    decision.emit(
        AttentionRaised(
            code="activity_unknown",
            message="It was typed although nobody can say what the console does; its input line is free.",
            hint=f"`inspan screen {decision.name}` shows it, `inspan explain {decision.name}` why.",
            delivery=prompt.delivery,
        ),
        source=Source.CORE,
        rule="typing.activity_unknown",
    )


def press_keys(decision: Decision, command: PressKeys) -> None:
    """Records that an operator has keys pressed; they are pressed next.

    Raises:
        UsageError: `no_terminal`, where no console runs.
    """
    launch = decision.launch
    if launch is None or launch.pid is None or not decision.context.is_watched:
        raise UsageError(
            f"{decision.name} has no terminal now.",
            code="no_terminal",
            hint=f"`inspan start {decision.name}` starts its harness; only a mode that runs a console has a terminal.",
        )
    decision.emit(
        KeysPressed(keys=command.keys, reason=command.reason),
        source=Source.OPERATOR,
        rule="keys",
        launch=launch.id,
        in_turn=False,
    )


def note_rendered(decision: Decision, reported: Reported, body: PromptRendered) -> None:
    """Records that the console shows the prompt, or work."""
    flight = decision.flight
    if flight is None or flight.delivery != body.delivery:
        return
    if flight.state in (DeliveryState.SENDING, DeliveryState.SENT):
        decision.emit(DeliveryRendered(delivery=body.delivery), source=reported.source, rule=reported.rule)


def note_corrected(decision: Decision, reported: Reported, body: PromptCorrected) -> None:
    """Records how a turn ended, which had seemed to end otherwise."""
    state = decision.state
    last = None if state is None else state.last_turn
    if last is None or last.delivery != body.delivery or last.outcome is body.outcome:
        return
    corrected = TurnCorrected(
        turn=last.turn,
        delivery=last.delivery,
        outcome=body.outcome,
        was=last.outcome,
        raw_reason=body.raw_reason,
        error=body.error,
    )
    decision.emit(
        corrected, source=reported.source, rule=reported.rule, session=reported.session, in_turn=False
    )
    hold_after(decision, body.error)


def note_taken_back(decision: Decision, reported: Reported, body: PromptTakenBack) -> None:
    """Returns a prompt of which nothing went out to the queue, unless it is being cancelled."""
    flight = decision.flight
    if flight is None or flight.delivery != body.delivery or flight.state is not DeliveryState.SENDING:
        return
    why = HELD_BY.get(body.why, HeldReason.NOT_READY)
    return_unsent(decision, why, source=reported.source, rule=reported.rule)
