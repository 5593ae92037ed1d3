"""`agent-app skills` and `global`: what an agent reads before it builds or operates apps."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from inspan.apps.faults import Rejected
from inspan.apps.programs.screen import print_json, print_lines, printable
from inspan.apps.programs.words import Words
from inspan.apps.registry import Registry

__all__ = [
    "GLOBAL_USAGE",
    "SKILLS_FOLDER",
    "SKILLS_USAGE",
    "Skill",
    "find_skills",
    "run_global",
    "run_skills",
]

SKILLS_USAGE = "agent-app skills [--install DIR] [--path] [--json]"
GLOBAL_USAGE = "agent-app global [--path]"

SKILLS_FOLDER = Path(__file__).resolve().parents[2] / "skills"
"""One folder a skill, each with a `SKILL.md`; files beside them are shared by all."""


class Skill(NamedTuple):
    """A skill.

    Attributes:
        name: Its folder.
        activity: What it is for, in a word.
        description: When to use it.
    """

    name: str
    activity: str
    description: str


def find_skills(folder: Path = SKILLS_FOLDER) -> list[Skill]:
    """The skills that are there, by name."""
    found: list[Skill] = []
    for path in sorted(folder.glob("*/SKILL.md")):
        head = _front_matter(path)
        found.append(Skill(path.parent.name, head.get("activity", ""), head.get("description", "")))
    return found


def run_skills(words: Words) -> int:
    """Lists the skills, copies them, or says where they are; gives the exit status.

    Raises:
        Rejected: They cannot be copied there.
    """
    target, says_path, is_json = words.one("install"), words.switch("path"), words.switch("json")
    words.done(places=0, usage=SKILLS_USAGE)
    skills = find_skills()
    if target is not None:
        installed = _install(Path(os.path.abspath(target)))
        print_json({"ok": True, "dir": os.path.abspath(target), "skills": installed})
    elif says_path:
        print_lines([str(SKILLS_FOLDER)])
    elif is_json:
        print_json({"skills": [one._asdict() for one in skills]})
    elif not skills:
        print_lines(["no skills are installed"])
    else:
        width = max(len(one.name) for one in skills)
        print_lines(
            [
                f"{printable(one.name, longest=80):{width}}  {printable(one.description, longest=400)}"
                for one in skills
            ]
        )
    return 0


def run_global(words: Words, registry: Registry) -> int:
    """Prints the user's own conventions for all apps, or where they stand; gives the exit status.

    Raises:
        Rejected: The file cannot be read.
    """
    says_path = words.switch("path")
    words.done(places=0, usage=GLOBAL_USAGE)
    path = registry.home / "GLOBAL_AGENT_APP.md"
    if says_path:
        print_lines([str(path)])
        return 0
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        print_lines([f"There are no conventions yet; they belong into {path}."])
        return 0
    except OSError as error:
        raise Rejected(f"{path} cannot be read: {error.strerror or error}.") from error
    print_lines([printable(line, longest=4000) for line in text.splitlines()])
    return 0


def _install(target: Path) -> list[str]:
    """Copies every skill; one that is there already is brought up to date, and others beside it are left alone."""
    if not SKILLS_FOLDER.is_dir():
        raise Rejected("No skills are installed with this program.")
    names: list[str] = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        for entry in sorted(SKILLS_FOLDER.iterdir()):
            if entry.name.startswith((".", "__")) or entry.suffix == ".py":
                continue
            if entry.is_dir():
                if not (entry / "SKILL.md").is_file():
                    continue
                shutil.copytree(entry, target / entry.name, dirs_exist_ok=True)
                names.append(entry.name)
            else:
                shutil.copy2(entry, target / entry.name)
    except (OSError, shutil.Error) as error:
        raise Rejected(f"The skills cannot be copied to {target}: {error}.") from error
    return names


def _front_matter(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    head: dict[str, str] = {}
    if lines and lines[0].strip() == "---":
        for line in lines[1:]:
            if line.strip() == "---":
                break
            key, separator, value = line.partition(":")
            if separator:
                head[key.strip()] = value.strip().strip("\"'")
    return head
