"""Tells a harness of the tools of apps, in the operator's own file and by its manifest's rule, and tells it no more."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from inspan.hooks.files import change_file, is_tracked, read_file
from inspan.hooks.mcp_entry import Entry, MergeError, add_server, has_server, remove_server
from inspan.model.errors import UsageError
from inspan.model.manifest import Manifest
from inspan.model.mcp import McpPlace

from .bindings import binding_names

__all__ = ["SERVER_NAME", "Connection", "connect", "disconnect", "locate", "show_connection"]

SERVER_NAME = "a2app"
"""What harnesses call the server."""


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """How it stands between a harness and the tools.

    Attributes:
        harness: The harness's id.
        name: Its name.
        state: `connected`, `absent`, `unreadable` (the file cannot be read, see `problem`), `no_place` (its manifest
            names no file for MCP servers).
        path: The file; empty with `no_place`.
        is_changed: Whether this call changed the file.
        needs: What the person must still do.
        warnings: What a person should know of the file.
        problem: What is wrong with the file, in words.
    """

    harness: str
    name: str
    state: str
    path: str = ""
    is_changed: bool = False
    needs: str = ""
    warnings: tuple[str, ...] = ()
    problem: str = ""


def locate(manifest: Manifest, place: McpPlace, environ: Mapping[str, str]) -> Path:
    """Where the harness reads its MCP servers."""
    home = environ.get("HOME") or os.path.expanduser("~")
    moved = environ.get(manifest.config.variable, "") if manifest.config.variable else ""
    folder = moved or manifest.config.folder
    if folder == "~" or folder.startswith("~/"):
        folder = home + folder[1:]
    path = place.moved_path if moved and place.moved_path else place.path
    return Path(os.path.abspath(path.replace("{config}", folder).replace("{home}", home)))


def connect(manifest: Manifest, environ: Mapping[str, str]) -> Connection:
    """Puts the server into the harness's file; an older entry of ours is replaced. Doing it twice changes nothing more.

    Raises:
        UsageError: `mcp_unsupported`, `mcp_server_taken`, or as `files.change_file`; the file is as it was.
    """
    place = _place(manifest)
    path = locate(manifest, place, environ)
    entry = Entry(SERVER_NAME, sys.executable, ("-P", "-m", "inspan.apps.mcp"))
    changed = change_file(path, lambda text: _merged(path, lambda: add_server(place, text, entry)))
    return _shown(manifest, place, path, is_changed=changed)


def disconnect(manifest: Manifest, environ: Mapping[str, str]) -> Connection:
    """Takes our server out of the harness's file, which is not deleted.

    Raises:
        UsageError: `mcp_unsupported`, or as `files.change_file`; the file is as it was.
    """
    place = _place(manifest)
    path = locate(manifest, place, environ)
    changed = False
    if read_file(path).is_there:
        changed = change_file(
            path, lambda text: _merged(path, lambda: remove_server(place, text, SERVER_NAME))
        )
    return _shown(manifest, place, path, is_changed=changed)


def show_connection(manifest: Manifest, environ: Mapping[str, str]) -> Connection:
    """How it stands; reads only, and never raises for what is in the file."""
    if manifest.mcp is None:
        return Connection(harness=manifest.id, name=manifest.name, state="no_place")
    return _shown(manifest, manifest.mcp, locate(manifest, manifest.mcp, environ))


def _place(manifest: Manifest) -> McpPlace:
    if manifest.mcp is None:
        hint = "`inspan app connect` without a harness lists those that have one."
        if manifest.id in binding_names():
            hint = f"It has a plugin for apps: `inspan app binding {manifest.id}` prints its folder."
        raise UsageError(
            f"{manifest.name} has no file for MCP servers that its manifest knows of.",
            code="mcp_unsupported",
            hint=hint,
        )
    return manifest.mcp


def _merged(path: Path, merge: Callable[[], str]) -> str:
    try:
        return merge()
    except MergeError as error:
        lines = f" Put this into it yourself:\n{error.lines}" if error.lines else ""
        is_taken = "not ours" in str(error)
        raise UsageError(
            f"{path} was left as it is: {error}.",
            code="mcp_server_taken" if is_taken else "hooks_file_invalid",
            hint=lines.strip()
            or ("Rename or remove that server first." if is_taken else "Mend the file, then try again."),
            detail={"path": str(path)},
        ) from error


def _shown(manifest: Manifest, place: McpPlace, path: Path, *, is_changed: bool = False) -> Connection:
    warnings = list[str]()
    if path.is_symlink():
        warnings.append(f"It is a link to {os.path.realpath(path)}.")
    if is_tracked(path):
        warnings.append("git keeps this file, so that a change of it shows in its repository.")
    state, problem = "absent", ""
    try:
        text = read_file(path).text
        if text.strip() and _is_in(path, place, text):
            state = "connected"
    except UsageError as error:
        state, problem = "unreadable", str(error)
    return Connection(
        harness=manifest.id,
        name=manifest.name,
        state=state,
        path=str(path),
        is_changed=is_changed,
        needs=place.needs if state == "connected" else "",
        warnings=tuple(warnings),
        problem=problem,
    )


def _is_in(path: Path, place: McpPlace, text: str) -> bool:
    try:
        return has_server(place, text, SERVER_NAME)
    except MergeError as error:
        raise UsageError(f"{path} cannot be read: {error}.", code="hooks_file_invalid") from error
