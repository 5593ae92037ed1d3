"""What a `.gitignore` file says, of one path at a time and of that path alone, as git and ripgrep read it.

Whoever walks asks of each folder before going into it, so nothing here looks at the folders above a path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["IgnoreFile"]

_CLASS = re.compile(r"\[([!^]?)(\]?(?:\\.|\[:\w+:\]|[^\]\\])*)\]")
_MOST_LINES = 10_000


@dataclass(frozen=True, slots=True)
class _Pattern:
    path: re.Pattern[str]
    takes_back: bool
    is_for_folders: bool


class IgnoreFile:
    """The patterns of one file. A line that is no pattern is passed over.

    Args:
        text: The file's text.
    """

    def __init__(self, text: str) -> None:
        self._patterns = tuple(reversed(list(_patterns_of(text))))

    def says(self, path: str, *, is_folder: bool) -> bool | None:
        """Whether a path is left out, by the last pattern that matches it; None if none does.

        Args:
            path: Relative to the file's folder, without a slash at its end.
            is_folder: Whether it is a folder; a link is none.
        """
        for pattern in self._patterns:
            if (is_folder or not pattern.is_for_folders) and pattern.path.fullmatch(path):
                return not pattern.takes_back
        return None


def _patterns_of(text: str) -> Iterator[_Pattern]:
    for line in text.split("\n")[:_MOST_LINES]:
        given = _without_blanks_at_its_end(line.removesuffix("\r"))
        if not given or given.startswith("#"):
            continue
        takes_back = given.startswith("!")
        given = given[takes_back:]
        is_for_folders = given.endswith("/")
        given = given.removesuffix("/")
        if not given.strip("/"):
            continue
        is_anchored = "/" in given
        translated = _translate(given.removeprefix("/"))
        if translated is None:
            continue
        try:
            path = re.compile(translated if is_anchored else f"(?:.*/)?{translated}", re.DOTALL)
        except re.error:
            continue
        yield _Pattern(path, takes_back, is_for_folders)


def _without_blanks_at_its_end(line: str) -> str:
    kept = line.rstrip(" ")
    slashes = len(kept) - len(kept.rstrip("\\"))
    return f"{kept} " if slashes % 2 and len(kept) < len(line) else kept


def _translate(pattern: str) -> str | None:
    out: list[str] = []
    at = 0
    while at < len(pattern):
        is_first_of_name = at == 0 or pattern[at - 1] == "/"
        if is_first_of_name and pattern.startswith("**/", at):
            out.append("(?:.*/)?")
            at += 3
            continue
        if is_first_of_name and pattern[at:] == "**":
            out.append(".+" if at else ".*")
            break
        character = pattern[at]
        if character == "[":
            found = _CLASS.match(pattern, at)
            if found is None or not found.group(2):
                return None
            out.append(f"(?!/)[{'^' * bool(found.group(1))}{_class_of(found.group(2))}]")
            at = found.end()
            continue
        if character == "\\":
            if at + 1 == len(pattern):
                return None
            at += 1
            out.append(re.escape(pattern[at]))
        elif character == "*":
            out.append("[^/]*")
            while pattern.startswith("**", at):
                at += 1
        else:
            out.append("[^/]" if character == "?" else re.escape(character))
        at += 1
    return "".join(out)


def _class_of(inner: str) -> str:
    plain = re.sub(r"\\(.)", r"\1", inner)
    return re.sub(r"([\\\[\]^&~|])", r"\\\1", plain)
