"""Recording a console: every byte that its program writes, with what each screen *is*, as a set of fixtures."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import msgspec

from inspan.model.errors import UsageError
from inspan.transports.terminal.console import Console
from inspan.transports.terminal.guest import FRESH, GuestTerminal
from inspan.transports.terminal.identity import IDENTITY
from inspan.transports.terminal.screen import ScreenSize

from .console_fixtures import MAX_STREAM_BYTES, ConsoleSet, ConsoleState, FixtureProvenance
from .neutralising import Secrets

__all__ = ["ENVIRONMENT", "ConsoleRecorder", "SavedRecording", "read_label"]

ENVIRONMENT = IDENTITY.environment()
"""The variables that a program on a seat's terminal is started with."""

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,62}")
_STATES = tuple(one for one in get_args(msgspec.structs.fields(ConsoleState)[0].type) if one)


class SavedRecording(msgspec.Struct, frozen=True, kw_only=True):
    """What was written.

    Attributes:
        set_file: The set, with its labels.
        stream_file: Its bytes.
        states: The names of its states.
        size_bytes: How long the stream is.
        left: What may still be a secret, in a sentence each.
    """

    set_file: Path
    stream_file: Path
    states: tuple[str, ...]
    size_bytes: int
    left: tuple[str, ...]


class ConsoleRecorder:
    """Takes what a program writes, and keeps it.

    The terminal that it keeps beside answers what a program asks, as a seat's does: whoever runs the program hands
    the answers to it, and whoever only follows a seat drops them.
    """

    def __init__(self, *, columns: int, rows: int) -> None:
        self._size = ScreenSize(rows=rows, columns=columns)
        self._console = Console(self._size)
        self._guest = GuestTerminal()
        self._stream = bytearray()
        self._states: dict[str, ConsoleState] = {}
        self.is_full = False

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        """Takes what the program wrote: what its terminal answers, and what shows it on a borrowed terminal."""
        if len(self._stream) + len(data) > MAX_STREAM_BYTES:
            self.is_full = True
        else:
            self._stream += data
        answer = self._console.feed(data, at=datetime.now(UTC))
        shown = self._guest.fit(data)
        return answer, shown + self.redraw() if self._guest.wants_redraw else shown

    def redraw(self) -> bytes:
        """The bytes that show the whole screen on a borrowed terminal."""
        return FRESH + GuestTerminal().fit(self._console.redraw())

    def lines(self) -> tuple[str, ...]:
        """The text of the screen."""
        return self._console.snapshot().lines

    def label(self, name: str, state: ConsoleState) -> None:
        """Says what the screen is at this place; the same name again replaces what was said."""
        self._states.pop(name, None)
        self._states[name] = msgspec.structs.replace(state, stream=0, offset=len(self._stream))

    def save(
        self, folder: Path, name: str, *, secrets: Secrets, provenance: FixtureProvenance
    ) -> SavedRecording:
        """Writes the set `name` into `folder`, neutralised.

        Raises:
            UsageError: `invalid_argument`: there is a set of that name, or nothing was labelled.
        """
        if not self._states:
            raise UsageError(
                "No screen was labelled.", hint="Label at least one: a set is made of its states."
            )
        set_file, stream_file = folder / f"{name}.json", folder / f"{name}.0.raw"
        for file in (set_file, stream_file, stream_file.with_name(f"{stream_file.name}.xz")):
            if file.exists():
                raise UsageError(f"{file} is there already.", hint="Give the set another name with --set.")
        stream = secrets.neutralise(bytes(self._stream[: self._end()]))
        made = ConsoleSet(
            provenance=provenance,
            terminal="answering",
            columns=self._size.columns,
            rows=self._size.rows,
            states=self._states,
        )
        folder.mkdir(parents=True, exist_ok=True)
        stream_file.write_bytes(stream)
        set_file.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
        return SavedRecording(
            set_file=set_file,
            stream_file=stream_file,
            states=tuple(self._states),
            size_bytes=len(stream),
            left=tuple(self._find_left(stream, secrets)),
        )

    def close(self) -> None:
        """Frees the terminal. May be called twice."""
        self._console.close()

    def _end(self) -> int:
        return max(state.offset for state in self._states.values())

    def _find_left(self, stream: bytes, secrets: Secrets) -> list[str]:
        console, at, left = Console(self._size), 0, list[str]()
        try:
            for name, state in self._states.items():
                console.feed(stream[at : state.offset], at=datetime.now(UTC))
                at = state.offset
                left += [f"the screen {name}: {one}" for one in secrets.find_left(console.snapshot().lines)]
        finally:
            console.close()
        return left


def read_label(words: str) -> tuple[str, ConsoleState]:
    """A label as a person writes it: `NAME [STATE [KIND]]`, such as `approval needs_input permission`.

    A third word behind `idle` or `running` is the code of the error that is kept.

    Raises:
        UsageError: It is none.
    """
    name, *rest = words.replace("=", " ", 1).replace(":", " ", 1).split()[:4] or [""]
    state, kind = (*rest, "", "")[:2]
    if not _NAME.fullmatch(name) or len(rest) > 2 or (state and state not in _STATES):
        raise UsageError(
            f"{words!r} is no label.",
            hint="Give NAME STATE KIND, such as `approval needs_input permission`; states are "
            f"{', '.join(_STATES)}, a name is of a-z, 0-9, '.' and '-'.",
        )
    if kind and state != "needs_input":
        return name, ConsoleState(state=state, error=kind)  # pyright: ignore[reportArgumentType] - checked above
    return name, ConsoleState(state=state, kind=kind)  # pyright: ignore[reportArgumentType] - checked above
