"""Views of hooks: where a harness is told of the relay, and what came of telling it."""

from __future__ import annotations

from typing import Literal

import msgspec

from .plan import Problem

__all__ = ["HookPlaceView", "HooksView"]


class HookPlaceView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A place where a harness is told of the relay.

    Attributes:
        scope: `seat`: a file of each launch, written by itself; `shared`: the operator's own file.
        path: The file; with `seat`, its name.
        state: `each_launch`: told at every launch; `taken`: it is not used, since something of the operator's would be
            hidden by it; `installed`, `outdated` (another version, or not every event), `absent`, or `unreadable`.
        events: The events that are told there.
        is_changed: This call changed the file.
        needs: What a person must still do.
        warnings: What is good to know before the file is changed, or after it was.
        problem: Why it cannot be read or changed.
    """

    scope: Literal["seat", "shared"]
    path: str
    state: Literal["each_launch", "taken", "installed", "outdated", "absent", "unreadable"]
    events: tuple[str, ...] = ()
    is_changed: bool = False
    needs: str = ""
    warnings: tuple[str, ...] = ()
    problem: Problem | None = None


class HooksView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A harness's hooks.

    Attributes:
        harness: The harness.
        seat: The seat that was asked about; empty where it was the harness.
        places: Where it is told of the relay, the preferred first.
        is_told: Whether a launch would be told by one of them.
        is_off: The seat does without hooks.
        note: What that means, in a sentence.
    """

    harness: str
    seat: str = ""
    places: tuple[HookPlaceView, ...] = ()
    is_told: bool = False
    is_off: bool = False
    note: str = ""
