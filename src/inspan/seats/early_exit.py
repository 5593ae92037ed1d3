"""Exits before a session: a harness that ends at once, such as one that nobody signed in to, says why as it goes.

What it said last is all that there is: no session was open, so no word of a model or a user can be among it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import msgspec

from inspan.model.state import LaunchState
from inspan.model.turn import CallError

__all__ = ["early_exit_error", "has_no_session_yet", "read_last_lines"]

_LINES = 20
"""How many of the last lines are read, from the last one on."""

_LINE_CHARACTERS = 500
_SAYS_NOTHING = re.compile(r"[\W\d_]*$|at \S|Node\.js v\d")
"""A line without a word, a frame of a stack, or what an interpreter writes below its error."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def has_no_session_yet(launch: LaunchState | None) -> bool:
    """Whether a launch ended by itself before it could take a prompt, or since it took too long to."""
    if launch is None:
        return False
    if launch.error is not None:
        return launch.error.code == "handshake_timeout"
    return launch.status in ("starting", "connecting") and not launch.stopped_by


async def read_last_lines(
    stderr_tail: str, classify: Callable[[CallError], Awaitable[CallError]]
) -> CallError | None:
    """What the harness's last words mean: of the lines that its manifest knows, the last one counts.

    Args:
        stderr_tail: The end of its standard error.
        classify: Reads an error by the manifest, or leaves it as it is.
    """
    for line in reversed(_lines_of(stderr_tail)[-_LINES:]):
        known = await classify(CallError(code="harness_exited", message=line))
        if known.code != "harness_exited":
            return known
    return None


def early_exit_error(error: CallError, stderr_tail: str) -> CallError:
    """The error of an exit that nothing explains, with the last line that has words in it and what can be tried."""
    said = _last_words(_lines_of(stderr_tail))
    message = error.message.rstrip(".") + " before a session was open" + (f": {said}" if said else ".")
    return msgspec.structs.replace(
        error,
        message=message,
        hint="Start its program by hand once: it may ask for a sign-in. Then start the seat again.",
    )


def _last_words(lines: list[str]) -> str:
    """The last line with words in it; what stands in braces at the end is a dump of the error before it."""
    at = len(lines)
    while at:
        at -= 1
        if lines[at] == "}":
            at = next((above for above in reversed(range(at)) if lines[above].endswith("{")), at)
        words = lines[at].rstrip("{ ")
        if not _SAYS_NOTHING.match(words):
            return words
    return ""


def _lines_of(text: str) -> list[str]:
    plain = (_ESCAPES.sub("", line).strip() for line in text.splitlines())
    return [line[:_LINE_CHARACTERS] for line in plain if line]
