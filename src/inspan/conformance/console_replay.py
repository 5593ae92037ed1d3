"""Replaying the bytes of a console: every change of its state, by the rules of its mode, without a harness."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from inspan.model.manifest import ModeManifest
from inspan.model.screen_rules import ScreenRules
from inspan.transports.terminal.replaying import StateChange, replay_console
from inspan.transports.terminal.screen import ScreenSize

from .console_fixtures import read_bytes

__all__ = ["is_console_recording", "replay_console_file"]

SUFFIXES = (".raw", ".raw.xz")
NO_RULES = ScreenRules(schema=1, source="none", verified="never", rules=())


def is_console_recording(file: Path) -> bool:
    """Whether a file, by its name, holds the bytes of a console."""
    return file.name.endswith(SUFFIXES)


def replay_console_file(
    file: Path, mode: ModeManifest, *, columns: int, rows: int
) -> Iterator[dict[str, object]]:
    """One JSON object for every change of state, and at the end the final state once more.

    Each has `state`, `kind`, `rule` and `evidence`: `kind` names what a person owes, or the error that is kept
    beside another state (`limited`, `auth_required`, …), or is `null`. What else is known follows them.

    Args:
        file: The bytes, from the start of the program on; packed (`.xz`) or not.
        mode: A mode in a terminal.
        columns: Width of the terminal.
        rows: Height of the terminal.

    Raises:
        UsageError: No terminal has this size.
        ManifestError: `recording_invalid`, or a rule cannot be used.
    """
    data = read_bytes(file)
    size = ScreenSize(rows=rows, columns=columns)
    for change in replay_console(data, size=size, rules=mode.terminal.rules or NO_RULES):
        yield _shown(change)


def _shown(change: StateChange) -> dict[str, object]:
    kind = change.kind or change.error or ("retrying" if "retrying" in change.signs else None)
    shown: dict[str, object] = {
        "state": change.state,
        "kind": kind,
        "rule": change.rule,
        "evidence": change.evidence or _words(change),
        "source": str(change.source),
        "offset": change.offset,
    }
    more: dict[str, object] = {
        "gate": change.gate,
        "error": change.error,
        "error_rule": change.error_rule,
        "message": change.message,
        "resets": change.resets,
        "signs": list(change.signs),
        "final": change.is_last,
    }
    return shown | {name: value for name, value in more.items() if value}


def _words(change: StateChange) -> str:
    """What stands for the evidence of a claim that quotes no text of the screen."""
    source, _, said = change.rule.partition(".")
    if change.state == "unknown":
        return "nothing that is known was seen"
    if source != "program_status":
        return f"{change.source} said so"
    state, _, kind = said.partition(".")
    return f"OSC 7501 state={state}" + (f" kind={kind}" if kind else "")
