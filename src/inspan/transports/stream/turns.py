"""Turns: the prompt, its cancel, what was kept of them, and how they end."""

from __future__ import annotations

from inspan.model.errors import UsageError
from inspan.model.records import EndRule
from inspan.model.reports import PromptAnswered
from inspan.model.turn import CallError, TurnOutcome
from inspan.transports.last_words import forget_words
from inspan.transports.records.ending import has_written, read_end
from inspan.transports.records.paths import Place

from .opening import fail_opening
from .state import OpenCall
from .talk import Talk, uuid_of

__all__ = ["cancel_turn", "end_turn", "keep", "on_prompt_answer", "send_prompt"]


def send_prompt(talk: Talk, delivery: str, text: str) -> None:
    """Writes a prompt; what was kept of the turn before is forgotten.

    Raises:
        UsageError: No session is ready, the text is over the frame cap (`prompt_too_large`), or it holds half a
            surrogate pair. Nothing was sent or remembered.
    """
    state, rule, cap_bytes = talk.state, talk.rules.prompt, talk.settings.frame_cap_bytes
    if state.phase != "ready" or rule is None:
        raise UsageError("No session is open.", code="seat_not_running", hint="Wait for the session.")
    try:
        size_bytes = len(text.encode())
    except UnicodeEncodeError as error:
        raise UsageError(
            "The prompt holds half a surrogate pair, which no harness can read.", code="invalid_argument"
        ) from error
    if size_bytes > cap_bytes:
        raise UsageError(
            f"The prompt has {size_bytes} bytes; a frame has {cap_bytes} at most.",
            code="prompt_too_large",
            hint="Put the text into a file and name the file.",
        )
    state.delivery = delivery
    state.is_accepted = state.is_started = state.is_cancelled = state.is_cancel_waiting = False
    state.error, state.usage, state.pieces_of, state.denied, state.kept = None, None, "", (), {}
    forget_words(state)
    talk.call(
        rule,
        OpenCall(kind="prompt", delivery=delivery),
        "prompt",
        prompt=text,
        delivery=delivery,
        delivery_uuid=uuid_of(delivery),
    )


def cancel_turn(talk: Talk) -> None:
    """Asks the harness to stop the turn, once; where it lacks what must be named for that, as soon as it has it."""
    state = talk.state
    if state.delivery is None or state.is_cancelled or talk.rules.cancel is None:
        return
    state.is_cancelled = state.is_cancel_waiting = True
    talk.is_changed = True
    _write_cancel(talk)


def keep(talk: Talk, paths: dict[str, str], place: Place) -> None:
    """Keeps what stands at the paths, by name; a cancel that waited for it is written."""
    state = talk.state
    found = {name: text for name, path in paths.items() if (text := place.text(path))}
    if found and {**state.kept, **found} != state.kept:
        state.kept = {**state.kept, **found}
        talk.is_changed = True
    if state.is_cancel_waiting:
        _write_cancel(talk)


def on_prompt_answer(talk: Talk, call: OpenCall, place: Place, error: CallError | None) -> None:
    """Takes the answer to a prompt: whether the harness took it. One of an earlier turn says nothing any more."""
    state, rule = talk.state, talk.rules.prompt
    if rule is None or call.delivery != state.delivery:
        return
    if error is None:
        if rule.accepts:
            talk.accept()
        keep(talk, rule.keeps, place)
        return
    _answer(talk, TurnOutcome.FAILED, error, "error", "answer", declined=not state.is_started)


def end_turn(talk: Talk, rule: EndRule, place: Place) -> None:
    """Ends the turn as the result record says. One that comes before the session is open says why there is none."""
    state = talk.state
    outcome, error, reason = read_end(rule, place, state.error)
    if state.phase != "ready":
        if error is not None:
            fail_opening(talk, error, "ends")
        return
    _answer(talk, outcome, error, reason, "ends")


def _write_cancel(talk: Talk) -> None:
    state, rule = talk.state, talk.rules.cancel
    if rule is None or any(name not in state.kept for name in rule.needs):
        return
    state.is_cancel_waiting = False
    talk.call(rule, OpenCall(kind="cancel"), "cancel")


def _answer(
    talk: Talk,
    outcome: TurnOutcome,
    error: CallError | None,
    reason: str,
    rule: str,
    *,
    declined: bool = False,
) -> None:
    state = talk.state
    delivery = state.delivery
    if delivery is None:
        return
    if error is None:
        # A turn that ends without a word of it was worked on all the same.
        talk.witness(rule)
    if outcome is TurnOutcome.FAILED and error is not None and error.code == "limited":
        outcome = TurnOutcome.LIMITED
    answered = PromptAnswered(
        delivery=delivery,
        outcome=outcome,
        raw_reason=reason,
        error=error,
        declined=declined,
        usage=state.usage,
        last_words=state.last_words if talk.settings.reads_last_words else None,
        model_wrote=has_written(state.usage, talk.rules.records),
    )
    state.delivery, state.is_cancel_waiting = None, False
    talk.is_changed = True
    talk.report(answered, rule)
