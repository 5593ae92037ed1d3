"""Turns: prompts out, the witness that one began, and what its answer says."""

from __future__ import annotations

from typing import Any

from inspan.model.errors import UsageError
from inspan.model.reports import PromptAnswered, PromptStarted
from inspan.model.turn import TurnOutcome, Usage, UsageKind

from .exchange import Exchange
from .failures import DECLINING_CODES, call_error, fault_error
from .loose import integer_in, mapping, mapping_in, text_in
from .state import AcpState, OpenCall

__all__ = ["OUTCOMES", "on_prompt_answer", "send_prompt", "witness"]

OUTCOMES: dict[str, TurnOutcome] = {
    "end_turn": TurnOutcome.COMPLETED,
    "max_tokens": TurnOutcome.LIMITED,
    "max_turn_requests": TurnOutcome.LIMITED,
    "refusal": TurnOutcome.REFUSED,
    "cancelled": TurnOutcome.CANCELLED,
}
"""Stop reasons of the protocol. Any other ends the turn as well, but nobody can say how: it is `failed`, with
`protocol_fault` and the harness's own word."""


def send_prompt(exchange: Exchange, delivery: str, text: str) -> None:
    """Calls `session/prompt` with one block of text.

    Raises:
        UsageError: No session is ready, the text is over the frame cap (`prompt_too_large`), or it holds half
            a surrogate pair. Nothing was sent or remembered.
    """
    session = exchange.state.session
    if session is None or exchange.state.phase != "ready":
        raise UsageError("No session is open.", code="seat_not_running", hint="Wait for the session.")
    try:
        size_bytes = len(text.encode())
    except UnicodeEncodeError as error:
        raise UsageError(
            "The prompt holds half a surrogate pair, which no harness can read.", code="invalid_argument"
        ) from error
    if size_bytes > exchange.settings.frame_cap_bytes:
        raise UsageError(
            f"The prompt has {size_bytes} bytes; a frame has {exchange.settings.frame_cap_bytes} at most.",
            code="prompt_too_large",
            hint="Put the text into a file and name the file.",
        )
    params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
    call = OpenCall(kind="prompt", delivery=delivery, session=session)
    exchange.call(call, "session/prompt", params, purpose="prompt")


def witness(exchange: Exchange, rule: str) -> None:
    """Says, once, that the open prompt's turn began."""
    state = exchange.state
    key, state.unwitnessed = state.unwitnessed, None
    call = state.calls.get(key) if key is not None else None
    if call is not None and call.delivery is not None:
        exchange.is_changed = True
        exchange.report(PromptStarted(delivery=call.delivery), rule, session=state.session)


def on_prompt_answer(exchange: Exchange, key: str, call: OpenCall, result: Any, error: Any) -> None:
    """Takes the answer to a prompt; `error` is `None` where the call succeeded."""
    state = exchange.state
    was_started = state.unwitnessed != key and call.session == state.session
    state.replay = "no"
    if state.unwitnessed == key:
        state.unwitnessed = None
    if call.delivery is None:
        return
    if error is not None:
        exchange.report(
            _failed(call.delivery, error, was_started=was_started), "acp.prompt.error", session=call.session
        )
        return
    if not was_started:
        exchange.report(PromptStarted(delivery=call.delivery), "acp.prompt.result", session=call.session)
    values = mapping(result) or {}
    reason = text_in(values, "stopReason")
    outcome = OUTCOMES.get(reason)
    problem = None
    if outcome is None:
        outcome = TurnOutcome.FAILED
        problem = fault_error(
            "The harness ended the turn for a reason that its protocol does not know.", result
        )
    kind = UsageKind(exchange.settings.acp.usage_kind)
    usage = _usage(values, kind)
    answered = PromptAnswered(
        delivery=call.delivery,
        outcome=outcome,
        raw_reason=reason,
        error=problem,
        usage=usage,
        last_words=_last_words(exchange),
        model_wrote=_has_written(state, usage, kind),
    )
    exchange.report(answered, "acp.prompt.result", session=call.session)


def _last_words(exchange: Exchange) -> str | None:
    """Where the last message begins; `None` where it is not wanted, or where silence says nothing of the harness."""
    state = exchange.state
    if not exchange.settings.reads_last_words or (state.has_rejected and not state.last_words):
        return None  # a harness may end the turn without a word because it was told no
    return state.last_words


def _failed(delivery: str, error: Any, *, was_started: bool) -> PromptAnswered:
    found = call_error(error)
    return PromptAnswered(
        delivery=delivery,
        outcome=TurnOutcome.LIMITED if found.code == "limited" else TurnOutcome.FAILED,
        raw_reason=f"error {found.raw_code}" if found.raw_code is not None else "error",
        error=found,
        declined=found.raw_code in DECLINING_CODES and not was_started,
    )


def _has_written(state: AcpState, usage: Usage | None, kind: UsageKind) -> bool | None:
    """Whether the turn's own tokens of output were counted; a harness that counts and counted none wrote none."""
    counted = None if usage is None else usage.output_tokens
    if counted is None:
        return None if kind is UsageKind.UNKNOWN else False
    if kind is UsageKind.CUMULATIVE:
        before, state.written_tokens = state.written_tokens, counted
        return counted > before
    return None if counted and kind is UsageKind.UNKNOWN else counted > 0


def _usage(result: dict[str, Any], kind: UsageKind) -> Usage | None:
    if usage := mapping_in(result, "usage"):
        found = Usage(
            kind=kind,
            input_tokens=integer_in(usage, "inputTokens"),
            output_tokens=integer_in(usage, "outputTokens"),
            total_tokens=integer_in(usage, "totalTokens"),
            cached_read_tokens=integer_in(usage, "cachedReadTokens"),
            cached_write_tokens=integer_in(usage, "cachedWriteTokens"),
            thought_tokens=integer_in(usage, "thoughtTokens"),
        )
    else:
        # Where the protocol's own field is missing, some harnesses count in `_meta` (observed, 2026-11).
        quota = mapping_in(mapping_in(mapping_in(result, "_meta"), "quota"), "token_count")
        found = Usage(
            kind=kind,
            input_tokens=integer_in(quota, "input_tokens"),
            output_tokens=integer_in(quota, "output_tokens"),
        )
    return None if found == Usage(kind=kind) else found
