"""The `search` tool: finds lines in the files of the workspace."""

from __future__ import annotations

import os
import re
import stat
import threading
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from inspan.agent.text import clean_text
from inspan.agent.values import JsonObject, ToolResult

from .arguments import arguments_of, schema_of, short
from .confinement import Confinement, Place
from .contract import Tool, ToolCallContext
from .globs import path_matcher
from .ground import Ground, run_blocking
from .problems import ToolProblem, describe_os_error, telling_problems
from .searching.running import Finding, FoundLine, SearchFailed, SearchQuery, find_ripgrep, run_search

__all__ = ["search_tool"]

_LINE_CHARS = 400
_DESCRIPTION = """\
Finds lines that match a regular expression (no line breaks, look-around or back-references in it; set literal for a plain text) \
in the files below a folder. Files that .gitignore leaves out, binary files and files over 10 MiB are not searched. Gives `line: \
text` below each file's path; with output `files` only the paths, with `count` the number of matching lines of each."""


class SearchArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of the `search` tool."""

    pattern: Annotated[str, Meta(min_length=1, max_length=10_000, description="What to find in a line.")]
    path: Annotated[str, Meta(description="The folder or file to search.")] = "."
    glob: Annotated[
        str,
        Meta(
            description="Only files whose path matches, such as `*.py` or `src/**/*.{ts,tsx}`; empty for all."
        ),
    ] = ""
    literal: Annotated[bool, Meta(description="Whether the pattern is a plain text.")] = False
    ignore_case: Annotated[bool, Meta(description="Whether case does not count.")] = False
    context: Annotated[int, Meta(ge=0, le=20, description="How many lines to show around each match.")] = 0
    output: Annotated[Literal["lines", "files", "count"], Meta(description="What to give.")] = "lines"
    max_results: Annotated[int, Meta(ge=1, le=2000, description="The most matching lines, or files.")] = 200
    include_ignored: Annotated[
        bool, Meta(description="Whether to search files that .gitignore leaves out.")
    ] = False


def search_tool(ground: Ground) -> Tool:
    """Makes the tool."""

    @telling_problems
    async def execute(arguments: JsonObject, call: ToolCallContext) -> ToolResult:
        wanted = arguments_of(SearchArguments, arguments)
        return await run_blocking(call, lambda stop: _search(ground, wanted, call, stop))

    return Tool(
        name="search",
        description=_DESCRIPTION,
        input_schema=schema_of(SearchArguments),
        read_only=True,
        execute=execute,
        kind="search",
        title=lambda arguments: (
            f"Search {short(arguments.get('pattern'), 60)} in {short(arguments.get('path', '.'))}"
        ),
        locations=ground.locations_of("path"),
    )


def _search(
    ground: Ground, wanted: SearchArguments, call: ToolCallContext, stop: threading.Event
) -> ToolResult:
    if re.search(r"\n|(?<!\\)(?:\\\\)*\\n", wanted.pattern) if not wanted.literal else "\n" in wanted.pattern:
        raise ToolProblem("The pattern has a line break in it, and lines are searched one by one.")
    if "\0" in wanted.pattern or clean_text(wanted.pattern) != wanted.pattern:
        raise ToolProblem("The pattern has a character that no text has.")
    confinement = ground.confinement(call)
    place = confinement.find(wanted.path)
    query, base = _query(confinement, place, wanted)
    results = _Results(wanted, confinement, base, ground.settings.output_limit_chars)
    try:
        why = run_search(query, find_ripgrep(ground.settings.search_program), stop, results.take)
    except SearchFailed as error:
        raise ToolProblem(str(error)) from error
    return ToolResult.of_text(results.text(why))


def _query(confinement: Confinement, place: Place, wanted: SearchArguments) -> tuple[SearchQuery, Place]:
    try:
        is_folder = stat.S_ISDIR(os.lstat(place.path).st_mode)
    except OSError as error:
        raise ToolProblem(describe_os_error(error, place.shown)) from error
    if is_folder:
        with confinement.open_folder(place):
            pass
        base, name = place, ""
    else:
        with confinement.open_regular(place):
            pass
        base, name = Place(root=place.root, parts=place.parts[:-1], shown=place.shown), place.parts[-1]
    query = SearchQuery(
        root=str(place.root),
        start=str(base.path),
        name=name,
        pattern=wanted.pattern,
        is_literal=wanted.literal,
        ignores_case=wanted.ignore_case,
        context=wanted.context if wanted.output == "lines" else 0,
        takes_ignored=wanted.include_ignored,
    )
    return query, base


class _Results:
    """Takes in files until there are enough, and puts them into words."""

    def __init__(
        self, wanted: SearchArguments, confinement: Confinement, base: Place, limit_chars: int
    ) -> None:
        self._wanted = wanted
        self._confinement = confinement
        self._base = base
        self._matcher = path_matcher(wanted.glob) if wanted.glob.strip() else None
        self._room = limit_chars
        self._left = wanted.max_results
        self._said: list[str] = []

    def take(self, finding: Finding) -> bool:
        """Takes a file; returns whether there is room for more."""
        path = self._base.path.joinpath(finding.path)
        if self._matcher is not None and not self._matcher.fullmatch(self._relative(finding.path)):
            return True
        if _leads_elsewhere(path):
            return True  # a link was put there meanwhile
        if self._left <= 0:
            self._left = -1
            return False
        shown = self._confinement.show(path)
        match self._wanted.output:
            case "files":
                self._say(shown)
                self._left -= 1
            case "count":
                self._say(f"{shown}: {finding.matches}")
                self._left -= 1
            case "lines":
                self._say_lines(shown, finding)
        if self._room < 0 or self._left < 0:
            self._left = -1
            return False
        return True

    def text(self, why: str) -> str:
        """The result. `why` is what `run_search` returned."""
        notes = {
            "enough": "[There is more: narrow the pattern, the path or the glob.]",
            "timeout": "[The search was ended after its time; there may be more. Narrow the path.]",
            "cancelled": "[The search was cancelled.]",
        }
        said = self._said or ["No matches."]
        return "\n".join([*said, *([notes[why]] if why in notes else [])])

    def _relative(self, path: str) -> str:
        if "/" not in self._wanted.glob:
            return path
        return str(self._base.path.joinpath(path).relative_to(self._base.root))

    def _say_lines(self, shown: str, finding: Finding) -> None:
        self._say(shown)
        last = 0
        for index, line in enumerate(finding.lines):
            if line.is_match:
                if self._left == 0:
                    self._left = -1
                    break
                self._left -= 1
            elif self._left == 0 and not _is_after_match(finding.lines, index):
                continue
            if self._wanted.context and last and line.number > last + 1:
                self._say("  --")
            last = line.number
            mark = ":" if line.is_match else "-"
            text = clean_text(line.text)
            text = text if len(text) <= _LINE_CHARS else f"{text[:_LINE_CHARS]}…"
            self._say(f"  {line.number}{mark} {text}")
            if self._room < 0:
                break

    def _say(self, line: str) -> None:
        self._said.append(line)
        self._room -= len(line) + 1


def _leads_elsewhere(path: Path) -> bool:
    try:
        return os.path.realpath(path) != str(path)
    except OSError:
        return True


def _is_after_match(lines: tuple[FoundLine, ...], index: int) -> bool:
    """Whether a line near a match stands after one, and not only before the next."""
    for before in range(index - 1, -1, -1):
        if lines[before].number != lines[before + 1].number - 1:
            return False
        if lines[before].is_match:
            return True
    return False
