"""Events in words: one line for a person for every kind of event in the log."""

from __future__ import annotations

import time

from .amounts import counted
from .answers import by_whom
from .console_phrases import CONSOLE_KINDS, tell_console
from .conversation_phrases import CONVERSATION_KINDS, tell_conversation
from .fields import Json, flag, held_words, items, number, record, records, text, texts
from .output import Piece, bad, bold, cut, dim, good, toned, warn

__all__ = ["asked", "clock", "option_names", "outcome_words", "phrase", "since", "usage_words"]

_TEXT_COLUMNS = 100


def phrase(kind: str, event: Json) -> list[Piece]:
    """What an event says. Text of a message is not among them: it is shown as it comes."""
    match kind:
        case "seat_added":
            return ["seat added: ", bold(text(event, "harness")), " in ", text(event, "workspace")]
        case "seat_removed":
            return ["seat removed"]
        case "stop_requested":
            return ["stop requested"]
        case "cancel_requested":
            return [warn("cancel requested")]
        case "permission_opened":
            return [warn("asks: "), *asked(record(event, "tool_call")), dim(f"  {option_names(event)}")]
        case "permission_answered":
            return _answered(event)
        case "turn_ended":
            return _turn_ended(event)
        case "turn_went_quiet":
            return [warn("the turn went quiet: nothing was heard of it for a while; it is still open")]
        case _ if kind in CONVERSATION_KINDS:
            return tell_conversation(kind, event)
        case _ if kind in CONSOLE_KINDS:
            return tell_console(kind, event)
        case _ if kind.startswith(("launch_", "session_open")):
            return _launch(kind, event)
        case _ if kind.startswith("delivery_"):
            return _delivery(kind, event)
        case _:
            return _content(kind, event)


def asked(tool_call: Json) -> list[Piece]:
    """What a permission request is about, as far as the harness says."""
    title = (
        text(tool_call, "title")
        or f"tool call {text(tool_call, 'id') or 'unknown'} (the harness says no more)"
    )
    kind = text(tool_call, "kind")
    pieces: list[Piece] = [bold(cut(title, 2 * _TEXT_COLUMNS))]
    if kind:
        pieces.append(dim(f" ({kind})"))
    return pieces


def option_names(request: Json) -> str:
    """The harness's own labels of a request's options, in its order."""
    names = [cut(text(one, "name") or text(one, "id"), 40) for one in records(request, "options")]
    return f"[{' | '.join(names)}]" if names else "[no options]"


def outcome_words(turn: Json) -> list[Piece]:
    """How a turn ended, with the harness's own word for it where that is another one."""
    outcome, raw = text(turn, "outcome"), text(turn, "raw_reason")
    return [toned(outcome), dim(f" ({cut(raw, 60)})" if raw and raw != outcome else "")]


def usage_words(turn: Json) -> list[Piece]:
    """The tokens that a turn used, where they were counted."""
    used = record(turn, "usage")
    total = number(used, "total_tokens")
    if total is None:
        return []
    return [dim(f"  {counted(int(total), 'token')}, counted per {text(used, 'kind', default='unknown')}")]


