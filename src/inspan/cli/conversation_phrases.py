"""Events of a conversation beyond its turns, in words: forks, requests, settings, questions, lists of sessions."""

from __future__ import annotations

from .amounts import counted
from .answers import by_whom
from .fields import Json, flag, items, record, records, text
from .output import Piece, bad, bold, cut, dim, toned, warn

__all__ = ["CONVERSATION_KINDS", "field_words", "tell_conversation"]

CONVERSATION_KINDS = frozenset(
    [
        "seat_forked",
        "handoff_declared",
        "request_handed_off",
        "handoff_failed",
        "request_settled",
        "identity_unclear",
        "config_requested",
        "sessions_requested",
        "session_delete_requested",
        "session_call_given_up",
        "question_opened",
        "question_answered",
        "options_offered",
        "setting_answered",
        "sessions_listed",
        "session_deleted",
        "session_closed",
        "turn_corrected",
        "turn_stuck",
        "queue_released",
        "attention_raised",
        "error_reported",
    ]
)
"""The types of events that are told here."""

_TEXT_COLUMNS = 100


def tell_conversation(kind: str, event: Json) -> list[Piece]:
    """What an event of one of `CONVERSATION_KINDS` says."""
    refused = record(event, "error")
    match kind:
        case "seat_forked":
            return ["begins with a fork of the conversation of ", bold(text(event, "parent"))]
        case "identity_unclear":
            return [warn("its session is not known: "), text(event, "why")]
        case "turn_corrected":
            was, now = text(event, "was"), text(event, "outcome")
            return [warn(f"the turn that seemed {was} was {now}"), *(_why(refused) if refused else [])]
        case "turn_stuck":
            return _stuck(event)
        case "queue_released":
            by_time = text(event, "by") == "limit_reset"
            return ["held prompts go on", dim("  (the limit has ended)" if by_time else "")]
        case "attention_raised":
            return [warn("note: "), text(event, "message")]
        case "error_reported":
            return [warn("an error, and no end of the turn"), *_why(refused)]
        case "handoff_declared" | "request_handed_off" | "handoff_failed" | "request_settled":
            return _request(kind, event)
        case "config_requested":
            return _wanted(event)
        case "sessions_requested":
            return [dim("asks the harness for its sessions")]
        case "session_delete_requested":
            return [warn("asks the harness to delete a session: "), cut(text(event, "session"), 80)]
        case "session_call_given_up":
            return [dim("waits no longer for the harness's answer about its sessions")]
        case "question_opened":
            names = ", ".join(text(one, "name") for one in records(event, "fields"))
            return [warn("asks: "), bold(cut(text(event, "message"), 2 * _TEXT_COLUMNS)), dim(f"  [{names}]")]
        case "question_answered":
            return _answered(event)
        case "options_offered":
            return [dim(f"offers {counted(len(items(event, 'options')), 'session option')}")]
        case "setting_answered":
            name = text(event, "option") or "session mode"
            said = f"{name} = {text(event, 'value')}"
            if refused:
                return [bad(f"the harness refuses {said}"), *_why(refused)]
            return [dim(f"the harness accepts {said}")]
        case "sessions_listed":
            if refused:
                return [bad("the harness did not list its sessions"), *_why(refused)]
            return [dim(f"the harness lists {counted(len(items(event, 'sessions')), 'session')}")]
        case "session_deleted":
            if refused:
                return [bad("the harness did not delete the session"), *_why(refused)]
            return [f"session deleted: {cut(text(event, 'session'), 80)}"]
        case _:
            if refused:
                return [bad("the harness did not close its session"), *_why(refused)]
            return [dim("session closed; it can be resumed")]


def field_words(field: Json) -> list[Piece]:
    """A field of a form: its name, what fits it, and what the harness says of it."""
    choices = records(field, "choices")
    kind = text(field, "kind", default="text")
    fits = " | ".join(cut(text(one, "value"), 40) for one in choices) if choices else kind
    label = text(field, "title") or text(field, "description")
    return [
        bold(text(field, "name")),
        dim(f"  ({fits}{', required' if flag(field, 'is_required') else ''})"),
        f"  {cut(label, 80)}" if label else "",
    ]


def _wanted(event: Json) -> list[Piece]:
    options = record(event, "options")
    wanted = [f"{name} = {value}" for name, value in options.items()]
    if mode := text(event, "session_mode"):
        wanted.insert(0, f"session mode = {mode}")
    if not wanted:
        return ["wants nothing of the session any more"]
    return [f"wants {cut(', '.join(wanted), _TEXT_COLUMNS)}", dim("  (asked for, not observed)")]


def _answered(event: Json) -> list[Piece]:
    filled = ", ".join(record(event, "content"))
    reason = text(event, "reason")
    return [
        "question answered: ",
        toned(text(event, "action")),
        f" {by_whom(text(event, 'by'))}",
        dim(f"  {cut(filled, 80)}" if filled else ""),
        dim(f"  {cut(reason, 80)}" if reason else ""),
    ]


def _stuck(event: Json) -> list[Piece]:
    how = {
        "error_without_end": "an error, no end, and no word since",
        "active_run": "an earlier turn still runs in the harness",
        "wedged": "the harness is wedged",
    }.get(text(event, "reason"), text(event, "reason"))
    match text(event, "action"):
        case "none":
            done = "the harness is left as it is"
        case "stop":
            done = "the harness is stopped, and the queue waits"
        case _:
            done = "the harness is restarted on the same conversation"
    why_not = text(event, "why_not")
    return [
        bad(f"the turn is stuck ({how}): {done}"),
        *_why(record(event, "error")),
        dim(f"  {why_not}" if why_not else ""),
    ]


def _why(error: Json) -> list[Piece]:
    hint = text(error, "hint")
    return [": ", cut(text(error, "message"), 2 * _TEXT_COLUMNS), dim(f"  next: {hint}" if hint else "")]


def _request(kind: str, event: Json) -> list[Piece]:
    request, seat = bold(text(event, "request")), bold(text(event, "to_seat"))
    match kind:
        case "handoff_declared":
            return ["request ", request, " is to go on in ", seat, dim("  unless this attempt settles it")]
        case "request_handed_off":
            how = text(event, "outcome") or "without a turn"
            return ["request ", request, " goes on in ", seat, dim("  this attempt ended: "), toned(how)]
        case "handoff_failed":
            return [
                bad("request "),
                request,
                bad(" was not taken by "),
                seat,
                f"  {text(event, 'error', 'message')}",
            ]
        case _:
            by = "  closed by its operator" if text(event, "by") == "operator" else ""
            return ["request ", request, " is settled: ", toned(text(event, "outcome")), dim(by)]
