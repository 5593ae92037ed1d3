"""Launch axes: what else a launch can be told beside model, effort and posture, as data."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

__all__ = ["LaunchAxis"]

EnvName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class LaunchAxis(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One thing that a launch can be told, such as a further folder, an agent or a project.

    `{value}` in arguments and variables is replaced by what the operator gave; nothing else is.

    Attributes:
        args: Further arguments of every launch, once for each value.
        environment: Further variables.
        kind: `folder` is a path, which becomes absolute from the workspace; `text` goes as it is.
        values: The values that there are; none takes any.
        repeatable: Whether it can be given more than once.
        source: Where the fact comes from.
        verified: Date and version.
    """

    args: tuple[str, ...] = ()
    environment: dict[EnvName, str] = {}
    kind: Literal["text", "folder"] = "text"
    values: tuple[str, ...] = ()
    repeatable: bool = False
    source: str = ""
    verified: str = ""
