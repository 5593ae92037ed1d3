"""Shell-style patterns of paths: `*` and `?` within a name, `**` across folders, `[…]`, and `{a,b}` for either."""

from __future__ import annotations

import re

from .problems import ToolProblem

__all__ = ["path_matcher"]

_LONGEST = 500
_CLASS = re.compile(r"\[(!?)(\]?[^\]/]*)\]")


def path_matcher(pattern: str) -> re.Pattern[str]:
    """Matches relative paths, whole. A pattern without `/` is for the last name alone, wherever it is.

    Raises:
        ToolProblem: The pattern is empty, too long, or has braces that do not close.
    """
    given = pattern.strip().removeprefix("./")
    if not given or len(given) > _LONGEST:
        raise ToolProblem("The glob is empty or too long.")
    anchored = given if "/" in given.rstrip("/") else f"**/{given}"
    try:
        return re.compile(_translate(anchored.lstrip("/")), re.DOTALL)
    except re.error as error:
        raise ToolProblem(f"The glob {pattern!r} cannot be read.") from error


def _translate(pattern: str) -> str:
    out: list[str] = []
    depth, at = 0, 0
    while at < len(pattern):
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            out.append("(?:[^/]+/)*")
            at += 3
            continue
        if pattern.startswith("**", at):
            out.append(".*")
            at += 2
            continue
        character = pattern[at]
        if character == "[" and (found := _CLASS.match(pattern, at)) and found.group(2):
            inner = (
                found.group(2)
                .replace("\\", "\\\\")
                .replace("[", "\\[")
                .replace("]", "\\]")
                .replace("^", "\\^")
            )
            out.append(f"(?!/)[{'^' * bool(found.group(1))}{inner}]")
            at = found.end()
            continue
        match character:
            case "*":
                out.append("[^/]*")
            case "?":
                out.append("[^/]")
            case "{":
                depth += 1
                out.append("(?:")
            case "}" if depth:
                depth -= 1
                out.append(")")
            case "," if depth:
                out.append("|")
            case _:
                out.append(re.escape(character))
        at += 1
    if pattern.endswith("/"):
        out.append(".*")
    return "".join(out)
