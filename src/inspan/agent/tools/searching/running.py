"""Runs a search, by ripgrep or by our own program, and takes in what it finds until it is enough."""

from __future__ import annotations

import base64
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import cast

import msgspec
from msgspec import Struct

from inspan.agent.tools.processes import ProcessEnd, ProcessRun

from .walking import rules_for

__all__ = ["Finding", "FoundLine", "SearchFailed", "SearchQuery", "find_ripgrep", "run_search"]

LARGEST_FILE_BYTES = 10 * 1024 * 1024
"""Larger files are not searched."""

_LIMIT_S = 60.0
_LONGEST_RECORD_BYTES = 64 * 1024 * 1024
_MOST_LINES_OF_A_FILE = 100_000
"""More than a search can show; the others of a file are counted alone."""
_TOOLS = Path(__file__).resolve().parents[1]
_BOOT = (
    "import json,sys; sys.path.append(sys.argv[1]); from searching.program import main;"
    " sys.exit(main(json.loads(sys.argv[2])))"
)


class SearchQuery(Struct, frozen=True, kw_only=True):
    """What is searched for, and where.

    Attributes:
        root: The root that the start lies in, absolute and resolved.
        start: The folder to search, absolute and resolved.
        name: The one file in it to search; empty for all.
        pattern: A regular expression, or a text if `is_literal`; no newline in it.
        is_literal: Whether the pattern is a text.
        ignores_case: Whether case counts.
        context: How many lines before and after each match.
        takes_ignored: Whether files that `.gitignore` leaves out are searched.
    """

    root: str
    start: str
    name: str
    pattern: str
    is_literal: bool
    ignores_case: bool
    context: int
    takes_ignored: bool


class FoundLine(Struct, frozen=True, kw_only=True):
    """A line: a match, or one near it."""

    number: int
    text: str
    is_match: bool


class Finding(Struct, frozen=True, kw_only=True):
    """What one file has.

    Attributes:
        path: Relative to the start; may hold surrogates.
        lines: The first 100,000 of its lines that match or are near a match.
        matches: How many lines match.
    """

    path: str
    lines: tuple[FoundLine, ...]
    matches: int


class SearchFailed(Exception):
    """The search could not be made; the text says why."""


def find_ripgrep(chosen: str | None) -> str:
    """The ripgrep to use: the chosen one, or that on the path where nothing was chosen; empty for none."""
    return (shutil.which("rg") or "") if chosen is None else chosen


def run_search(
    query: SearchQuery, ripgrep: str, stop: threading.Event, take: Callable[[Finding], bool]
) -> str:
    """Searches, and gives each file with a match to `take`, in the order of their paths, until it returns false.

    Args:
        query: What and where.
        ripgrep: The program; empty for our own. Our own is used too where ripgrep cannot give the same answer.
        stop: Ends the search when it is set.
        take: Takes a file.

    Returns:
        Why it ended: `done`, `enough`, `timeout` or `cancelled`.

    Raises:
        SearchFailed: The pattern is none, or the program could not be run.
    """
    flags = _ripgrep_flags(query) if ripgrep else None
    if flags is not None:
        reader = _Reader(stop, take)
        end = reader.run([ripgrep, *flags], query.start)
        if end is not None and not (end.exit_code == 2 and not reader.has_taken and reader.said):
            return reader.why(end)
    reader = _Reader(stop, take)
    end = reader.run(
        [sys.executable, "-I", "-c", _BOOT, str(_TOOLS), json.dumps(_as_request(query))], query.start
    )
    if end is None:
        raise SearchFailed("The search program could not be started.")
    if end.why == "exited" and end.exit_code not in (0, 1) and not reader.is_enough:
        said = reader.said if reader.said.startswith("regex parse error: ") else ""
        raise SearchFailed(
            f"The pattern cannot be read: {said[19:]}." if said else "The search program failed."
        )
    return reader.why(end)


