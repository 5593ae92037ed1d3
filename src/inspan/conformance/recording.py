"""Recording: a captured conversation, one JSON object a line.

`{"t": seconds, "dir": ">" | "<" | "!", "phase": str, "msg": ...}`: what a client wrote to the harness, what the
harness wrote, and what happened to the harness's process. `t` and `phase` may be missing. A harness's line that
was no JSON is kept as a string.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from inspan.model.errors import ManifestError

__all__ = ["RecordedLine", "read_recording"]


class RecordedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a recording.

    Attributes:
        number: Its number in the file, from 1.
        at_s: Seconds since the recording began.
        direction: To the harness, from it, or about its process.
        phase: What the recorder was about.
        message: The message, or text.
        delivery: The delivery of a prompt, where the recorder noted it.
    """

    number: int
    at_s: float
    direction: Literal[">", "<", "!"]
    phase: str
    message: Any
    delivery: str = ""


class _Line(msgspec.Struct):
    dir: Literal[">", "<", "!"]
    msg: Any
    t: float = 0.0
    phase: str = ""
    delivery: str = ""


_decode_line = msgspec.json.Decoder(_Line).decode


def read_recording(path: Path) -> Iterator[RecordedLine]:
    """The lines of a recording, in order; blank ones are passed over.

    Raises:
        ManifestError: `recording_invalid`: the file cannot be read, or a line is no such object. `detail` holds
            `file` and `line`.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield _read_line(path, number, line)
    except OSError as error:
        raise _invalid(path, 0, f"it cannot be read: {error.strerror}") from error


def _read_line(path: Path, number: int, line: bytes) -> RecordedLine:
    try:
        found = _decode_line(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _invalid(path, number, str(error)) from error
    return RecordedLine(
        number=number,
        at_s=found.t,
        direction=found.dir,
        phase=found.phase,
        message=found.msg,
        delivery=found.delivery,
    )


def _invalid(path: Path, number: int, problem: str) -> ManifestError:
    place = f"line {number}: " if number else ""
    return ManifestError(
        f"The recording {path} is of no use: {place}{problem}.",
        code="recording_invalid",
        hint="A recording has one JSON object a line, with `dir` and `msg`.",
        detail={"file": str(path), "line": number},
    )
