"""Resources: the places in a project where a harness reads guidance, skills and the like, as data."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

__all__ = ["GuidanceBudget", "ResourceKind", "ResourceMode", "ResourcePlace"]


class ResourceKind(StrEnum):
    """What a resource is: instructions for everybody, a skill, a command of the harness's own, an agent, a rule."""

    GUIDANCE = "guidance"
    SKILL = "skill"
    COMMAND = "command"
    AGENT = "agent"
    RULE = "rule"


class ResourceMode(StrEnum):
    """How it lies there.

    `directory`: a folder of its own. `file`: a file of its own. `append-block`: a marked block in a file that also
    belongs to others.
    """

    DIRECTORY = "directory"
    FILE = "file"
    APPEND_BLOCK = "append-block"


class GuidanceBudget(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """How much guidance a harness that reads no file of it is given as its first turn.

    Attributes:
        budget_chars: The most characters; every turn of the conversation carries them.
        source: Where the fact comes from.
        verified: Date and version.
    """

    budget_chars: Annotated[int, msgspec.Meta(ge=1)] = 8000
    source: str = ""
    verified: str = ""


class ResourcePlace(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Where a harness reads resources of one kind.

    Attributes:
        kind: What they are.
        target: Where: `{projectRoot}/` and a path below it, in which `{id}` is the resource's own name.
        mode: How one lies there.
        source: Where the fact comes from.
        verified: Date and version.
    """

    kind: ResourceKind
    target: Annotated[str, msgspec.Meta(min_length=1)]
    mode: ResourceMode
    source: str = ""
    verified: str = ""
