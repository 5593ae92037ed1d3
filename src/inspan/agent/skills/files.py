"""Reads skills from folders: each in a folder of its own with a SKILL.md, as the Agent Skills convention has it.

A SKILL.md is data. Nothing in it is run, and what it says of tools that it may use gives it no leave for anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from inspan.agent.text import clean_text
from inspan.agent.tools.confinement import Confinement
from inspan.agent.tools.names import show_name
from inspan.agent.tools.problems import ToolProblem

from .values import SKILL_NAME, Skill, SkillOrigin

__all__ = [
    "SKILL_FILE",
    "FoundSkill",
    "find_skills",
    "list_skill_files",
    "read_skill_body",
    "read_skill_file",
]

SKILL_FILE = "SKILL.md"

_LARGEST_BYTES = 256 * 1024
_LONGEST_HEADER_CHARS = 16 * 1024
_LONGEST_DESCRIPTION = 1024
_MOST_SKILLS = 500
_MOST_FILES = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundSkill:
    """What one folder gave: a skill, a warning, or both."""

    skill: Skill | None = None
    warning: str = ""


def find_skills(folder: Path, origin: SkillOrigin, root: Path | None = None) -> Iterator[FoundSkill]:
    """The skills in the folders below `folder`, by name. A missing folder has none, and a broken skill is a warning.

    Args:
        folder: Whose folders are looked at; they may be links.
        origin: Of the skills.
        root: What no file may lie outside of, absolute; None lets each skill lie wherever its folder's links lead.
    """
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name[0] != ".")
    except OSError:
        return
    for name in names[:_MOST_SKILLS]:
        if os.path.lexists(folder / name / SKILL_FILE):
            yield _read_folder(folder / name, origin, root)
    if len(names) > _MOST_SKILLS:
        yield FoundSkill(
            warning=f"{show_name(str(folder))} has over {_MOST_SKILLS} entries; the rest is left out."
        )


def read_skill_body(skill: Skill) -> str:
    """The body of a skill that has a folder, as it is now.

    Raises:
        ToolProblem: Its SKILL.md can no longer be read.
    """
    return _split(read_skill_file(skill, SKILL_FILE))[1].strip()


def read_skill_file(skill: Skill, path: str) -> str:
    """The text of a file in a skill's folder.

    Args:
        skill: The skill.
        path: Relative to the folder.

    Raises:
        ToolProblem: The skill has no folder, or the file is not in it, is too large or is no text.
    """
    if skill.directory is None or skill.root is None:
        raise ToolProblem(f"The skill {skill.name} has no files.")
    confinement = Confinement(skill.directory)
    place = confinement.find(path)
    inner = Confinement(skill.root).find(str(place.path))
    return _text_of(Confinement(skill.root), inner.path, place.shown)


def list_skill_files(skill: Skill) -> tuple[str, ...]:
    """What is in the skill's folder beside SKILL.md, relative to it, sorted; links are not followed."""
    if skill.directory is None:
        return ()
    found: list[str] = []
    for folder, inner, names in os.walk(skill.directory):
        inner[:] = sorted(name for name in inner if name[0] != ".")
        found += [os.path.relpath(os.path.join(folder, name), skill.directory) for name in sorted(names)]
        if len(found) > _MOST_FILES:
            break
    return tuple(show_name(name) for name in found if name != SKILL_FILE)[:_MOST_FILES]


def _read_folder(folder: Path, origin: SkillOrigin, root: Path | None) -> FoundSkill:
    shown = show_name(str(folder / SKILL_FILE))
    try:
        real = _real_file(folder)
        within = Confinement(root if root is not None else real.parent)
        header = _header(_split(_text_of(within, folder / SKILL_FILE, SKILL_FILE))[0])
        name, description = _checked(header)
    except (ToolProblem, OSError) as error:
        reason = str(error) if isinstance(error, ToolProblem) else f"{type(error).__name__}."
        return FoundSkill(warning=f"The skill {shown} is left out: {reason}")
    skill = Skill(
        name=name,
        description=description,
        origin=origin,
        owner=str(origin),
        directory=real.parent,
        root=within.workspace,
    )
    warning = f"The skill {shown} is called {name}, unlike its folder." if name != folder.name else ""
    return FoundSkill(skill=skill, warning=warning)


def _real_file(folder: Path) -> Path:
    real = Path(os.path.realpath(folder / SKILL_FILE))
    if real.name != SKILL_FILE:
        raise ToolProblem(f"It links to a file that is not called {SKILL_FILE}.")
    return real


def _text_of(confinement: Confinement, path: Path, shown: str) -> str:
    with (
        confinement.open_regular(confinement.find(str(path))) as handle,
        os.fdopen(os.dup(handle), "rb") as file,
    ):
        data = file.read(_LARGEST_BYTES + 1)
    if len(data) > _LARGEST_BYTES:
        raise ToolProblem(f"{shown} has over {_LARGEST_BYTES // 1024} KiB.")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ToolProblem(f"{shown} is no UTF-8 text.") from error


def _split(text: str) -> tuple[str, str]:
    if not text.startswith("---\n"):
        raise ToolProblem("It does not begin with a header between two lines of `---`.")
    header, line, body = f"\n{text[4:]}".partition("\n---\n")
    if not line:
        header, line, body = f"\n{text[4:].rstrip()}\n".partition("\n---\n")
    if not line or len(header) > _LONGEST_HEADER_CHARS:
        raise ToolProblem("Its header has no end, or is too long.")
    return header, body


def _header(text: str) -> dict[str, object]:
    import yaml

    try:
        found = cast(object, yaml.safe_load(text))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        at = getattr(error, "problem_mark", None)
        where = f" at line {at.line + 1}" if at is not None else ""
        raise ToolProblem(f"Its header is no YAML{where}.") from error
    if not isinstance(found, dict):
        raise ToolProblem("Its header is no mapping.")
    return {str(key): value for key, value in cast("dict[object, object]", found).items()}


def _checked(header: dict[str, object]) -> tuple[str, str]:
    name, description = header.get("name"), header.get("description")
    if not isinstance(name, str) or SKILL_NAME.fullmatch(name) is None:
        raise ToolProblem("Its name has to be lower-case letters, digits and single `-`, at most 64.")
    if not isinstance(description, str) or not description.strip():
        raise ToolProblem("It has no description.")
    line = clean_text(" ".join(description.split()))
    if len(line) > _LONGEST_DESCRIPTION:
        raise ToolProblem(f"Its description is longer than {_LONGEST_DESCRIPTION} characters.")
    return name, line
