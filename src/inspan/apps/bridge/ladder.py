"""The ladder: by which of a profile's routes work can reach its harness now, the deepest first."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from inspan.apps.client import JsonObject

from .handoff import is_up
from .routes import (
    MODES,
    GatewayRoute,
    HeadlessRoute,
    InboundRoute,
    Mode,
    Profile,
    Route,
    SeatRoute,
    SubscribeRoute,
)
from .seats import SeatBook

__all__ = ["NO_RUNG", "Ladder", "Rung", "Surroundings", "climb", "find_command"]

NO_RUNG = "No rung of the ladder can be used: nothing is started, and nothing would be delivered."
"""What is said at the bottom."""


class Rung(msgspec.Struct, frozen=True, kw_only=True):
    """One rung.

    Attributes:
        mode: Which.
        is_available: Whether work can take it now.
        detail: One line: what it would use, or what would make it usable.
    """

    mode: Mode
    is_available: bool
    detail: str

    def to_wire(self) -> JsonObject:
        """As the programs print it."""
        return {"mode": self.mode, "available": self.is_available, "detail": self.detail}


class Ladder(msgspec.Struct, frozen=True, kw_only=True):
    """What was found.

    Attributes:
        rungs: Every rung from the deepest down.
        route: The route of the deepest that can be used; `None` where none can.
    """

    rungs: tuple[Rung, ...] = ()
    route: Route | None = None


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What decides whether a rung can be used.

    Attributes:
        app: The app's folder.
        environ: The bridge's variables.
        seats: The seats of Inspan that there are.
    """

    app: Path
    environ: Mapping[str, str]
    seats: SeatBook


def climb(profile: Profile, around: Surroundings) -> Ladder:
    """Looks at every rung. Nothing is started; addresses that say so are asked for their health."""
    rungs: list[Rung] = []
    chosen: Route | None = None
    for mode in MODES:
        routes = [one for one in profile.routes if one.mode == mode]
        if not routes:
            rungs.append(
                Rung(mode=mode, is_available=False, detail=f"{profile.id} has no route of this kind.")
            )
            continue
        looked = [(one, *_look(one, around)) for one in routes]
        usable = [(route, detail) for route, works, detail in looked if works]
        if usable:
            route, detail = usable[0]
            chosen = chosen or route
            rungs.append(Rung(mode=mode, is_available=True, detail=detail))
        else:
            detail = " ".join(dict.fromkeys(detail for _, _, detail in looked))
            rungs.append(Rung(mode=mode, is_available=False, detail=detail))
    return Ladder(rungs=tuple(rungs), route=chosen)


def _look(route: Route, around: Surroundings) -> tuple[bool, str]:
    match route:
        case SeatRoute():
            return around.seats.look(route, around.app)
        case InboundRoute():
            return _look_inbound(route)
        case HeadlessRoute():
            return _look_headless(route, around)
        case GatewayRoute():
            if is_up(route.health, allow_remote=route.allow_remote):
                return True, f"Up at {route.url}."
            return True, f"Not up at {route.health}: the bridge will start it with `{route.start}`."
        case SubscribeRoute():
            hint = f" {route.hint}" if route.hint else ""
            return True, f"The harness fetches work by itself; nothing is delivered to it.{hint}"


def _look_inbound(route: InboundRoute) -> tuple[bool, str]:
    if not route.health:
        return True, f"Believed to be up at {route.url}: its profile names no health address."
    if is_up(route.health, allow_remote=route.allow_remote):
        return True, f"Up at {route.url}."
    return False, f"{route.health} does not answer: start the harness that listens there."


def _look_headless(route: HeadlessRoute, around: Surroundings) -> tuple[bool, str]:
    if route.missing:
        return False, route.missing
    found = find_command(route, around)
    if found is None:
        return False, f"{route.command!r} is not on the PATH: install it, or name its path in the profile."
    grant = route.grant or "what it may do unasked is what its arguments say"
    return True, f"{found}; {grant}."


def find_command(route: HeadlessRoute, around: Surroundings) -> str | None:
    """The program of a headless route: a path to a file, else the name's place on the PATH."""
    command = os.path.expanduser(route.command)
    if os.sep in command:
        # As its own working folder would have it, so that a relative path means one thing.
        command = os.path.join(around.app, command)
    return shutil.which(command, path=around.environ.get("PATH", os.defpath))
