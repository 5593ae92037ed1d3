"""The skills of one agent: who has which name, one line each for the prompt, and the body for whoever asks.

Where two skills have one name, that of the origin named first in `SkillOrigin` is there and the other is hidden, with a
warning: what comes with a project cannot stand for what a person chose. A runtime skill hides nothing and is refused
instead.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from inspan.agent.plugins.contract import PromptContext, PromptSource, RuntimeSkill
from inspan.agent.text import clean_text
from inspan.agent.threads import run_in_thread
from inspan.agent.tools.problems import ToolProblem
from inspan.model.errors import PluginError, UsageError

from .files import find_skills, list_skill_files, read_skill_body, read_skill_file
from .values import SKILL_NAME, Skill, SkillOrigin, SkillText

__all__ = ["PROJECT_FOLDERS", "SkillCatalogue", "skills_source"]

PROJECT_FOLDERS = (".inspan/skills", ".agents/skills")
"""Where a workspace keeps skills; the first hides those of the second."""

_BUILTIN = Path(__file__).resolve().parent / "builtin"
_SECTION_CHARS = 12_000
_LINE_CHARS = 500
_INTRODUCTION = """\
Skills are instructions for particular work. If one of them fits what you are asked to do, call the skill tool with its name \
before you begin, and follow what it says. Those marked (project) come with the files of the workspace."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _RuntimeEntry:
    skill: Skill
    body: str


