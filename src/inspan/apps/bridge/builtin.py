"""Built-in profiles: how work reaches each harness that Inspan knows, from that harness's manifest alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from inspan.apps.client import JsonObject

from .environment import PROGRAM
from .routes import HeadlessRoute, Profile, Route, SeatRoute

if TYPE_CHECKING:
    from inspan.host.one_shots import OneShot
    from inspan.model.manifest import Manifest

__all__ = ["BuiltIns", "profile_entry", "read_built_ins"]

_ORDER = {"program": 0, "sandbox": 1, "everything": 2, "": 3}
_GRANTS = {
    "program": f"it may run {PROGRAM} unasked, and nothing else",
    "sandbox": "it may do unasked whatever its own sandbox confines",
    "everything": "it runs every command unasked: its rules know no less",
}


class BuiltIns(msgspec.Struct, frozen=True, kw_only=True):
    """What is known from the manifests.

    Attributes:
        profiles: A profile of each harness whose manifest can be used. Those that let an agent run our program and no
            more come first, then those that their own sandbox confines, then those that let it do everything; within
            that, by name. So what is chosen where nobody chose is the narrowest.
        variables: By the name of a harness's program: the variables by which it signs in and finds its provider and
            its settings.
    """

    profiles: tuple[Profile, ...]
    variables: dict[str, tuple[str, ...]]


def read_built_ins(environ: Mapping[str, str]) -> BuiltIns:
    """Reads every manifest.

    Args:
        environ: The variables in which programs are looked for.
    """
    planned = [(manifest, _one_shot(manifest, environ)) for manifest in _manifests()]
    taken: dict[str, int] = {}
    variables: dict[str, tuple[str, ...]] = {}
    for manifest, once in planned:
        for name in _names(manifest)[:1]:
            taken[name] = taken.get(name, 0) + 1
        for name in _names(manifest):
            variables[name] = (*variables.get(name, ()), *_variables(manifest, once))
    profiles = [
        (_ORDER[once.reach if once else ""], _profile(manifest, once, taken)) for manifest, once in planned
    ]
    ordered = sorted(profiles, key=lambda pair: (pair[0], pair[1].id))
    return BuiltIns(profiles=tuple(one for _, one in ordered), variables=variables)


def profile_entry(harness: str, environ: Mapping[str, str]) -> JsonObject | None:
    """The profile of one harness as an entry of `harnesses.json`, for a plugin that registers it.

    `None` where there is no such harness, where it cannot be run once, or where that needs more than the file can say.
    """
    for manifest in _manifests():
        if manifest.id != harness:
            continue
        once = _one_shot(manifest, environ)
        if once is None or once.environment or once.makes_session:
            return None
        names = _names(manifest)
        return {
            "id": names[0] if names else manifest.id,
            "name": manifest.name,
            "routes": [
                {
                    "mode": "headless",
                    "command": names[0] if names else once.program,
                    "args": list(once.args),
                    **({"input": "stdin"} if once.takes_prompt == "stdin" else {}),
                }
            ],
        }
    return None


def _profile(manifest: Manifest, once: OneShot | None, taken: Mapping[str, int]) -> Profile:
    names = _names(manifest)
    # As the original calls them: by their programs.
    id_ = names[0] if names and taken[names[0]] == 1 else manifest.id
    routes: tuple[Route, ...] = (SeatRoute(harness=manifest.id),)
    if once is not None:
        routes += (
            HeadlessRoute(
                command=once.program,
                args=once.args,
                input="arg" if once.takes_prompt == "argument" else "stdin",
                env=once.inherits,
                sets=once.environment,
                makes_session=once.makes_session,
                grant=_GRANTS[once.reach],
                missing=once.problem,
            ),
        )
    return Profile(
        id=id_,
        name=manifest.name,
        routes=routes,
        also_called=tuple(one for one in dict.fromkeys((manifest.id, *names)) if one != id_),
        origin="built-in",
    )


def _variables(manifest: Manifest, once: OneShot | None) -> tuple[str, ...]:
    if once is not None:
        return once.inherits
    sign_in = manifest.sign_in
    wanted = (*sign_in.auth_variables, *sign_in.locator_variables, manifest.config.variable)
    return tuple(filter(None, wanted))


def _names(manifest: Manifest) -> tuple[str, ...]:
    return manifest.program.names


def _one_shot(manifest: Manifest, environ: Mapping[str, str]) -> OneShot | None:
    from inspan.host.one_shots import plan_one_shot

    return plan_one_shot(manifest, program=PROGRAM, environ=environ)


def _manifests() -> Iterable[Manifest]:
    from inspan.home import locate_home
    from inspan.host.registry import HarnessRegistry

    home: Path = locate_home().path
    for entry in HarnessRegistry(home).list():
        if entry.manifest is not None:
            yield entry.manifest
