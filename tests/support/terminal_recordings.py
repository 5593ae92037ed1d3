"""The recordings of the built-in harnesses' consoles, as snapshots of their states and as streams of bytes."""

from __future__ import annotations

import functools
from pathlib import Path

import inspan.harnesses
from inspan.conformance.console_fixtures import (
    ConsoleSet,
    ConsoleState,
    read_sets,
    streams_of,
)
from inspan.conformance.console_fixtures import snapshots_of as snapshots_of_sets
from inspan.model.screen_rules import ScreenRules
from inspan.plugin.screen_rules_file import read_screen_rules
from inspan.transports.terminal.screen import Snapshot

__all__ = ["RecordedSet", "RecordedState", "read_rules", "recorded_sets", "snapshots_of", "stream_of"]

RecordedSet = ConsoleSet
RecordedState = ConsoleState


@functools.cache
def recorded_sets(harness: str) -> tuple[ConsoleSet, ...]:
    """All sets of a harness."""
    return read_sets(_folder(harness))


def stream_of(recorded: ConsoleSet, number: int | None) -> bytes:
    """The bytes of one stream."""
    for stream, states in streams_of(recorded):
        if any(state.stream == number for state in states.values()):
            return stream
    raise KeyError(number)


@functools.cache
def snapshots_of(harness: str) -> dict[str, Snapshot]:
    """The screen of every state, by `<set>/<state>`."""
    return snapshots_of_sets(recorded_sets(harness))


@functools.cache
def read_rules(harness: str) -> ScreenRules:
    """The rules of a harness's console."""
    return read_screen_rules(_folder(harness) / "terminal-rules.toml")


def _folder(harness: str) -> Path:
    return Path(inspan.harnesses.__path__[0]) / harness