class _Reader:
    """Reads what a search says, and stops it when it is enough."""

    def __init__(self, stop: threading.Event, take: Callable[[Finding], bool]) -> None:
        self._outer = stop
        self._stop = threading.Event()
        self._take = take
        self._rest = bytearray()
        self._path: str | None = None
        self._lines: list[FoundLine] = []
        self._matches = 0
        self.has_taken = False
        self.is_enough = False
        self.said = ""
        """The first line that is no record."""

    def run(self, argv: list[str], folder: str) -> ProcessEnd | None:
        """Runs a program; None if there is none."""
        stop = _EitherEvent(self._outer, self._stop)
        environment = {
            name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LC_ALL") if name in os.environ
        }
        run = ProcessRun(argv, folder=Path(folder), environment=environment, limit_s=_LIMIT_S, stop=stop)
        try:
            return run.run(self._read)
        except OSError:
            return None

    def why(self, end: ProcessEnd) -> str:
        """The reason of the end, for who asked for the search."""
        if self.is_enough:
            return "enough"
        return "done" if end.why == "exited" else end.why

    def _read(self, piece: bytes) -> None:
        if self.is_enough:
            return
        self._rest += piece
        *whole, rest = bytes(self._rest).split(b"\n") if b"\n" in piece else (bytes(self._rest),)
        if b"\n" not in piece:
            if len(self._rest) > _LONGEST_RECORD_BYTES:
                self._end_it()
            return
        self._rest = bytearray(rest)
        for line in whole:
            self._read_record(line)
            if self.is_enough:
                return

    def _read_record(self, line: bytes) -> None:
        try:
            record = msgspec.json.decode(line, type=_Record)
        except msgspec.DecodeError:
            self.said = self.said or line.decode("utf-8", "replace").strip()[:500]
            return
        data = record.data
        path = data.path.text().removeprefix("./") if data.path is not None else ""
        if record.type in ("match", "context") and data.lines is not None:
            if path != self._path:
                self._path, self._lines, self._matches = path, [], 0
            self._matches += record.type == "match"
            if len(self._lines) >= _MOST_LINES_OF_A_FILE:
                return
            text = data.lines.text().removesuffix("\n").removesuffix("\r")
            self._lines.append(
                FoundLine(number=data.line_number or 0, text=text, is_match=record.type == "match")
            )
        elif record.type == "end":
            lines, matches = tuple(self._lines), self._matches
            self._path, self._lines, self._matches = None, [], 0
            if lines and data.binary_offset is None:
                self.has_taken = True
                if not self._take(Finding(path=path, lines=lines, matches=matches)):
                    self._end_it()

    def _end_it(self) -> None:
        self.is_enough = True
        self._stop.set()


class _EitherEvent(threading.Event):
    """Is set when one of two others is."""

    def __init__(self, one: threading.Event, other: threading.Event) -> None:
        super().__init__()
        self._both = (one, other)

    def is_set(self) -> bool:
        return any(event.is_set() for event in self._both)


class _Text(Struct, frozen=True):
    """Text as ripgrep gives it: as it is, or in base64 where it is no UTF-8."""

    plain: str | None = msgspec.field(default=None, name="text")
    encoded: str | None = msgspec.field(default=None, name="bytes")

    def text(self) -> str:
        if self.plain is not None:
            return self.plain
        return os.fsdecode(base64.b64decode(self.encoded or ""))


class _Data(Struct, frozen=True):
    path: _Text | None = None
    lines: _Text | None = None
    line_number: int | None = None
    binary_offset: int | None = None


class _Record(Struct, frozen=True):
    type: str
    data: _Data


def _ripgrep_flags(query: SearchQuery) -> list[str] | None:
    """The arguments by which ripgrep gives the same answer as our own program; None if there are none."""
    if query.name:
        return None  # of a file that it is given by name ripgrep judges differently whether it is text
    flags = [
        "--json",
        "--no-config",
        "--no-messages",
        "--no-mmap",
        "--hidden",
        "--crlf",
        "--sort=path",
        "--glob=!.git",
    ]
    flags += [f"--max-filesize={LARGEST_FILE_BYTES}", f"--context={query.context}"]
    if query.takes_ignored:
        flags.append("--no-ignore")
    else:
        flags += ["--no-ignore-dot", "--no-ignore-exclude", "--no-ignore-global"]
        rules, is_ignored = rules_for(query.root, query.start)
        if rules.is_in_repository:
            if is_ignored:
                return None  # without what is above, ripgrep does not know that this is a repository
        elif rules.files:
            return None  # files above the start count, but none above the root
        else:
            flags += ["--no-require-git", "--no-ignore-parent"]
    flags += ["--ignore-case"] * query.ignores_case + ["--fixed-strings"] * query.is_literal
    return [*flags, "--regexp", query.pattern, "--", "./"]


def _as_request(query: SearchQuery) -> dict[str, object]:
    return {**cast("dict[str, object]", msgspec.to_builtins(query)), "largest_bytes": LARGEST_FILE_BYTES}
