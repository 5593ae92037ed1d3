"""Replaying a recording: what a harness's transport makes of it, without daemon or harness.

A wire log gives reports, the bytes of a console give changes of state.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import msgspec

from inspan.conformance.console_replay import is_console_recording, replay_console_file
from inspan.conformance.outcomes import replay_in_mode
from inspan.host.registry import HarnessRegistry
from inspan.model.errors import UsageError
from inspan.model.manifest import ModeManifest

from .context import Context

__all__ = ["replay"]

DEFAULT_SIZE = (120, 40)
"""Columns and rows of a console, where nobody says."""


def replay(
    context: Context, harness: str, recording: str, *, mode: str | None = None, size: str | None = None
) -> int:
    """Prints one JSON line a report, and last one with `summary`; of a console, one a change of state.

    Args:
        context: Where to write, and the home whose harnesses are meant.
        harness: The harness's id.
        recording: The file; one whose name ends with `.raw` holds the bytes of a console.
        mode: The mode it was recorded in.
        size: The size of the console, as COLSxROWS.

    Raises:
        UsageError: `unknown_harness`, `unknown_mode`, or a size that is none.
        ManifestError: `recording_invalid`, or the manifest or its screen rules cannot be read.
    """
    file = Path(recording)
    if size is not None or (mode is None and is_console_recording(file)):
        return _replay_console(context, file, _mode(context, harness, mode, transport="terminal"), size)
    known = _mode(context, harness, mode)
    if known.transport == "terminal":
        return _replay_console(context, file, known, size)
    played = replay_in_mode(file, known)
    for report in played.reports:
        context.output.value(msgspec.to_builtins(report))
    counts = cast("dict[str, object]", msgspec.to_builtins(played.summary()))
    summary = {
        "turns": msgspec.to_builtins(played.turns),
        "sessions": list(played.sessions),
        "permissions": msgspec.to_builtins(played.permissions),
        "counts": counts,
    }
    context.output.value({"summary": summary})
    return 0


def _replay_console(context: Context, file: Path, mode: ModeManifest, size: str | None) -> int:
    columns, rows = _size(size)
    for line in replay_console_file(file, mode, columns=columns, rows=rows):
        context.output.value(line)
    return 0


def _size(text: str | None) -> tuple[int, int]:
    if text is None:
        return DEFAULT_SIZE
    found = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text)
    if found is None:
        raise UsageError(f"The size {text!r} is none.", hint="Give it as COLSxROWS, such as 80x24.")
    return int(found[1]), int(found[2])


def _mode(context: Context, harness: str, mode: str | None, *, transport: str | None = None) -> ModeManifest:
    """The mode of this name; without one the manifest's, or the first over `transport`."""
    manifest = HarnessRegistry(context.home.path).manifest(harness)
    fitting = [name for name, one in manifest.modes.items() if transport in (None, one.transport)]
    if not fitting:
        raise UsageError(
            f"{manifest.name} has no mode over the transport {transport!r}.",
            code="unknown_mode",
            hint=f"It has: {', '.join(manifest.modes)}.",
        )
    name = mode or (manifest.default_mode if transport is None else fitting[0])
    if name not in manifest.modes:
        raise UsageError(
            f"The harness {harness!r} has no mode {name!r}.",
            code="unknown_mode",
            hint=f"It has: {', '.join(manifest.modes)}.",
        )
    if name not in fitting:
        raise UsageError(
            f"The mode {name!r} of {manifest.name} is none in a terminal.",
            hint=f"Leave --size out, or name one of: {', '.join(fitting)}.",
        )
    return manifest.modes[name]
