"""The recordings of consoles, as snapshots of their states and as streams of bytes."""

from __future__ import annotations

import functools
import lzma
from pathlib import Path
from typing import Literal

import msgspec

import inspan.harnesses
from inspan.model.screen_rules import ScreenRules
from inspan.transports.terminal.opening import open_screen
from inspan.transports.terminal.screen import ScreenSize, Snapshot

__all__ = [
    "RECORDINGS",
    "RecordedSet",
    "RecordedState",
    "read_rules",
    "recorded_sets",
    "snapshots_of",
    "stream_of",
]

RECORDINGS = Path(__file__).parents[1] / "transports" / "terminal" / "recordings"


class RecordedState(msgspec.Struct, frozen=True, kw_only=True):
    """A labelled place in a stream; see the recordings' README."""

    stream: int
    offset: int
    state: Literal["running", "idle", "needs_input", "gone", ""] = ""
    kind: str = ""
    osc7501: str | None = None
    error_kept: bool = False
    background: bool = False
    queued: bool = False
    retrying: bool = False
    draft: bool = False


class RecordedSet(msgspec.Struct, frozen=True, kw_only=True):
    """A set of states of one harness, at one size, on one kind of terminal."""

    harness: str
    terminal: Literal["answering", "tmux", "made"]
    columns: int
    rows: int
    states: dict[str, RecordedState]
    name: str = ""

    @property
    def size(self) -> ScreenSize:
        """The size of its screen."""
        return ScreenSize(rows=self.rows, columns=self.columns)


@functools.cache
def recorded_sets(harness: str) -> tuple[RecordedSet, ...]:
    """All sets of a harness."""
    return tuple(
        msgspec.structs.replace(msgspec.json.decode(path.read_bytes(), type=RecordedSet), name=path.stem)
        for path in sorted((RECORDINGS / harness).glob("*.json"))
    )


def stream_of(recorded: RecordedSet, number: int) -> bytes:
    """The bytes of one stream."""
    return lzma.decompress((RECORDINGS / recorded.harness / f"{recorded.name}.{number}.raw.xz").read_bytes())


@functools.cache
def snapshots_of(harness: str) -> dict[str, Snapshot]:
    """The screen of every state, by `<set>/<state>`."""
    seen: dict[str, Snapshot] = {}
    for recorded in recorded_sets(harness):
        for number in {state.stream for state in recorded.states.values()}:
            stream, at = stream_of(recorded, number), 0
            screen = open_screen(recorded.size)
            places = sorted(
                (state.offset, name) for name, state in recorded.states.items() if state.stream == number
            )
            for offset, name in places:
                screen.feed(stream[at:offset])
                at = offset
                seen[f"{recorded.name}/{name}"] = screen.snapshot()
            screen.close()
    return seen


@functools.cache
def read_rules(harness: str) -> ScreenRules:
    """The rules of a harness's console."""
    folder = Path(inspan.harnesses.__path__[0]) / harness
    return msgspec.toml.decode((folder / "terminal-rules.toml").read_bytes(), type=ScreenRules)
