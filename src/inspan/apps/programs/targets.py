"""Finds the app that the first word of a command line names."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from inspan.apps.credentials import origin_of
from inspan.apps.faults import Misused
from inspan.apps.folder import Folder, has_manifest, open_folder
from inspan.apps.registry import RegisteredApp, Registry

from .screen import printable
from .words import command_line

__all__ = ["Target", "find_row", "find_target", "is_app", "refuse_verb_first"]


class Target(NamedTuple):
    """The app that was named.

    Attributes:
        ref: The word that named it, as it was given.
        home: The folder of the index and of credentials for apps elsewhere.
        folder: The app on this machine, or None.
        origin: Where the app answers, if it is elsewhere.
    """

    ref: str
    home: Path
    folder: Folder | None
    origin: str | None


def find_target(ref: str, registry: Registry, *, takes_url: bool) -> Target:
    """The app: a folder with a manifest, else a registered id, exact name or path, else a URL.

    Args:
        ref: The word.
        registry: The index to look in.
        takes_url: Whether an app elsewhere will do.

    Raises:
        Misused: Nothing is called so, several are, or a URL will not do.
        Rejected: The app's manifest or the index cannot be read.
    """
    if ref.lower().startswith(("http://", "https://")):
        origin = origin_of(ref)
        if not takes_url:
            raise Misused(
                "An app elsewhere can be operated, and not built or managed, from here.",
                hint=f"a2app {command_line(ref)}",
            )
        return Target(ref, registry.home, None, origin)
    if not ref or "\0" in ref:
        raise Misused("No app is named.", hint="Give its folder, id or name first.")
    if has_manifest(Path(ref)):
        return Target(ref, registry.home, open_folder(ref), None)
    row = find_row(ref, registry)
    if row is None:
        raise Misused(
            f"There is no app {printable(ref, longest=200)!r}: no folder with a manifest.json, and no registered id or name.",
            hint=f"{command_line('agent-app', ref, 'scaffold')}\nagent-app list"
            if os.path.isdir(ref)
            else "agent-app list",
        )
    if not has_manifest(row.path):
        raise Misused(
            f"The app {printable(ref, longest=100)!r} was at {row.path}, and is not there any more.",
            hint=f"agent-app {command_line(str(row.path))} forget",
        )
    return Target(ref, registry.home, open_folder(row.path), None)


def find_row(ref: str, registry: Registry) -> RegisteredApp | None:
    """The app of the index that a word names, also one that is not there any more.

    Raises:
        Misused: Several are called so.
    """
    rows = registry.find(ref)
    if len(rows) > 1:
        candidates = ", ".join(command_line(str(row.path)) for row in rows)
        raise Misused(
            f"Several apps are called {printable(ref, longest=100)!r}: {candidates}.",
            hint="Name one by its folder.",
        )
    return rows[0] if rows else None


def refuse_verb_first(
    words: list[str], *, verbs: tuple[str, ...], program: str, takes_first: Callable[[str], bool]
) -> None:
    """Refuses a command line that begins with what to do, and says the right one.

    Args:
        words: All words after the program's name.
        verbs: What this command line may not begin with.
        program: Which program offers those verbs.
        takes_first: Whether a word names an app after all.

    Raises:
        Misused: It begins with a verb.
    """
    verb = words[0]
    if verb not in verbs or takes_first(verb):
        return
    app, rest = "APP", words[1:]
    if rest and not rest[0].startswith("-") and takes_first(rest[0]):
        app, rest = rest[0], rest[1:]
    elif verb not in ("data", "tasks", "events") and len(rest) == 1 and not rest[0].startswith("-"):
        app, rest = rest[0], []
    raise Misused(
        f"{verb!r} comes after the app that it is for.", hint=command_line(program, app, verb, *rest)
    )


def is_app(ref: str, registry: Registry) -> bool:
    """Whether the word names an app on this machine or a URL."""
    if ref.lower().startswith(("http://", "https://")):
        return True
    try:
        return bool(ref) and "\0" not in ref and (has_manifest(Path(ref)) or bool(registry.find(ref)))
    except OSError:
        return False
