"""Lines of plain text: which are no part of the answer, and which say an error."""

from __future__ import annotations

import re
from typing import Literal

from inspan.model.turn import CallError
from inspan.transports.records.ending import error_of_code

from .saying import Saying

__all__ = ["take_line"]

_LINE_CHARACTERS = 4096
"""As much of a line as the rules are tried on."""


def take_line(saying: Saying, line: str) -> Literal["noise", "error"] | None:
    """Reads a line by the manifest's rules; `None` where none of them is about it.

    The first error is remembered: what follows it are its further lines, or its consequences.
    """
    beginning = line[:_LINE_CHARACTERS]
    for rule in saying.settings.headless.lines:
        if (found := re.match(rule.pattern, beginning)) is None:
            continue
        if rule.means == "error" and saying.state.line_error is None:
            saying.state.line_error = _error(beginning, found)
            saying.is_changed = True
        return rule.means
    return None


def _error(line: str, found: re.Match[str]) -> CallError:
    status = found[1] if found.re.groups else None
    return error_of_code(line, int(status) if status and re.fullmatch(r"[0-9]{3}", status) else None)
