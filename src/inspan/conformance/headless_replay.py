"""Replay of a recorded one-shot run: what the `headless` transport says of it."""

from __future__ import annotations

import re
from pathlib import Path

from inspan.model.errors import ManifestError
from inspan.model.manifest import ModeManifest
from inspan.model.plan import TransportSettings
from inspan.model.reports import PromptAnswered, PromptStarted, Reported, SessionReady
from inspan.model.turn import TurnOutcome
from inspan.transports.headless import HeadlessMachine
from inspan.transports.machine import HarnessEnd

from .replay import Replay, ReplayedReport, ReplayedTurn

__all__ = ["SUMMARY_FILE", "replay_headless"]

SUMMARY_FILE = "summary.txt"
"""Beside the recordings: one line a run, with its name and its exit status as `rc=N`."""

_DELIVERY = "1"
_STOPPED = 124
"""The exit status by which the recorder notes that it stopped the run itself."""


def replay_headless(path: Path, mode: ModeManifest) -> Replay:
    """Plays a recorded run to the `headless` transport. Nothing is started.

    Args:
        path: What the harness wrote to its standard output, as `NAME.out`; `NAME.err` beside it is its standard
            error, and `summary.txt` holds its exit status. A name that begins with `resume` is a resumed run.
        mode: The mode whose rules are used.

    Raises:
        ManifestError: `recording_invalid`.
    """
    try:
        output = path.read_bytes()
        errors = path.with_suffix(".err")
        tail = errors.read_text(encoding="utf-8", errors="replace") if errors.is_file() else ""
        status = _exit_status(path)
    except OSError as error:
        raise ManifestError(
            f"{path} cannot be read ({error.strerror}).",
            code="recording_invalid",
            hint="Name what a run wrote to its standard output, as NAME.out.",
        ) from error
    settings = TransportSettings(
        workspace="/",
        attempt="resume" if path.stem.startswith("resume") else "fresh",
        headless=mode.headless,
        reads_last_words=bool(mode.turn_text_failures),
    )
    machine = HeadlessMachine(settings)
    reports: list[tuple[int, Reported]] = [(0, one) for one in machine.start().reports]
    machine.prompt(_DELIVERY, "")
    number = 0
    for number, line in enumerate(output.splitlines(keepends=True), start=1):
        reports += [(number, one) for one in machine.feed(line).reports]
    last = max(number, 1)
    reports += [(last, one) for one in machine.finish().reports]
    is_stopped = status is None or status == _STOPPED
    end = HarnessEnd(signal=15) if is_stopped else HarnessEnd(exit_code=status, stderr_tail=tail)
    reports += [(last, one) for one in machine.end(end).reports]
    return _replay(path.stem, reports)


def _replay(phase: str, reports: list[tuple[int, Reported]]) -> Replay:
    answered = next(((line, one.body) for line, one in reports if isinstance(one.body, PromptAnswered)), None)
    is_started = any(isinstance(one.body, PromptStarted) for _, one in reports)
    turn = ReplayedTurn(
        line=1,
        phase=phase,
        launch=1,
        delivery=_DELIVERY,
        outcome=TurnOutcome.LOST,
        raw_reason="",
        started=is_started,
    )
    if answered is not None:
        line, body = answered
        turn = ReplayedTurn(
            line=1,
            phase=phase,
            launch=1,
            delivery=_DELIVERY,
            outcome=body.outcome,
            raw_reason=body.raw_reason,
            started=is_started,
            declined=body.declined,
            error=body.error,
            usage=body.usage,
            answered_line=line,
            last_words=body.last_words,
            model_wrote=body.model_wrote,
        )
    sessions = (one.body.session_id for _, one in reports if isinstance(one.body, SessionReady))
    return Replay(
        launches=1,
        reports=tuple(
            ReplayedReport(line=line, at_s=0.0, phase=phase, launch=1, report=one) for line, one in reports
        ),
        sessions=tuple(dict.fromkeys(sessions)),
        turns=(turn,),
        permissions=(),
    )


def _exit_status(path: Path) -> int | None:
    """The exit status that `summary.txt` holds for this run; `None` where it holds none."""
    summary = path.with_name(SUMMARY_FILE)
    if not summary.is_file():
        return None
    for line in summary.read_text(encoding="utf-8").splitlines():
        words = line.partition("|")[0].split()
        if path.stem in words and (found := re.search(r"\brc=(\d{1,3})\b", line)):
            return int(found[1])
    return None
