"""The `read` tool: a file's text by lines, or a picture."""

from __future__ import annotations

import base64
import os
import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated, BinaryIO

from msgspec import Meta, Struct

from inspan.agent.text import clean_text
from inspan.agent.values import ImageContent, JsonObject, ToolResult

from .arguments import arguments_of, schema_of, short
from .confinement import Confinement, Place, kind_of_file
from .contract import Tool, ToolCallContext
from .ground import Ground, run_blocking
from .ledger import fingerprint
from .problems import ToolProblem, telling_problems
from .similar import similar_names
from .texts import FileText, decode_text, image_type, is_binary

__all__ = ["LARGEST_TEXT_BYTES", "read_tool"]

LARGEST_TEXT_BYTES = 10 * 1024 * 1024
"""Up to this size a text is read whole, can be changed, and has its lines counted."""

_LARGEST_IMAGE_BYTES = 3 * 1024 * 1024 + 512 * 1024
_RESULT_CHARS = 50_000
_LINE_CHARS = 2000
_SNIFFED_BYTES = 8192

_DESCRIPTION = f"""\
Reads a file. Text comes with line numbers (`   12<tab>text`), which are not part of the file. At most {_RESULT_CHARS:,} characters \
come at once: the last line says where to go on. Pictures (PNG, JPEG, GIF, WebP) are shown. Other binary files are refused. \
Read a file before you change it."""


class ReadArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of the `read` tool."""

    path: Annotated[str, Meta(description="The file, relative to the workspace or absolute.")]
    start_line: Annotated[int, Meta(ge=1, description="The first line wanted, from 1.")] = 1
    max_lines: Annotated[int, Meta(ge=1, le=10_000, description="The most lines wanted.")] = 2000


def read_tool(ground: Ground) -> Tool:
    """Makes the tool."""

    @telling_problems
    async def execute(arguments: JsonObject, call: ToolCallContext) -> ToolResult:
        wanted = arguments_of(ReadArguments, arguments)
        return await run_blocking(call, lambda stop: _read(ground, wanted, call, stop))

    return Tool(
        name="read",
        description=_DESCRIPTION,
        input_schema=schema_of(ReadArguments),
        read_only=True,
        execute=execute,
        kind="read",
        title=lambda arguments: f"Read {short(arguments.get('path'))}",
        locations=ground.locations_of("path"),
    )


def _read(ground: Ground, wanted: ReadArguments, call: ToolCallContext, stop: threading.Event) -> ToolResult:
    confinement = ground.confinement(call)
    place = confinement.find(wanted.path)
    _explain_absence(confinement, place)
    with confinement.open_regular(place) as handle, os.fdopen(os.dup(handle), "rb") as file:
        size = os.fstat(handle).st_size
        head = file.read(_SNIFFED_BYTES)
        if media_type := image_type(head):
            return _picture(file, head, media_type, place.shown, size)
        if is_binary(head):
            raise ToolProblem(
                f"{place.shown} is a binary file of {size:,} bytes; it cannot be shown as text."
            )
        if size > LARGEST_TEXT_BYTES:
            if decode_text(head[:4]).mark:
                raise ToolProblem(f"{place.shown} has {size:,} bytes, too many for a text in its encoding.")
            file.seek(0)
            return _streamed(file, wanted, size, stop)
        data = head + file.read(LARGEST_TEXT_BYTES + 1)
    ground.ledger.note(call.session_id, place.path, fingerprint(data))
    return _whole(decode_text(data), wanted)


def _whole(kept: FileText, wanted: ReadArguments) -> ToolResult:
    lines = kept.text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        return ToolResult.of_text("[The file is empty.]")
    if wanted.start_line > len(lines):
        raise ToolProblem(f"The file has only {len(lines):,} lines.")
    first = wanted.start_line - 1
    shown, count = _numbered(lines[first : first + wanted.max_lines], wanted.start_line)
    last = first + count
    notes = [f"lines {wanted.start_line}-{last} of {len(lines):,}"] if count < len(lines) else []
    if last < len(lines):
        notes.append(f"go on with start_line={last + 1}")
    if kept.encoding != "utf-8" or kept.mark:
        notes.append(f"encoding {kept.encoding}{' with a byte order mark' if kept.mark else ''}")
    if kept.is_crlf:
        notes.append("lines end with CR LF")
    return ToolResult.of_text("\n".join([*shown, *([f"[{'; '.join(notes)}]"] if notes else [])]))


def _streamed(file: BinaryIO, wanted: ReadArguments, size: int, stop: threading.Event) -> ToolResult:
    lines = islice(_lines_of(file, stop), wanted.start_line - 1, None)
    shown, count = _numbered(islice(lines, wanted.max_lines), wanted.start_line)
    if not count:
        raise ToolProblem("The file has fewer lines than that.")
    last = wanted.start_line + count - 1
    more = f"; go on with start_line={last + 1}" if next(lines, None) is not None else ""
    return ToolResult.of_text(
        "\n".join([*shown, f"[lines {wanted.start_line}-{last} of a file of {size:,} bytes{more}]"])
    )


def _lines_of(file: BinaryIO, stop: threading.Event) -> Iterator[str]:
    while piece := file.readline(_LINE_CHARS * 4 + 1):
        line = piece
        while piece and not piece.endswith(b"\n"):
            if stop.is_set():  # the file may have more than anybody waits for
                raise ToolProblem("The call was cancelled.")
            piece = file.readline(1024 * 1024)  # the rest of a line that is cut anyway
        if stop.is_set():
            raise ToolProblem("The call was cancelled.")
        yield line.decode("utf-8", "replace").rstrip("\n")


def _numbered(lines: Iterable[str], first: int) -> tuple[list[str], int]:
    shown: list[str] = []
    size = 0
    for number, line in enumerate(lines, first):
        text = clean_text(line.removesuffix("\r"))
        if len(text) > _LINE_CHARS:
            text = f"{text[:_LINE_CHARS]}… [line cut]"
        entry = f"{number:>6}\t{text}"
        size += len(entry) + 1
        if shown and size > _RESULT_CHARS:
            break
        shown.append(entry)
    return shown, len(shown)


def _picture(file: BinaryIO, head: bytes, media_type: str, shown: str, size: int) -> ToolResult:
    if size > _LARGEST_IMAGE_BYTES:
        raise ToolProblem(
            f"{shown} is a picture ({media_type}) of {size:,} bytes; at most {_LARGEST_IMAGE_BYTES:,} can be shown."
        )
    data = head + file.read(_LARGEST_IMAGE_BYTES)
    return ToolResult(content=(ImageContent(media_type=media_type, data=base64.b64encode(data).decode()),))


def _explain_absence(confinement: Confinement, place: Place) -> None:
    try:
        found = os.lstat(place.path)
    except OSError:
        near = similar_names(confinement, place)
        more = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ToolProblem(f"{place.shown} does not exist.{more}") from None
    if kind_of_file(found.st_mode) == "folder":
        raise ToolProblem(f"{place.shown} is a folder; use list to see what is in it.")
