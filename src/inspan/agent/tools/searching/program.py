"""Our own search, run as a program of its own: a pattern that takes for ever can be ended, and stalls nobody.

It is told what to do in its one argument, in JSON, and answers on its output like `rg --json`: `match`, `context` and `end`, a
line each. It uses the standard library alone, and does not load the rest of Inspan.
"""

from __future__ import annotations

import base64
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import Any

from .walking import OPEN_FOLDER, IgnoreRules, read_folder, rules_for, visible

__all__ = ["main"]

_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def main(request: dict[str, Any]) -> int:
    """Searches.

    Args:
        request: `root` and `start`, absolute folders; `name`, a file in `start`, or empty for all in it; `pattern`,
            `is_literal`, `ignores_case`; `context`, how many lines; `takes_ignored`; `largest_bytes` of a file.

    Returns:
        0 if something was found, 1 if nothing was, 2 with a line of text if the pattern is none.
    """
    pattern = re.escape(request["pattern"]) if request["is_literal"] else request["pattern"]
    try:
        wanted = re.compile(pattern, re.IGNORECASE if request["ignores_case"] else 0)
    except (re.error, OverflowError, RecursionError) as error:
        print(f"regex parse error: {error}", flush=True)
        return 2
    found = False
    for path, data in _files(request):
        found = _search(path, data, wanted, int(request["context"])) or found
    return 0 if found else 1


def _files(request: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    start, largest = str(request["start"]), int(request["largest_bytes"])
    folder = os.open(start, OPEN_FOLDER)
    try:
        if request["name"]:
            data = _read(folder, str(request["name"]), largest)
            if data is not None:
                yield str(request["name"]), data
            return
        rules = None if request["takes_ignored"] else rules_for(str(request["root"]), start)[0]
        parts = tuple(part for part in start.split("/") if part)
        yield from _files_below(folder, parts, "", rules, largest)
    finally:
        os.close(folder)


def _files_below(
    folder: int, parts: tuple[str, ...], path: str, rules: IgnoreRules | None, largest: int
) -> Iterator[tuple[str, bytes]]:
    try:
        entries = read_folder(folder)
    except OSError:
        return
    inner = None if rules is None else rules.entered(folder, parts, entries)
    for entry in visible(entries, parts, inner):
        if entry.kind == "file":
            data = _read(folder, entry.name, largest)
            if data is not None:
                yield path + entry.name, data
        elif entry.kind == "folder":
            try:
                deeper = os.open(entry.name, OPEN_FOLDER, dir_fd=folder)
            except OSError:
                continue
            try:
                yield from _files_below(deeper, (*parts, entry.name), f"{path}{entry.name}/", inner, largest)
            finally:
                os.close(deeper)


def _read(folder: int, name: str, largest: int) -> bytes | None:
    try:
        handle = os.open(name, _OPEN_FILE, dir_fd=folder)
    except OSError:
        return None
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode) or state.st_size > largest:
            return None
        pieces: list[bytes] = []
        while piece := os.read(handle, 1 << 20):
            pieces.append(piece)
        return b"".join(pieces)
    except OSError:
        return None
    finally:
        os.close(handle)


def _search(path: str, data: bytes, wanted: re.Pattern[str], context: int) -> bool:
    mark, encoding = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", "utf-8"))
    if b"\0" in data and not encoding.startswith("utf-16"):
        return False
    lines = data[len(mark) :].decode(encoding, "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    hits = [number for number, line in enumerate(lines) if wanted.search(line.removesuffix("\r"))]
    if not hits:
        return False
    matching = set(hits)
    shown = sorted(
        {near for hit in hits for near in range(max(0, hit - context), min(len(lines), hit + context + 1))}
    )
    for number in shown:
        _say("match" if number in matching else "context", path, lines[number], number + 1)
    _say("end", path)
    return True


def _say(kind: str, path: str, line: str | None = None, number: int = 0) -> None:
    data: dict[str, object] = {"path": {"bytes": base64.b64encode(os.fsencode(path)).decode()}}
    if line is not None:
        data |= {"lines": {"text": line + "\n"}, "line_number": number}
    sys.stdout.write(json.dumps({"type": kind, "data": data}) + "\n")
    if kind == "end":
        sys.stdout.flush()
