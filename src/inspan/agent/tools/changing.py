"""The `write` and `edit` tools: they change one file, at once, and only what the session has seen of it."""

from __future__ import annotations

import os
import stat
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from inspan.agent.text import clean_text
from inspan.agent.values import Diff, JsonObject, ToolResult

from .arguments import arguments_of, schema_of, short
from .confinement import Confinement, Place
from .contract import Tool, ToolCallContext
from .ground import Ground, run_blocking
from .ledger import fingerprint
from .names import show_name
from .problems import ToolProblem, describe_os_error, telling_problems
from .reading import LARGEST_TEXT_BYTES
from .replacing import replace_file
from .similar import similar_names
from .texts import FileText, decode_text, is_binary, replace_text, with_line_ends

__all__ = ["edit_tool", "write_tool"]

_LARGEST_DIFF_CHARS = 1024 * 1024

_WRITE = """\
Writes a whole file, and makes it and its folders where they are missing. A file that is there has to be read first, and is \
refused if it changed since; its encoding, line ends and mode stay. To change a part of a file use edit."""
_EDIT = """\
Replaces a text in a file by another. old_text has to be in the file exactly, white space included, and only once, unless \
replace_all is set. Line numbers that read shows are not part of it. It is refused if the file changed since it was last read. \
Encoding, line ends and mode stay."""


class WriteArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of the `write` tool."""

    path: Annotated[str, Meta(description="The file, relative to the workspace or absolute.")]
    content: Annotated[str, Meta(description="The whole new text.")]


class EditArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of the `edit` tool."""

    path: Annotated[str, Meta(description="The file, relative to the workspace or absolute.")]
    old_text: Annotated[str, Meta(min_length=1, description="What is there, exactly.")]
    new_text: Annotated[str, Meta(description="What is to be there instead; empty takes it out.")]
    replace_all: Annotated[bool, Meta(description="Whether to replace every place it is at.")] = False


def write_tool(ground: Ground) -> Tool:
    """Makes the tool."""

    @telling_problems
    async def execute(arguments: JsonObject, call: ToolCallContext) -> ToolResult:
        wanted = arguments_of(WriteArguments, arguments)
        return await run_blocking(
            call, lambda stop: _Change(ground, call, wanted.path, stop).write(wanted.content)
        )

    return Tool(
        name="write",
        description=_WRITE,
        input_schema=schema_of(WriteArguments),
        execute=execute,
        kind="edit",
        title=lambda arguments: f"Write {short(arguments.get('path'))}",
        locations=ground.locations_of("path"),
    )


