"""Events of requests, in words."""

from __future__ import annotations

from .fields import Json, text
from .output import Piece, bad, bold, dim, toned

__all__ = ["REQUEST_KINDS", "tell_request"]

REQUEST_KINDS = frozenset(["handoff_declared", "request_handed_off", "handoff_failed", "request_settled"])
"""The types of events that are told here."""


def tell_request(kind: str, event: Json) -> list[Piece]:
    """What an event of one of `REQUEST_KINDS` says."""
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
