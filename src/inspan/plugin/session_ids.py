"""Session ids: found in text, and in the folder where a harness keeps its sessions. Nothing is guessed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from inspan.model.session import IdentityState
from inspan.model.session_source import SessionStore

__all__ = ["FoundSession", "find_session_id", "look_up_session", "workspace_name"]

_FILES = 20_000
"""How many files of a store are looked at."""

_HEAD_BYTES = 64 * 1024
"""How much of a file is searched for its workspace."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)")


class FoundSession(msgspec.Struct, frozen=True, kw_only=True):
    """What a look-up came to. `session_id` is given only with `known`."""

    state: IdentityState
    session_id: str | None = None
    why: str = ""


def find_session_id(pattern: str, text: str, *, first: bool = False) -> str | None:
    """The id that a text holds: the group `session` of the last match, since a banner at the end comes last.

    Args:
        pattern: Regular expression with a group `session`.
        text: What a harness wrote, or what a screen shows; control sequences are left out.
        first: Take the first match instead.
    """
    found = None
    for match in re.finditer(pattern, _ESCAPES.sub("", text), re.MULTILINE):
        found = match["session"] or found
        if first and found is not None:
            break
    return found


def look_up_session(store: SessionStore, *, workspace: str, since: datetime) -> FoundSession:
    """The session that a launch made, by what lies in the harness's folder.

    A session qualifies that was written since the launch began and belongs to the workspace. Where several do, which of
    them it is cannot be said.

    Args:
        store: Where to look; its folder is absolute.
        workspace: The seat's folder.
        since: When the launch began.
    """
    folder = Path(store.folder)
    if not folder.is_dir():
        return FoundSession(state=IdentityState.NOT_YET, why=f"There is no folder {folder}.")
    found: dict[str, None] = {}
    for file in _written_since(folder, store.files, since):
        named = re.search(store.id_pattern, file.relative_to(folder).as_posix())
        if named is not None and named["session"] and _is_of(file, store.workspace_pattern, workspace):
            found[named["session"]] = None
    if not found:
        return FoundSession(
            state=IdentityState.NOT_YET, why=f"No session of this workspace was written to {folder}."
        )
    if len(found) > 1:
        why = f"{len(found)} sessions of this workspace were written to {folder} meanwhile."
        return FoundSession(state=IdentityState.AMBIGUOUS, why=why)
    return FoundSession(state=IdentityState.KNOWN, session_id=next(iter(found)))


def workspace_name(workspace: str) -> str:
    """A workspace's path as one name: every character that is no letter and no digit is a dash."""
    return re.sub(r"[^A-Za-z0-9]", "-", workspace)


def _written_since(folder: Path, files: str, since: datetime) -> Iterator[Path]:
    # File systems keep times in steps of up to a second or two, and round them down.
    earliest = since.timestamp() - 2.0
    for number, file in enumerate(folder.glob(files)):
        if number >= _FILES:
            return
        try:
            is_ours = file.is_file() and not file.is_symlink() and file.stat().st_mtime >= earliest
        except OSError:
            continue
        if is_ours:
            yield file


def _is_of(file: Path, pattern: str, workspace: str) -> bool:
    if not pattern:
        return True
    try:
        with file.open("rb") as opened:
            head = opened.read(_HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return False
    named = re.search(pattern, head)
    return named is not None and os.path.realpath(named["workspace"]) == os.path.realpath(workspace)