def edit_tool(ground: Ground) -> Tool:
    """Makes the tool."""

    @telling_problems
    async def execute(arguments: JsonObject, call: ToolCallContext) -> ToolResult:
        wanted = arguments_of(EditArguments, arguments)
        return await run_blocking(call, lambda stop: _Change(ground, call, wanted.path, stop).edit(wanted))

    return Tool(
        name="edit",
        description=_EDIT,
        input_schema=schema_of(EditArguments),
        execute=execute,
        kind="edit",
        title=lambda arguments: f"Edit {short(arguments.get('path'))}",
        locations=ground.locations_of("path"),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """A file that is there."""

    state: os.stat_result
    data: bytes
    kept: FileText


class _Change:
    """One change of one file."""

    def __init__(self, ground: Ground, call: ToolCallContext, path: str, stop: threading.Event) -> None:
        self._stop = stop
        self._ledger = ground.ledger
        self._session = call.session_id
        self._confinement: Confinement = ground.confinement(call)
        self._place: Place = self._confinement.find(path, for_writing=True)

    def write(self, content: str) -> ToolResult:
        """Writes the whole text."""
        _check_text(content)
        with self._ledger.changing:
            found = self._look()
            if found is None:
                self._put(None, content.encode())
                return self._result(f"Made {self._shown}.", None, content)
            self._check_seen(found, must_be_read=True)
            text = content
            if "\r\n" not in content and found.kept.is_crlf:
                text = with_line_ends(content, is_crlf=True)
            self._put(found, found.kept.encode(text))
            return self._result(f"Wrote {self._shown}.{_other_links(found)}", found.kept.text, text)

    def edit(self, wanted: EditArguments) -> ToolResult:
        """Replaces a text in it."""
        _check_text(wanted.old_text)
        _check_text(wanted.new_text)
        if wanted.old_text == wanted.new_text:
            raise ToolProblem("old_text and new_text are the same.")
        with self._ledger.changing:
            found = self._look()
            if found is None:
                near = similar_names(self._confinement, self._place)
                more = f" Did you mean {' or '.join(near)}?" if near else ""
                raise ToolProblem(f"{self._shown} does not exist.{more}")
            self._check_seen(found, must_be_read=False)
            text, lines = replace_text(found.kept, wanted.old_text, wanted.new_text, every=wanted.replace_all)
            self._put(found, found.kept.encode(text))
        places = f"line {lines[0]}" if len(lines) == 1 else f"{len(lines)} places, first at line {lines[0]}"
        return self._result(f"Changed {self._shown} ({places}).{_other_links(found)}", found.kept.text, text)

    @property
    def _shown(self) -> str:
        return self._place.shown

    def _look(self) -> _Found | None:
        path = self._place.path
        try:
            os.lstat(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ToolProblem(describe_os_error(error, self._shown)) from error
        with self._confinement.open_regular(self._place) as handle, os.fdopen(os.dup(handle), "rb") as file:
            state = os.fstat(handle)
            data = file.read(LARGEST_TEXT_BYTES + 1)
        if len(data) > LARGEST_TEXT_BYTES:
            raise ToolProblem(
                f"{self._shown} has {state.st_size:,} bytes, too many to be changed by this tool."
            )
        if is_binary(data):
            raise ToolProblem(
                f"{self._shown} is a binary file of {state.st_size:,} bytes; it is not changed."
            )
        if not stat.S_IMODE(state.st_mode) & 0o222:
            raise ToolProblem(f"{self._shown} is read-only (mode {stat.S_IMODE(state.st_mode):04o}).")
        return _Found(state=state, data=data, kept=decode_text(data))

    def _check_seen(self, found: _Found, *, must_be_read: bool) -> None:
        known = self._ledger.known(self._session, self._place.path)
        if known is None:
            if must_be_read:
                raise ToolProblem(f"{self._shown} is there already. Read it before you write over it.")
        elif known != fingerprint(found.data):
            raise ToolProblem(f"{self._shown} changed since it was last read. Read it again first.")

    def _put(self, found: _Found | None, data: bytes) -> None:
        if self._stop.is_set():
            raise ToolProblem("The call was cancelled. Nothing was changed.")
        with self._confinement.open_parent(self._place, make=found is None) as (folder, name):
            try:
                _check_unmoved(folder, name, found, self._shown)
                replace_file(folder, name, data, old=found.state if found else None)
            except OSError as error:
                raise ToolProblem(describe_os_error(error, self._shown)) from error
        self._ledger.note(self._session, self._place.path, fingerprint(data))

    def _result(self, said: str, old: str | None, new: str) -> ToolResult:
        diffs: tuple[Diff, ...] = ()
        if len(old or "") + len(new) <= _LARGEST_DIFF_CHARS:
            diffs = (_diff(self._place.path, old, new),)
        return ToolResult(content=ToolResult.of_text(said).content, diffs=diffs)


def _diff(path: Path, old: str | None, new: str) -> Diff:
    return Diff(
        path=show_name(str(path)), old_text=None if old is None else clean_text(old), new_text=clean_text(new)
    )


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ToolProblem("The text holds half of a character (a lone surrogate).") from error


def _check_unmoved(folder: int, name: str, found: _Found | None, shown: str) -> None:
    try:
        now = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        if found is None:
            return
        raise ToolProblem(f"{shown} was taken away meanwhile.") from None
    if found is None or _identity(now) != _identity(found.state):
        raise ToolProblem(f"{shown} changed meanwhile. Read it again first.")


def _identity(state: os.stat_result) -> tuple[int, int, int, int]:
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns


def _other_links(found: _Found) -> str:
    others = found.state.st_nlink - 1
    return (
        f" It had {others} other hard link{'s' * (others > 1)}, which keep the old content." if others else ""
    )
