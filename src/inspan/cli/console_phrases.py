"""Events of a console in words: which terminal it has, and what is believed of it."""

from __future__ import annotations

from .fields import Json, flag, number, record, records, text, texts
from .output import Piece, bad, bold, cut, dim, warn

__all__ = ["CONSOLE_KINDS", "console_detail", "console_fields", "tell_console", "tell_error"]

CONSOLE_KINDS = frozenset(["console_opened", "console_judged", "keys_pressed"])
"""The types of events that are told here."""

_COLUMNS = 100


def tell_console(kind: str, event: Json) -> list[Piece]:
    """What an event of one of `CONSOLE_KINDS` says."""
    if kind == "keys_pressed":
        keys = " ".join(texts(event, "keys"))
        return [
            warn(f"keys pressed by an operator: {keys}"),
            dim(f"  {cut(text(event, 'reason'), _COLUMNS)}"),
        ]
    if kind == "console_opened":
        size = f"{number(event, 'columns') or 0:g}x{number(event, 'rows') or 0:g}"
        source = text(event, "rules_source")
        rules = f"rules from {source}" if source else "no screen rules"
        return [f"has a terminal of {size}", dim(f"  ({cut(rules, _COLUMNS)})")]
    pieces = _activity(event)
    if record(event, "error"):
        pieces += ["  ", *tell_error(record(event, "error"))]
    if signs := texts(event, "signs"):
        pieces.append(dim(f"  {', '.join(signs)}"))
    if works := records(event, "background"):
        pieces.append(dim(f"  {len(works)} in the background"))
    for lost in records(event, "lost"):
        pieces.append(
            warn(f"  {text(lost, 'source')} is not believed: {cut(text(lost, 'reason'), _COLUMNS)}")
        )
    return pieces


def tell_error(error: Json) -> list[Piece]:
    """An error that a console keeps: what it is, until when, and the harness's words."""
    pieces: list[Piece] = [bad(text(error, "code", default="an error"))]
    if resets := text(error, "resets"):
        pieces.append(f" until {cut(resets, 60)}")
    if message := text(error, "message"):
        pieces.append(dim(f": {cut(message, _COLUMNS)}"))
    return pieces


def console_detail(seat: Json) -> str:
    """What a seat's status does not say by itself: what a person owes, and the error that its console keeps."""
    console = record(seat, "console")
    kinds = [text(one, "kind") for one in records(seat, "needs_input")]
    if console and text(console, "gate") not in ("", *kinds):
        kinds.append(text(console, "gate"))
    details = [", ".join(dict.fromkeys(filter(None, kinds)))]
    if error := record(console, "error"):
        until = f" until {cut(text(error, 'resets'), 30)}" if text(error, "resets") else ""
        details.append(f"{text(error, 'code')}{until}")
    return "; ".join(filter(None, details))


def console_fields(seat: Json) -> list[tuple[str, Piece | list[Piece]]]:
    """What is believed of a seat's console, as rows of its page; none where it has no console."""
    console = record(seat, "console")
    if not console:
        return []
    if flag(console, "is_ready"):
        ready: list[Piece] = ["ready for a prompt"]
    else:
        why = text(console, "readiness")
        ready = ["not ready", dim(f": {cut(why, _COLUMNS)}") if why else ""]
    viewers = int(number(console, "viewers") or 0)
    writer = "one of them may type" if flag(console, "has_writer") else "none of them may type"
    return [
        ("console", ready),
        ("gate", warn(text(console, "gate")) if text(console, "gate") else ""),
        ("error", tell_error(record(console, "error")) if record(console, "error") else ""),
        ("signs", ", ".join(texts(console, "signs"))),
        ("works beside", "; ".join(_work(one) for one in records(console, "background"))),
        (
            "not believed",
            "; ".join(f"{text(one, 'source')}: {text(one, 'reason')}" for one in records(console, "lost")),
        ),
        ("looked at by", f"{viewers}; {writer}" if viewers else ""),
    ]


def _work(one: Json) -> str:
    return ": ".join(filter(None, [text(one, "id"), cut(text(one, "title"), 40), text(one, "state")]))


def _activity(event: Json) -> list[Piece]:
    match text(event, "activity"):
        case "needs_input":
            what = text(event, "gate") or text(event, "kind", default="an answer")
            drawn = "" if flag(event, "is_drawn") else " (not drawn yet)"
            return [warn("waits for a person: "), bold(what), dim(drawn)]
        case "running":
            return ["works"]
        case "idle":
            return ["is idle", dim(", ready for a prompt" if flag(event, "is_ready") else "")]
        case _:
            return ["its state is unknown", dim(f"  {cut(text(event, 'readiness'), _COLUMNS)}")]
