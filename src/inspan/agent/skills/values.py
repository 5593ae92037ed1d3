"""What a skill is: a name and a line for the prompt, and a body that the model reads when it needs it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

__all__ = ["SKILL_NAME", "Skill", "SkillOrigin", "SkillText"]

SKILL_NAME = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(-[a-z0-9]+)*")
"""What a skill may be called, whole."""


class SkillOrigin(StrEnum):
    """Where a skill comes from, first the one whose skills hide others of the same name."""

    BUILTIN = "builtin"
    CONFIGURED = "configured"
    USER = "user"
    PROJECT = "project"
    RUNTIME = "runtime"


@dataclass(frozen=True, kw_only=True, slots=True)
class Skill:
    """A skill, without its body.

    Attributes:
        name: Matches `SKILL_NAME`.
        description: One line; what it is for and when to use it.
        origin: Where it comes from.
        owner: A plugin's id for a runtime skill, else the origin.
        directory: Its folder, absolute and resolved; None for a runtime skill without one.
        root: The folder that nothing read for this skill may lie outside of.
    """

    name: str
    description: str
    origin: SkillOrigin
    owner: str
    directory: Path | None = None
    root: Path | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillText:
    """A skill with its body.

    Attributes:
        skill: The skill.
        body: Markdown.
        files: What is in its folder beside SKILL.md, relative to the folder, sorted, at most 100.
    """

    skill: Skill
    body: str
    files: tuple[str, ...] = ()
