"""Replaying: a recording of a console, byte for byte through the whole path, as the changes of its state.

A recording has no times, so a clock is made up that runs with the bytes: nothing in it grows old.
"""

from __future__ import annotations

import re
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

__all__ = ["STEP_BYTES", "StateChange", "replay_console", "steps_of"]

STEP_BYTES = 256
"""How many bytes are shown between two looks."""
STEP = timedelta(milliseconds=1)
FRAME_END = b"\x1b[?2026l"
WRAP_OFF = b"\x1b[?7l"
WRAP_ON = b"\x1b[?7h"
ERASURE = re.compile(rb"(?:\x1b\[\d*[ABG])*(?:\x1b\[2K\x1b\[1A){2,}")
"""Rows erased one after the other, from the last to the first, as a program does that draws its part again."""
OTHER_SCREEN = b"\x1b[?1049h"
MAX_FRAME = 8 * 1024
"""The longest frame after an erasure, in bytes, that is waited for."""
MAX_UNWRAPPED = 4096
"""The longest frame without wrapping: some programs switch it off for good."""
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
        for begin, end, is_whole in steps_of(data, step_bytes):
            now += STEP
            console.feed(data[begin:end], at=now)
            if not is_whole:
                continue
            change = _change(console.look(now=now), offset=end)
            if before is None or _differs(change, before):
                before = change
                yield change
        yield msgspec.structs.replace(_change(console.look(now=now), offset=len(data)), is_last=True)
    finally:
        console.close()


def steps_of(data: bytes, step_bytes: int = STEP_BYTES) -> Iterator[tuple[int, int, bool]]:
    """Where to stop, and whether to look there: every so many bytes, and wherever a frame has just been drawn.

    Programs without synchronized updates draw a frame by erasing their rows and writing them again, or with
    wrapping off. In between the screen is nobody's: it is looked at before the next frame begins.
    """
    erasures = [found.start() for found in ERASURE.finditer(data)]
    begin, at, unwrapped_at = 0, 0, -MAX_UNWRAPPED
    while begin < len(data):
        end = min(begin + step_bytes, len(data))
        for mark in (FRAME_END, WRAP_ON):
            drawn = data.find(mark, begin, end + len(mark) - 1)
            end = drawn + len(mark) if drawn >= 0 else end
        while at < len(erasures) and erasures[at] <= begin:
            at += 1
        end = min(end, erasures[at]) if at < len(erasures) else end
        on, off = (data.rfind(mark, max(0, begin - len(mark) + 1), end) for mark in (WRAP_ON, WRAP_OFF))
        if max(on, off) >= 0:
            unwrapped_at = off if off > on else -MAX_UNWRAPPED
        erased_at = erasures[at - 1] if at > 0 else -MAX_FRAME
        is_erased = end - erased_at < MAX_FRAME and end not in erasures[at : at + 1]
        if is_erased and data.find(OTHER_SCREEN, erased_at, end) >= 0:
            is_erased = False
        yield begin, end, not is_erased and end - unwrapped_at >= MAX_UNWRAPPED
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