class SkillCatalogue:
    """The skills of one agent.

    Args:
        workspace: The agent's default workspace, whose names a runtime skill cannot take either.
        user_folder: Where a person keeps skills, as a rule `<INSPAN_HOME>/agent/skills`; None without.
        configured: Further folders of skills, absolute; the first hides those of the next.
        has_builtin: Whether the skills that come with Inspan are there.
    """

    def __init__(
        self,
        *,
        workspace: Path,
        user_folder: Path | None = None,
        configured: Sequence[Path] = (),
        has_builtin: bool = True,
    ) -> None:
        self._workspace = workspace
        self._kept: dict[str, Skill] = {}
        self._warnings: list[str] = []
        self._runtime: dict[str, _RuntimeEntry] = {}
        folders = [(_BUILTIN, SkillOrigin.BUILTIN)] if has_builtin else []
        folders += [(folder, SkillOrigin.CONFIGURED) for folder in configured]
        folders += [(user_folder, SkillOrigin.USER)] if user_folder is not None else []
        for folder, origin in folders:
            _take(self._kept, self._warnings, folder, origin, None)

    def add(self, skill: RuntimeSkill, origin: SkillOrigin, owner: str) -> Callable[[], None]:
        """Adds a skill that lives as long as its owner. Returns what takes it away again; calling that twice is safe.

        Args:
            skill: The skill.
            origin: `runtime`; the skills of all other origins are read from their folders.
            owner: A plugin's id, or `embedder`.

        Raises:
            PluginError: `plugin_conflict` for a name that a skill of any origin has, `plugin_contribution_invalid`.
            UsageError: `invalid_argument` for another origin.
        """
        if origin is not SkillOrigin.RUNTIME:
            raise UsageError(f"Skills of origin {origin} are read from folders.", code="invalid_argument")
        entry = _checked_runtime(skill, owner)
        name = entry.skill.name
        taken = next((one for one in self.list() if one.name == name), None)
        if taken is not None:
            raise PluginError(
                f"'{owner}' wants to register the skill '{name}', which is there already ({taken.origin}).",
                code="plugin_conflict",
                hint="Give the skill another name; nothing is replaced.",
                detail={"kind": "skill", "name": name, "owner": owner, "taken_by": taken.owner},
            )
        self._runtime[name] = entry
        return partial(self._forget, name, entry)

    def add_runtime(self, skill: RuntimeSkill, owner: str) -> Callable[[], None]:
        """Adds a skill of origin `runtime`; see `add`."""
        return self.add(skill, SkillOrigin.RUNTIME, owner)

    def remove(self, owner: str) -> None:
        """Takes away all runtime skills of an owner. Calling it twice is safe."""
        self._runtime = {name: one for name, one in self._runtime.items() if one.skill.owner != owner}

    def list(self, workspace: Path | None = None) -> tuple[Skill, ...]:
        """All skills, by origin, then by name.

        Args:
            workspace: Whose project skills are meant; None is the agent's default. They are read anew each time.
        """
        return tuple(self._look(workspace)[0].values())

    def warnings(self, workspace: Path | None = None) -> tuple[str, ...]:
        """What was left out and why: broken files and hidden names."""
        return tuple(self._look(workspace)[1])

    def read(self, name: str, workspace: Path | None = None) -> SkillText:
        """A skill with its body, as it is now.

        Raises:
            UsageError: `unknown_skill`, or `invalid_argument` if its file can no longer be read.
        """
        skill = self._named(name, workspace)
        entry = self._runtime.get(name)
        try:
            body = entry.body if entry is not None and entry.skill is skill else read_skill_body(skill)
        except ToolProblem as problem:
            raise UsageError(
                f"The skill {name} cannot be read: {problem}", code="invalid_argument"
            ) from problem
        return SkillText(skill=skill, body=body, files=list_skill_files(skill))

    def read_file(self, name: str, path: str, workspace: Path | None = None) -> str:
        """The text of a file in a skill's folder; at most 256 KiB.

        Raises:
            UsageError: `unknown_skill`, or `invalid_argument` for a file that is not there or outside of the folder.
        """
        try:
            return read_skill_file(self._named(name, workspace), path)
        except ToolProblem as problem:
            raise UsageError(str(problem), code="invalid_argument") from problem

    def _forget(self, name: str, entry: _RuntimeEntry) -> None:
        if self._runtime.get(name) is entry:
            del self._runtime[name]

    def _look(self, workspace: Path | None) -> tuple[dict[str, Skill], list[str]]:
        place = workspace or self._workspace
        skills, warnings = dict(self._kept), list(self._warnings)
        for folder in PROJECT_FOLDERS:
            _take(skills, warnings, place / folder, SkillOrigin.PROJECT, place)
        for name, entry in tuple(self._runtime.items()):
            if (other := skills.get(name)) is not None:
                warnings.append(_hidden(entry.skill, other))
            else:
                skills[name] = entry.skill
        return skills, warnings

    def _named(self, name: str, workspace: Path | None) -> Skill:
        skills = self._look(workspace)[0]
        if (skill := skills.get(name)) is not None:
            return skill
        near = difflib.get_close_matches(name[:80], list(skills), n=3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise UsageError(f"There is no skill {name[:80]!r}.{hint}", code="unknown_skill")


def skills_source(catalogue: SkillCatalogue) -> PromptSource:
    """The section of the prompt that has one line for each skill; nothing if there is none."""

    async def render(context: PromptContext) -> str:
        look = partial(catalogue.list, context.workspace)
        return _section(await run_in_thread(look, name="skills"))

    return PromptSource(name="skills", render=render)


def _section(skills: Sequence[Skill]) -> str:
    if not skills:
        return ""
    lines = [_INTRODUCTION, ""]
    room = _SECTION_CHARS - len(_INTRODUCTION)
    for index, skill in enumerate(skills):
        mark = " (project)" if skill.origin is SkillOrigin.PROJECT else ""
        description = skill.description
        if len(description) > _LINE_CHARS:
            description = f"{description[: _LINE_CHARS - 1]}…"
        line = f"- {skill.name}{mark}: {description}"
        room -= len(line) + 1
        if room < 0:
            lines.append(
                f"- … and {len(skills) - index} more: call the skill tool without a name to see them."
            )
            break
        lines.append(line)
    return "\n".join(lines)


def _take(
    skills: dict[str, Skill], warnings: list[str], folder: Path, origin: SkillOrigin, root: Path | None
) -> None:
    for found in find_skills(folder, origin, root):
        if found.warning:
            warnings.append(found.warning)
        if (skill := found.skill) is None:
            continue
        if (other := skills.get(skill.name)) is not None:
            warnings.append(_hidden(skill, other))
        else:
            skills[skill.name] = skill


def _hidden(skill: Skill, by: Skill) -> str:
    return f"The skill {skill.name} of origin {skill.origin} is hidden by the one of origin {by.origin}."


def _checked_runtime(skill: RuntimeSkill, owner: str) -> _RuntimeEntry:
    name, description, body = (cast(object, one) for one in (skill.name, skill.description, skill.body))
    directory = cast(object, skill.directory)
    problem = ""
    if not isinstance(name, str) or SKILL_NAME.fullmatch(name) is None:
        problem = "its name has to be lower-case letters, digits and single `-`, at most 64"
    elif not isinstance(description, str) or not description.strip():
        problem = "it has no description"
    elif not isinstance(body, str):
        problem = "its body is no text"
    elif directory is not None and not (isinstance(directory, Path) and directory.is_absolute()):
        problem = "its directory is no absolute path"
    if problem:
        raise PluginError(
            f"A skill of '{owner}' is refused: {problem}.",
            code="plugin_contribution_invalid",
            detail={"kind": "skill", "owner": owner},
        )
    folder = skill.directory.resolve() if skill.directory else None
    kept = Skill(
        name=skill.name,
        description=clean_text(" ".join(skill.description.split())),
        origin=SkillOrigin.RUNTIME,
        owner=owner,
        directory=folder,
        root=folder,
    )
    return _RuntimeEntry(skill=kept, body=clean_text(skill.body))
