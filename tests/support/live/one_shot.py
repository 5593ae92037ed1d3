"""Seats whose harness is run once for each prompt, in an arena."""

from __future__ import annotations

from support.live.arena import Arena
from support.live.inspan_cli import InspanCli, Json

__all__ = ["SEAT", "add_one_shot_seat", "until_over"]

SEAT = "tester"


def add_one_shot_seat(arena: Arena, harness: str, *, name: str = SEAT, approvals: str = "ask") -> InspanCli:
    """Add a seat in the mode `headless` on the arena's workspace and return the command line."""
    cli = InspanCli(arena)
    where = ("--workspace", str(arena.workspace))
    how = ("--harness", harness, "--mode", "headless", "--approvals", approvals)
    cli.call("seat", "add", name, *how, *where)
    return cli


def until_over(inspan: InspanCli, seat: str = SEAT) -> Json:
    """Wait until the seat's run has ended, and return the seat."""
    inspan.until(lambda: inspan.seat(seat)["launch"]["status"] == "ended", "the end of the run")
    return inspan.seat(seat)
