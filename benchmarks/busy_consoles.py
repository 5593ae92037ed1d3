"""Busy consoles: what the built-in harnesses wrote while they were recorded, as streams of a steady rate."""

from __future__ import annotations

from importlib import resources
from itertools import cycle, islice
from pathlib import Path

import msgspec

from inspan.conformance.console_fixtures import read_sets, streams_of
from inspan.model.screen_rules import ScreenRules
from inspan.plugin.screen_rules_file import read_screen_rules
from inspan.transports.terminal.screen import ScreenSize

__all__ = ["BYTES_PER_SECOND", "SIZE", "BusyConsole", "read_consoles"]

SIZE = ScreenSize(rows=50, columns=200)
BYTES_PER_SECOND = 30_000
PIECE_BYTES = 1000
LEAST_BYTES = 100_000
"""Of a harness whose recordings are shorter nothing can be said."""


class BusyConsole(msgspec.Struct, frozen=True, kw_only=True):
    """One console that writes without a pause.

    Attributes:
        rules: How it is read.
        pieces: What it writes, in the order and the pieces in which a pty gives it; an equal time lies between two.
    """

    rules: ScreenRules
    pieces: tuple[bytes, ...]


def read_consoles(*, seconds: float) -> list[BusyConsole]:
    """One console for each harness with long recordings, each of that many seconds."""
    found: list[BusyConsole] = []
    for folder in sorted(Path(str(resources.files("inspan.harnesses"))).iterdir()):
        file = folder / "terminal-rules.toml"
        if not file.is_file():
            continue
        streams = [stream for one in read_sets(folder) if one.columns >= 120 for stream, _ in streams_of(one)]
        written = b"".join(streams)
        if len(written) < LEAST_BYTES:
            continue
        size_bytes = int(BYTES_PER_SECOND * seconds)
        whole = bytes(islice(cycle(written), size_bytes))
        pieces = tuple(whole[at : at + PIECE_BYTES] for at in range(0, size_bytes, PIECE_BYTES))
        found.append(BusyConsole(rules=read_screen_rules(file), pieces=pieces))
    return found
