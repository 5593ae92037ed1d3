"""Launch axes: what an operator told a seat beside model, effort and posture, as arguments and variables of its launches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from inspan.model.errors import UsageError
from inspan.model.launch_axis import LaunchAxis
from inspan.model.manifest import ModeManifest

from .faults import Fault

__all__ = ["AxisParts", "check_axes", "tell_axes"]

_VALUE = "{value}"


class AxisParts(NamedTuple):
    """What a launch gets for its axes."""

    args: tuple[str, ...]
    environment: dict[str, str]


def tell_axes(mode: ModeManifest, chosen: Mapping[str, Sequence[str]], *, workspace: str) -> AxisParts:
    """The arguments and variables for what was chosen.

    Raises:
        UsageError: `option_unknown`: the mode has no such axis, or the axis no such value; `invalid_argument`: it
            was given more than once and cannot be.
    """
    args: list[str] = []
    environment: dict[str, str] = {}
    for name, values in chosen.items():
        axis = mode.axes.get(name)
        if axis is None:
            known = ", ".join(sorted(mode.axes))
            raise UsageError(
                f"A launch in this mode cannot be told {name!r}.",
                code="option_unknown",
                hint=f"It can be told: {known}."
                if known
                else "It can be told model, effort and posture alone.",
                detail={"options": sorted(mode.axes)},
            )
        if len(values) > 1 and not axis.repeatable:
            raise UsageError(f"{name} can be told once.", hint=f"Give one of: {', '.join(values)}.")
        for value in values:
            told = _value(name, axis, value, workspace)
            args += [one.replace(_VALUE, told) for one in axis.args]
            environment |= {key: one.replace(_VALUE, told) for key, one in axis.environment.items()}
    return AxisParts(tuple(args), environment)


def check_axes(mode: ModeManifest, at: str) -> Iterator[Fault]:
    """The faults of a mode's axes."""
    for name, axis in mode.axes.items():
        here = f"{at}.axes.{name}"
        texts = (*axis.args, *axis.environment.values())
        if not texts:
            yield Fault(key_path=here, problem="tells the harness nothing", expected="args or environment")
        elif not any(_VALUE in text for text in texts) and len(axis.values) != 1:
            yield Fault(
                key_path=here, problem="does not say where its value goes", expected="{value}, or one value"
            )
        if axis.repeatable and axis.environment:
            yield Fault(
                key_path=f"{here}.repeatable",
                problem="is true, and a variable has one value",
                expected="args alone",
            )


def _value(name: str, axis: LaunchAxis, value: str, workspace: str) -> str:
    if axis.values and value not in axis.values:
        raise UsageError(
            f"{name} cannot be {value!r}.",
            code="option_unknown",
            hint=f"It can be: {', '.join(axis.values)}.",
            detail={"values": list(axis.values)},
        )
    if not value or "\0" in value or value.startswith("-"):
        raise UsageError(f"{value!r} is no value for {name}.", hint="Give one that does not begin with '-'.")
    return os.path.normpath(os.path.join(workspace, value)) if axis.kind == "folder" else value
