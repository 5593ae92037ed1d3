"""Replaying a recording: the reports that a harness's transport makes of it, without daemon or harness."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import msgspec

from inspan.conformance.replay import replay_recording
from inspan.host.registry import HarnessRegistry
from inspan.model.errors import UsageError
from inspan.model.plan import TransportSettings

from .context import Context

__all__ = ["replay"]


def replay(context: Context, harness: str, recording: str, *, mode: str | None = None) -> int:
    """Prints one JSON line a report, and last one with `summary`.

    Raises:
        UsageError: `unknown_harness`, `unknown_mode`.
        ManifestError: `recording_invalid`, or the manifest cannot be read.
    """
    played = replay_recording(Path(recording), _settings(context, harness, mode))
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


def _settings(context: Context, harness: str, mode: str | None) -> TransportSettings:
    manifest = HarnessRegistry(context.home.path).manifest(harness)
    name = mode or manifest.default_mode
    if name not in manifest.modes:
        raise UsageError(
            f"The harness {harness!r} has no mode {name!r}.",
            code="unknown_mode",
            hint=f"It has: {', '.join(manifest.modes)}.",
        )
    found = manifest.modes[name]
    return TransportSettings(
        workspace=str(Path.cwd()), acp=found.acp, reads_last_words=bool(found.turn_text_failures)
    )
