"""Choosing the harness: who said so first, and never another one than that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from inspan.apps.faults import Rejected
from inspan.model.ids import SEAT_NAME

from .harnesses_file import HarnessesFile
from .ladder import Ladder
from .routes import Profile, SeatRoute

__all__ = ["SEAT_PREFIX", "VARIABLE", "Choice", "choose", "known_profiles"]

VARIABLE = "A2APP_HARNESS"
"""The variable that names the harness where the command line does not."""

SEAT_PREFIX = "seat:"
"""What stands before the name of a seat that is chosen as a harness."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A harness, and who chose it.

    Attributes:
        profile: The harness; `None` where no harness has a route that could be used.
        why: One line: which step won.
        ladder: Its rungs, as they are now.
    """

    profile: Profile | None
    why: str
    ladder: Ladder


def known_profiles(built_in: Sequence[Profile], file: HarnessesFile | None) -> tuple[Profile, ...]:
    """Every profile: the built-in ones, each replaced outright by the file's of the same id, then the file's others."""
    own = {one.id: one for one in file.profiles} if file is not None else {}
    replaced = [own.pop(one.id, one) for one in built_in]
    return (*replaced, *own.values())


def choose(
    profiles: Sequence[Profile],
    *,
    named: str | None,
    environ: Mapping[str, str],
    file: HarnessesFile | None,
    climb: Callable[[Profile], Ladder],
) -> Choice:
    """The harness: by `--harness`, else by `$A2APP_HARNESS`, else by the file's `default`, else the first that works.

    One that was named is the one that is taken, whether it can be reached or not.

    Args:
        profiles: All that there are, in their order.
        named: What the command line says.
        environ: Variables.
        file: `harnesses.json`, where there is one.
        climb: Looks at the rungs of a profile.

    Raises:
        Rejected: Nobody is called what was named; the known ids are listed.
    """
    variable = environ.get(VARIABLE, "").strip()
    for name, who in (
        (named, "--harness"),
        (variable or None, f"${VARIABLE}"),
        (
            file.default if file is not None and file.default else None,
            f"`default` in {file.path if file else ''}",
        ),
    ):
        if name is not None:
            profile = _find(profiles, name, who)
            return Choice(profile=profile, why=f"{who} names {name!r}", ladder=climb(profile))
    for profile in profiles:
        ladder = climb(profile)
        if ladder.route is not None:
            return Choice(
                profile=profile, why="nobody named one, and it is the first that can be used", ladder=ladder
            )
    return Choice(
        profile=None, why="nobody named one, and none of those that are known can be used", ladder=Ladder()
    )


def _find(profiles: Sequence[Profile], name: str, who: str) -> Profile:
    exact = [one for one in profiles if one.id == name]
    alike = exact or [one for one in profiles if name in one.also_called]
    if len(alike) == 1:
        return alike[0]
    seat = name.removeprefix(SEAT_PREFIX)
    if seat != name and SEAT_NAME.fullmatch(seat):
        return Profile(id=name, name=f"seat {seat}", routes=(SeatRoute(seat=seat),), origin="seat")
    known = ", ".join(one.id for one in profiles)
    raise Rejected(
        f"{who} names {name!r}, which is no harness that is known.",
        hint=f"Known: {known}; or {SEAT_PREFIX}NAME.",
    )
