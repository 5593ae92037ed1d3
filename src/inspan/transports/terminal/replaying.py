"""Replaying: a recording of a console, byte for byte through the whole path, as the changes of its state.

A recording has no times, so a clock is made up that runs with the bytes: nothing in it grows old.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec

from inspan.model.diagnosis import DiagnosisCode
from inspan.model.evidence import Source
from inspan.model.permission import NeedsInputKind
from inspan.model.screen_rules import Gate, ScreenRules, Sign

from .arbitration import Verdict
from .console import Console
from .screen import ScreenSize

__all__ = ["STEP_BYTES", "StateChange", "replay_console"]

STEP_BYTES = 256
"""How many bytes are shown between two looks."""
STEP = timedelta(milliseconds=1)
FRAME_END = b"\x1b[?2026l"
BEGIN = datetime(2000, 1, 1, tzinfo=UTC)


class StateChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state from here on.

    Attributes:
        state: What is believed.
        rule: The rule that is believed.
        source: Its source.
        offset: After how many bytes.
        kind: What a person owes.
        gate: Which gate is up.
        error: What the error is that is kept.
        error_rule: The rule that named it; empty where the program said so itself.
        message: The harness's words for it; a secret in logs.
        resets: When a limit ends, in the harness's words.
        signs: What is seen beside the state.
        evidence: The text that was matched.
        is_last: Nothing comes after it.
    """

    state: Literal["running", "idle", "needs_input", "unknown"]
    rule: str
    source: Source
    offset: int
    kind: NeedsInputKind | None = None
    gate: Gate | None = None
    error: DiagnosisCode | None = None
    error_rule: str = ""
    message: str = ""
    resets: str = ""
    signs: tuple[Sign, ...] = ()
    evidence: str = ""
    is_last: bool = False


def replay_console(
    data: bytes, *, size: ScreenSize, rules: ScreenRules, step_bytes: int = STEP_BYTES
) -> Iterator[StateChange]:
    """Every change of state in a recording, and at its end the last state once more, marked as such.

    Raises:
        ManifestError: A rule cannot be used.
    """
    console = Console(size, rules=rules)
    before: StateChange | None = None
    now = BEGIN
    try:
        for begin, end in _steps(data, step_bytes):
            now += STEP
            console.feed(data[begin:end], at=now)
            change = _change(console.look(now=now), offset=end)
            if before is None or _differs(change, before):
                before = change
                yield change
        yield msgspec.structs.replace(_change(console.look(now=now), offset=len(data)), is_last=True)
    finally:
        console.close()


def _steps(data: bytes, step_bytes: int) -> Iterator[tuple[int, int]]:
    """Where to stop and look: every so many bytes, and wherever a synchronized update has just been drawn."""
    begin = 0
    while begin < len(data):
        end = min(begin + step_bytes, len(data))
        drawn = data.find(FRAME_END, begin, end + len(FRAME_END) - 1)
        end = drawn + len(FRAME_END) if drawn >= 0 else end
        yield begin, end
        begin = end


def _change(verdict: Verdict, *, offset: int) -> StateChange:
    believed = verdict.considered[0].claim if verdict.considered and verdict.at is not None else None
    return StateChange(
        state=verdict.activity,
        rule=verdict.rule,
        source=verdict.source,
        offset=offset,
        kind=verdict.kind,
        gate=verdict.gate,
        error=(verdict.error.code or "call_failed") if verdict.error is not None else None,
        error_rule=verdict.error.rule if verdict.error is not None else "",
        message=verdict.error.message if verdict.error is not None else "",
        resets=verdict.error.resets if verdict.error is not None else "",
        signs=verdict.signs,
        evidence="" if believed is None else believed.evidence,
    )


def _differs(one: StateChange, other: StateChange) -> bool:
    """Whether the state is another one, whoever says so."""
    return (one.state, one.kind, one.gate, one.error, one.signs) != (
        other.state,
        other.kind,
        other.gate,
        other.error,
        other.signs,
    )
