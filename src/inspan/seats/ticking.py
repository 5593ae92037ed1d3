"""What follows for a seat from the time alone: limits of requests, turns that are quiet or stuck, limits that ended."""

from __future__ import annotations

import time

from inspan.model.state import InFlight, SeatState

from . import inputs
from .actor import SeatActor
from .harnesses import Harnesses, find_mode, utc_now
from .holds import is_release_due
from .stuck import silent_s

__all__ = ["note_time"]


async def note_time(actor: SeatActor, harnesses: Harnesses) -> None:
    """Gives the seat what its time has come for.

    Raises:
        InspanError: The log, or the harness's manifest, cannot be had now; the next look tries again.
    """
    state, now = actor.state, utc_now()
    if state is None:
        return
    if any(
        one.expires_at is not None and one.expires_at <= now for one in (*state.permissions, *state.questions)
    ):
        await actor.give(inputs.PermissionsExpired())
    if is_release_due(state, now):
        await actor.give(inputs.LimitReset())
    if state.in_flight is not None and actor.is_attached:
        await _note_silence(actor, state, state.in_flight, harnesses)


async def _note_silence(actor: SeatActor, state: SeatState, flight: InFlight, harnesses: Harnesses) -> None:
    link = actor.link
    if link is None or (flight.quiet_at is not None and flight.errored_at is None):
        return
    mode = find_mode(harnesses.registry.manifest(state.harness), state.mode)
    heard_ago_s, now = time.monotonic() - link.heard_at, utc_now()
    stuck_s = silent_s(state, now, heard_ago_s)
    if stuck_s is not None and mode.stuck_after_s and stuck_s > mode.stuck_after_s:
        await actor.give(inputs.TurnFellStuck(turn=flight.turn, after_s=mode.stuck_after_s))
        return
    limit_s = mode.inactivity_limit_s
    if not limit_s or flight.quiet_at is not None:
        return
    if min((now - flight.begun_at).total_seconds(), heard_ago_s) > limit_s:
        await actor.give(inputs.TurnFellQuiet(turn=flight.turn, limit_s=limit_s))
