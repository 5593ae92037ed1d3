"""Declarative packages: folders that bring skills and sections of the prompt as data. None of their code is ever run.

A package is a folder with `inspan.plugin.json`, below `<INSPAN_HOME>/packages`:

    {"name": "house-style", "version": "1", "description": "How we write.",
     "skills": "skills", "prompts": [{"name": "style", "file": "style.md"}]}

`skills` is a folder of skills (each a folder with SKILL.md); each file of `prompts` becomes a section. All of it has to lie
in the package. A package that is wrong is left out, and its status says why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from inspan.agent.plugins.contract import PLUGIN_ID, VERSION, PromptContext, PromptSource
from inspan.agent.plugins.loading import DECLARATION

__all__ = ["PACKAGES_FOLDER", "DeclarativePackage", "PackageStatus", "find_packages"]

PACKAGES_FOLDER = "packages"
"""The folder of the home that they stand in."""

_KEYS = {"name", "version", "description", "skills", "prompts"}
_LARGEST_BYTES = 64 * 1024
_LONGEST_DESCRIPTION = 200
_PROMPT_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageStatus:
    """What is known of one package.

    Attributes:
        name: Its name; its folder's, if it could not be read.
        version: Its version, for people; empty if it could not be read.
        description: What it brings, for people.
        folder: Where it stands, absolute.
        state: `active` or `failed`.
        message: Why it failed, in our words; empty if it did not.
        contributions: How many of each kind it brings.
    """

    name: str
    version: str
    description: str
    folder: Path
    state: str
    message: str = ""
    contributions: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class DeclarativePackage:
    """A package, or why there is none.

    Attributes:
        status: What is known of it.
        skills: Its folder of skills, absolute and resolved; None without.
        prompts: Its sections.
    """

    status: PackageStatus
    skills: Path | None = None
    prompts: tuple[PromptSource, ...] = ()


class _PackageError(Exception):
    """Why a package is left out, in our words."""


def find_packages(home: Path) -> tuple[DeclarativePackage, ...]:
    """All packages of a home, by the names of their folders. Nothing is run; nothing raises."""
    folder = home / PACKAGES_FOLDER
    try:
        found = sorted(one for one in folder.iterdir() if (one / DECLARATION).is_file())
    except OSError:
        return ()
    packages: list[DeclarativePackage] = []
    names: set[str] = set()
    for one in found:
        package = _read(one, names)
        if package.status.state == "active":
            names.add(package.status.name)
        packages.append(package)
    return tuple(packages)


def _read(folder: Path, taken: set[str]) -> DeclarativePackage:
    try:
        return _parse(folder.resolve(), taken)
    except _PackageError as error:
        return _failed(folder, f"It is left out: {error}.")
    except (OSError, ValueError, RecursionError) as error:
        return _failed(folder, f"It cannot be read ({type(error).__name__}).")


def _parse(folder: Path, taken: set[str]) -> DeclarativePackage:
    document = json.loads((folder / DECLARATION).read_bytes())
    if not isinstance(document, dict):
        raise _PackageError(f"{DECLARATION} is no object")
    raw = cast(dict[str, Any], document)
    if unknown := sorted(set(raw) - _KEYS):
        raise _PackageError(f"{DECLARATION} has the unknown key '{unknown[0]}'")
    name, version = _text(raw, "name"), _text(raw, "version")
    if PLUGIN_ID.fullmatch(name) is None:
        raise _PackageError("its name is none that a plugin may have")
    if VERSION.fullmatch(version) is None:
        raise _PackageError("its version is no text of 1 to 64 letters, digits and plain signs")
    if name in taken:
        raise _PackageError(f"another package is called '{name}'")
    skills = _inside(folder, _text(raw, "skills")) if "skills" in raw else None
    if skills is not None and not skills.is_dir():
        raise _PackageError("its folder of skills is not there")
    prompts = _prompts(raw.get("prompts", []), folder)
    contributions = {"prompts": len(prompts)} if prompts else {}
    if skills is not None:
        contributions["skills"] = sum(1 for one in skills.iterdir() if (one / "SKILL.md").is_file())
    status = PackageStatus(
        name=name,
        version=version,
        description=_one_line(raw.get("description")),
        folder=folder,
        state="active",
        contributions=contributions,
    )
    return DeclarativePackage(status=status, skills=skills, prompts=prompts)


def _prompts(raw: object, folder: Path) -> tuple[PromptSource, ...]:
    if not isinstance(raw, list):
        raise _PackageError("'prompts' is no list")
    sources: dict[str, PromptSource] = {}
    for one in cast(list[object], raw):
        if not isinstance(one, dict) or set(cast(dict[str, Any], one)) != {"name", "file"}:
            raise _PackageError("an entry of 'prompts' is no object of 'name' and 'file'")
        entry = cast(dict[str, Any], one)
        name, path = _text(entry, "name"), _inside(folder, _text(entry, "file"))
        if _PROMPT_NAME.fullmatch(name) is None or name in sources:
            raise _PackageError("a section's name is no name, or stands twice")
        if path.stat().st_size > _LARGEST_BYTES:
            raise _PackageError(f"a section has more than {_LARGEST_BYTES} bytes")
        sources[name] = _section(name, path.read_text(encoding="utf-8"))
    return tuple(sources.values())


def _section(name: str, text: str) -> PromptSource:
    async def render(_: PromptContext) -> str:
        return text

    return PromptSource(name=name, render=render)


def _inside(folder: Path, relative: str) -> Path:
    path = (folder / relative).resolve()
    if not path.is_relative_to(folder) or path == folder:
        raise _PackageError("it names something outside of its folder")
    return path


def _text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    if not isinstance(value, str) or not value:
        raise _PackageError(f"'{key}' is no text")
    return value


def _one_line(value: object) -> str:
    text = value if isinstance(value, str) else ""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())[:_LONGEST_DESCRIPTION]


def _failed(folder: Path, message: str) -> DeclarativePackage:
    return DeclarativePackage(
        status=PackageStatus(
            name=folder.name,
            version="",
            description="",
            folder=folder,
            state="failed",
            message=message,
            contributions={},
        )
    )
