"""Says to the terminal that the agent runs in what it is doing: OSC 7501, the Program Status Protocol.

Reports are for people who look at many terminals at once; they authorise nothing. Source: the specification's revision
0.4. Nothing is written where the stream is no terminal.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Literal, TextIO

__all__ = ["ProgramStatus", "Status"]

Status = Literal["idle", "working", "blocked", "done", "error", "clear"]
BlockedKind = Literal["permission", "question", "auth"]


class ProgramStatus:
    """Reports of one program to one terminal.

    Args:
        stream: The terminal.
        environment: Where `TERM` is looked for: a dumb terminal is told nothing.
    """

    def __init__(self, stream: TextIO, *, environment: Mapping[str, str] | None = None) -> None:
        self._stream = stream
        variables = os.environ if environment is None else environment
        self._is_on = stream.isatty() and variables.get("TERM", "dumb") != "dumb"
        self._last = ""

    def report(self, state: Status, *, kind: BlockedKind | None = None) -> None:
        """Reports a state of the program as a whole; the same one again is not written again.

        `kind` counts with `blocked` alone: what a person is to answer.
        """
        told = f"state={state}:app=inspan"
        if state == "blocked" and kind is not None:
            told += f":kind={kind}"
        if not self._is_on or told == self._last:
            return
        self._last = told
        with suppress(OSError, ValueError):  # a terminal that is gone
            self._stream.write(f"\x1b]7501;{told}\x1b\\")
            self._stream.flush()
