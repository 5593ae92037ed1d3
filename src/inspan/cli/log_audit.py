"""An audit of the log: is anything missing, is anything there twice? `inspan demo` ends with it."""

from __future__ import annotations

import re
from typing import NamedTuple

from .context import Context
from .fields import Json, number, record, records, text

__all__ = ["Check", "audit", "check_events", "read_log"]

_PAGE = 1000


class Check(NamedTuple):
    """One thing that was looked at.

    Attributes:
        name: What was asked.
        is_ok: Whether the answer is yes.
        fact: What was found.
    """

    name: str
    is_ok: bool
    fact: str


def audit(context: Context, *, delivery: str, lines: int) -> list[Check]:
    """Reads the whole log and looks for gaps and doubles (see `check_events`)."""
    return check_events(read_log(context), delivery=delivery, lines=lines)


def read_log(context: Context) -> list[Json]:
    """Every event, in order."""
    events: list[Json] = []
    while True:
        after = int(number(events[-1], "position") or 0) if events else 0
        page = records(context.get("/v1/events", after=after, limit=_PAGE))
        events.extend(page)
        if len(page) < _PAGE:
            return events


def check_events(events: list[Json], *, delivery: str, lines: int) -> list[Check]:
    """Looks for gaps and doubles.

    Args:
        events: The whole log.
        delivery: The delivery whose turn says `line 1 of N` to `line N of N`.
        lines: N.
    """
    positions = [int(number(one, "position") or 0) for one in events]
    own = [one for one in events if text(one, "event", "delivery") == delivery]
    turn = next((text(one, "event", "turn") for one in own if text(one, "type") == "delivery_sending"), "")
    said = "".join(
        text(one, "event", "text")
        for one in events
        if turn
        and text(one, "turn") == turn
        and text(one, "type") == "message_chunk"
        and text(one, "event", "role") == "agent"
    )
    heard = [int(found) for found in re.findall(rf"\bline (\d+) of {lines}\b", said)]
    missing = sorted(set(range(1, lines + 1)) - set(heard))
    doubled = sorted({one for one in heard if heard.count(one) > 1})
    kinds = [text(one, "type") for one in own]
    ended = [record(one, "event") for one in own if text(one, "type") == "turn_ended"]
    outcomes = [text(one, "outcome") for one in ended]
    return [
        Check(
            "every event has its place",
            positions == list(range(1, len(positions) + 1)) and bool(positions),
            f"{len(positions)} events, at the positions 1 to {positions[-1] if positions else 0} without a gap",
        ),
        Check(
            "every line is there, once, in order",
            heard == list(range(1, lines + 1)),
            f"{len(heard)} of {lines} lines"
            + (f", missing {missing}" if missing else ", none missing")
            + (f", doubled {doubled}" if doubled else ", none doubled"),
        ),
        Check(
            "the prompt went out once",
            kinds.count("delivery_sending") == 1 and kinds.count("delivery_queued") == 1,
            f"queued {kinds.count('delivery_queued')} time, sent {kinds.count('delivery_sending')} time",
        ),
        Check(
            "its turn ended once, as the harness said",
            outcomes == ["completed"],
            f"outcome: {', '.join(outcomes) or 'none'}",
        ),
    ]