def clock(at: str) -> str:
    """The local time of day of an RFC 3339 time."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(at).astimezone().strftime("%H:%M:%S")
    except ValueError:
        return at or "--:--:--"


def since(at: str) -> str:
    """How long ago an RFC 3339 time was, in the largest unit that says enough."""
    from datetime import datetime

    try:
        seconds = max(0.0, time.time() - datetime.fromisoformat(at).timestamp())
    except ValueError:
        return "unknown"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def _launch(kind: str, event: Json) -> list[Piece]:
    match kind:
        case "launch_requested":
            by = " by a prompt" if text(event, "by") == "prompt" else ""
            return [f"launch requested{by}: {text(event, 'attempt')}"]
        case "launch_starting":
            return [
                "starting ",
                cut(" ".join([text(event, "program"), *texts(event, "arguments")]), _TEXT_COLUMNS),
            ]
        case "launch_started":
            return [f"process {number(event, 'pid')} runs"]
        case "launch_ready":
            return [dim("takes its prompt")]
        case "launch_connected":
            name = " ".join(filter(None, [text(event, "harness_name"), text(event, "harness_version")]))
            return ["connected", *([" to ", bold(name)] if name else [])]
        case "session_opened":
            return [f"session opened: {text(event, 'how')}"]
        case "session_open_failed":
            return [bad(f"no session was opened ({text(event, 'outcome')})"), *_error(event)]
        case "launch_ended":
            return _launch_ended(event)
        case _:
            return _unknown(kind)


def _launch_ended(event: Json) -> list[Piece]:
    reason = text(event, "reason")
    words = {
        "done": "the run is over",
        "stopped": "stopped",
        "exit": "the harness's process ended by itself",
        "holder_lost": "the holder is gone",
        "never_started": "the harness was never started",
        "failed": "the launch failed",
    }.get(reason, reason or "ended")
    exit_code, signal = number(event, "exit_code"), number(event, "signal")
    how = (
        f" (exit {exit_code})"
        if exit_code is not None
        else f" (signal {signal})"
        if signal is not None
        else ""
    )
    said = text(event, "stderr_tail").strip()
    tail: list[Piece] = (
        [dim(f"  its last words: {cut(said.splitlines()[-1], _TEXT_COLUMNS)}")] if said else []
    )
    tone = dim if reason in ("done", "stopped") else bad
    return [tone(words + how), *_error(event), *tail]


def _delivery(kind: str, event: Json) -> list[Piece]:
    match kind:
        case "delivery_queued":
            sender = text(event, "sender")
            return [
                f"prompt queued{f' by the seat {sender}' if sender else ''}: ",
                dim(cut(text(event, "text"), _TEXT_COLUMNS)),
            ]
        case "delivery_held":
            return [warn(f"prompt held: {held_words(event, why='why', until='until')}"), *_error(event)]
        case "delivery_sending":
            return ["turn begins"]
        case "delivery_signed":
            return [dim(f"signed by {text(event, 'signer')}")]
        case "delivery_sent":
            return [dim("prompt written to the harness")]
        case "delivery_accepted":
            return [dim("the harness took the prompt; nothing is said of its turn yet")]
        case "delivery_rendered":
            return [dim("the console shows it; that confirms nothing")]
        case "delivery_started":
            return [dim("the harness works on it")]
        case "delivery_refused":
            return [bad("prompt refused"), *_error(event)]
        case "delivery_failed":
            return [bad("prompt failed"), *_error(event)]
        case "delivery_unknown":
            return [
                bad("prompt unknown: it may or may not have arrived, and is not repeated"),
                *_error(event),
            ]
        case _:
            return _unknown(kind)


def _turn_ended(event: Json) -> list[Piece]:
    doubt = text(event, "doubt", "message")
    return [
        "turn ended: ",
        *outcome_words(event),
        *_error(event),
        *usage_words(event),
        warn(f"  its last words may be an error, or the model's own: {cut(doubt, 80)}" if doubt else ""),
    ]


def _answered(event: Json) -> list[Piece]:
    decision = text(event, "decision")
    name = text(event, "option_name")
    reason = text(event, "reason")
    return [
        "answered: ",
        toned(decision),
        f" {by_whom(text(event, 'by'))}",
        dim(f"  {name!r}" if name else ""),
        dim(f"  {cut(reason, 80)}" if reason else ""),
    ]


def _content(kind: str, event: Json) -> list[Piece]:
    match kind:
        case "tool_call":
            return _tool_call(event)
        case "plan":
            entries = records(event, "entries")
            done = sum(text(one, "status") == "completed" for one in entries)
            now = next((text(one, "content") for one in entries if text(one, "status") == "in_progress"), "")
            return [f"plan: {done} of {len(entries)} done", dim(f"  now: {cut(now, 80)}" if now else "")]
        case "commands":
            return [dim(f"offers {counted(len(items(event, 'names')), 'command')}")]
        case "mode":
            return [dim(f"session mode: {text(event, 'current')}")]
        case "config":
            values = ", ".join(f"{name}={value}" for name, value in record(event, "values").items())
            return [dim(f"session options: {cut(values, _TEXT_COLUMNS)}")]
        case "usage":
            used, size, percent = number(event, "used"), number(event, "size"), number(event, "percent")
            if percent is not None and used is None:
                return [dim(f"context: {int(percent)} % used, as its {text(event, 'source')} shows")]
            return [dim(f"context: {_count(used)} of {_count(size)} tokens")]
        case "permission_denied":
            return _denied(event)
        case "retrying":
            return _retrying(event)
        case "session_info":
            return [dim(f"title: {cut(text(event, 'title') or 'unknown', 80)}")]
        case "noise":
            lines = counted(int(number(event, "lines") or 0), "line")
            return [dim(f"{lines} of noise: {cut(text(event, 'sample'), 80)}")]
        case "protocol_fault":
            weight = "fatal" if flag(event, "fatal") else "the launch goes on"
            return [bad(f"protocol fault: {cut(text(event, 'message'), 120)}"), dim(f" ({weight})")]
        case "unknown_update":
            return [dim(f"an update that Inspan does not know: {cut(text(event, 'kind'), 60)}")]
        case "unknown_message":
            what = "a request" if flag(event, "answered") else "a notification"
            return [dim(f"{what} that Inspan does not know: {cut(text(event, 'method'), 60)}")]
        case _:
            return _unknown(kind)


def _denied(event: Json) -> list[Piece]:
    """A denial with the whole rule that would allow it: it is there to be copied."""
    title, reason, rule = text(event, "title"), text(event, "reason"), text(event, "rule")
    pieces: list[Piece] = [
        bad("denied, since nobody could be asked: "),
        bold(cut(title or text(event, "tool") or text(event, "call"), _TEXT_COLUMNS)),
        dim(f"  {cut(reason, _TEXT_COLUMNS)}" if reason else ""),
    ]
    if rule:
        settings = text(event, "settings")
        pieces += [dim("  to allow it, add "), bold(rule), dim(f" to {settings}" if settings else "")]
        if flag(event, "is_shared"):
            pieces.append(warn(" (every seat on this machine reads that)"))
    return pieces


def _retrying(event: Json) -> list[Piece]:
    attempt, limit = number(event, "attempt"), number(event, "limit")
    which = "" if attempt is None else f", attempt {int(attempt)}"
    of = f" of {int(limit)}" if limit is not None and attempt is not None else ""
    at = text(event, "retry_at")
    reason = text(event, "reason")
    return [
        warn(f"the harness retries{which}{of}"),
        f" at {clock(at)}" if at else "",
        dim(f"  {cut(reason, _TEXT_COLUMNS)}" if reason else ""),
    ]


def _tool_call(event: Json) -> list[Piece]:
    status = text(event, "status")
    mark = {"completed": good("done"), "failed": bad("failed"), "in_progress": dim("works")}.get(
        status, dim(status)
    )
    pieces: list[Piece] = ["tool: ", bold(cut(text(event, "title") or text(event, "id"), _TEXT_COLUMNS))]
    if status:
        pieces.extend([" ", mark])
    return pieces


def _error(event: Json) -> list[Piece]:
    error = record(event, "error")
    if not error:
        return []
    hint = text(error, "hint")
    return [": ", cut(text(error, "message"), 2 * _TEXT_COLUMNS), dim(f"  next: {hint}" if hint else "")]


def _count(value: float | None) -> str:
    return "unknown" if value is None else str(int(value))


def _unknown(kind: str) -> list[Piece]:
    return [dim(f"{kind}: an event that this version does not know")]
