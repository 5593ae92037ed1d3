"""What `inspan doctor` finds of seats: which of them cannot work, and which wait for a person."""

from __future__ import annotations

from collections.abc import Iterator

from .amounts import counted
from .fields import Json, held_words, record, records, text
from .findings import Finding
from .output import cut

__all__ = ["find_of_seats"]

_FACT_COLUMNS = 120


def find_of_seats(seats: list[Json]) -> Iterator[Finding]:
    """A line for each seat that wants attention, and one for all the others."""
    wanting = [finding for seat in seats for finding in _find(seat)]
    well = len(seats) - len({finding.name for finding in wanting})
    if not seats:
        yield Finding("ok", "seats", "none yet")
    elif well:
        yield Finding(
            "ok", "seats", f"{counted(well, 'seat')} of {len(seats)} {'is' if well == 1 else 'are'} well"
        )
    yield from wanting


def _find(seat: Json) -> Iterator[Finding]:
    name = text(seat, "name")
    label = f"seat {name}"
    if problem := record(seat, "problem"):
        remedy = text(problem, "hint") or f"See `inspan seat show {name}`."
        yield Finding("fail", label, text(problem, "message"), remedy)
        return
    for need in records(seat, "needs_input"):
        remedy = _answer(name, need, has_console=bool(record(seat, "console")))
        yield Finding("warn", label, f"waits for you: {cut(text(need, 'summary'), _FACT_COLUMNS)}", remedy)
    for one in records(seat, "attention"):
        yield Finding("warn", label, text(one, "message"), text(one, "hint"))
    held = [one for one in records(seat, "queue") if text(one, "held")]
    if held:
        fact = f"{counted(len(held), 'prompt')} held: {held_words(held[0])}"
        why = text(held[0], "error", "message")
        remedy = text(held[0], "hint") or f"See `inspan deliveries {name}`."
        yield Finding("warn", label, f"{fact}{f': {why}' if why else ''}", remedy)
    elif text(seat, "status") == "failed":
        why = text(seat, "launch", "error", "message", default="the reason is unknown")
        remedy = text(seat, "launch", "error", "hint") or f"See `inspan seat show {name}`."
        yield Finding("warn", label, f"its newest launch failed: {why}", remedy)


def _answer(seat: str, need: Json, *, has_console: bool) -> str:
    request = text(need, "request")
    if not request and has_console:
        return f"Run `inspan attach {seat}` and answer it there."
    if not request:
        return f"See `inspan seat show {seat}`."
    if text(need, "kind") == "question":
        return f"Run `inspan answer {request} --field NAME=VALUE` or `inspan answer {request} --decline`."
    return f"Run `inspan approve {request}` or `inspan deny {request}`."
