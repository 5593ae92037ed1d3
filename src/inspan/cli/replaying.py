"""Replaying a recording: the reports that a harness's transport makes of it, without daemon or harness."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import msgspec

from inspan.conformance.outcomes import replay_in_mode
from inspan.host.registry import HarnessRegistry
from inspan.model.errors import UsageError
from inspan.model.manifest import ModeManifest

from .context import Context

__all__ = ["replay"]


def replay(context: Context, harness: str, recording: str, *, mode: str | None = None) -> int:
    """Prints one JSON line a report, and last one with `summary`.

    Raises:
        UsageError: `unknown_harness`, `unknown_mode`.
        ManifestError: `recording_invalid`, or the manifest cannot be read.
    """
    played = replay_in_mode(Path(recording), _mode(context, harness, mode))
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


def _mode(context: Context, harness: str, mode: str | None) -> ModeManifest:
    manifest = HarnessRegistry(context.home.path).manifest(harness)
    name = mode or manifest.default_mode
    if name not in manifest.modes:
        raise UsageError(
            f"The harness {harness!r} has no mode {name!r}.",
            code="unknown_mode",
            hint=f"It has: {', '.join(manifest.modes)}.",
        )
    return manifest.modes[name]
