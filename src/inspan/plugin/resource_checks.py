"""What a manifest's places of resources must keep beyond their shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from inspan.model.manifest import Manifest
from inspan.model.resource import ResourceMode

from .faults import Fault
from .resources import PROJECT_ROOT

__all__ = ["check_resources"]

_PLACEHOLDER = re.compile(r"\{[^{}]*\}")


def check_resources(manifest: Manifest) -> Iterator[Fault]:
    """The faults of `manifest.resources`."""
    seen: set[tuple[str, str]] = set()
    for index, place in enumerate(manifest.resources):
        at = f"resources[{index}]"
        named = _PLACEHOLDER.findall(place.target)
        rest = place.target.removeprefix(f"{PROJECT_ROOT}/")
        if rest == place.target or not rest or ".." in PurePosixPath(rest).parts or rest.startswith("/"):
            yield Fault(
                key_path=f"{at}.target",
                problem=f"is {place.target!r}",
                expected="a path below {projectRoot}/, without ..",
            )
        elif strange := [one for one in named if one not in (PROJECT_ROOT, "{id}")]:
            yield Fault(
                key_path=f"{at}.target",
                problem=f"has the placeholder {strange[0]}",
                expected="only {projectRoot} and {id}",
            )
        elif named.count("{id}") > 1:
            yield Fault(key_path=f"{at}.target", problem="names {id} twice", expected="{id} once at most")
        elif place.mode is ResourceMode.DIRECTORY and "{id}" not in named:
            yield Fault(
                key_path=f"{at}.target",
                problem="is one folder for all",
                expected="{id}: each resource has a folder of its own",
            )
        if (place.kind, place.target) in seen:
            yield Fault(key_path=at, problem="is there twice", expected="each place once")
        seen.add((place.kind, place.target))
