"""What a manifest's `[config]` must keep beyond its shape."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from inspan.model.installation import ConfigSeed
from inspan.model.manifest import Manifest

from .faults import Fault

__all__ = ["check_config"]


def check_config(manifest: Manifest) -> Iterator[Fault]:
    """The faults of `manifest.config`."""
    config = manifest.config
    can_move = config.isolation == "home" or (bool(config.variable) and config.isolation != "none")
    for key in ("required", "writes_launch_flags", "seed"):
        if getattr(config, key) and not can_move:
            yield Fault(
                key_path=f"config.{key}",
                problem="asks for a folder of a seat's own, and nothing moves the folder",
                expected="variable, or isolation = 'home'",
            )
    if config.writes_launch_flags and config.writes_back != "yes":
        yield Fault(
            key_path="config.writes_launch_flags",
            problem=f"is true where writes_back is {config.writes_back!r}",
            expected="writes_back = 'yes'",
        )
    seen: set[str] = set()
    for index, seed in enumerate(config.seed):
        yield from _check_seed(seed, f"config.seed[{index}]")
        if seed.path in seen:
            yield Fault(
                key_path=f"config.seed[{index}].path", problem="is there twice", expected="each file once"
            )
        seen.add(seed.path)


def _check_seed(seed: ConfigSeed, at: str) -> Iterator[Fault]:
    if seed.path.startswith(("/", "~")) or ".." in PurePosixPath(seed.path).parts:
        yield Fault(
            key_path=f"{at}.path", problem=f"is {seed.path!r}", expected="a path in the folder, without .."
        )
    if ".." in PurePosixPath(seed.from_file).parts:
        yield Fault(
            key_path=f"{at}.from_file", problem=f"is {seed.from_file!r}", expected="a path without .."
        )
    if bool(seed.text) == bool(seed.from_file):
        yield Fault(key_path=at, problem="does not say what the file holds", expected="text or from_file")
    elif seed.kind == "onboarding" and seed.from_file:
        yield Fault(
            key_path=f"{at}.kind",
            problem="is onboarding, which is written unasked, and takes a file of the operator's",
            expected="kind = 'settings' or 'sign_in'",
        )
    elif seed.kind != "onboarding" and seed.text:
        yield Fault(
            key_path=f"{at}.kind",
            problem=f"is {seed.kind}, and gives a text of its own",
            expected="from_file, or kind = 'onboarding'",
        )
