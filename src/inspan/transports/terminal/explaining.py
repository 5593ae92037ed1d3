"""Explaining a console: its screen and its reasons, as views."""

from __future__ import annotations

from datetime import datetime

from inspan.model.console_views import (
    ClaimWeighed,
    ConsoleExplanation,
    CursorView,
    RuleTried,
    ScreenView,
    StatusRecordView,
)

from .arbitration import Considered
from .console import Console
from .screen import Snapshot

__all__ = ["explain_console", "show_screen"]


def show_screen(console: Console, *, seat: str, scrollback: int = 0) -> ScreenView:
    """What is shown now, with so many of the rows above it."""
    shown = console.snapshot()
    return ScreenView(
        seat=seat,
        columns=shown.size.columns,
        rows=shown.size.rows,
        lines=shown.lines,
        cursor=CursorView(
            row=shown.cursor.row, column=shown.cursor.column, is_visible=shown.cursor.is_visible
        ),
        title=shown.title or "",
        progress=_progress(shown),
        is_alternate=bool(shown.is_alternate),
        modes=tuple(sorted(shown.modes or ())),
        keyboard_flags=shown.keyboard_flags or 0,
        bells=shown.bells or 0,
        scrollback=console.scrollback(scrollback) if scrollback else (),
    )


def explain_console(console: Console, *, now: datetime) -> ConsoleExplanation:
    """Every claim, rule and record; what only core knows is left out."""
    explained = console.explain(now=now)
    return ConsoleExplanation(
        claims=tuple(_weighed(one, now) for one in explained.verdict.considered),
        rules=tuple(
            RuleTried(
                rule=trial.rule,
                report=trial.report,
                priority=trial.priority,
                has_matched=trial.has_matched,
                why=trial.why,
                region=trial.region,
            )
            for trial in explained.reading.trials
        ),
        records=tuple(
            StatusRecordView(
                id=record.report.id,
                state=record.report.state,
                at=record.at,
                kind=record.report.kind or "",
                title=record.report.title,
                message=record.report.message,
            )
            for record in explained.records.records.values()
        ),
        suspended=explained.reading.suspended,
        discarded_reports=explained.discarded_reports,
        last_discard=explained.last_discard,
        was_asked=explained.was_asked,
    )


def _weighed(one: Considered, now: datetime) -> ClaimWeighed:
    claim = one.claim
    return ClaimWeighed(
        source=claim.source,
        rule=claim.rule,
        says=claim.activity,
        outcome=one.outcome,
        reason=one.reason,
        at=claim.at,
        age_s=max(0.0, (now - claim.at).total_seconds()),
        kind=claim.kind,
        gate=claim.gate,
        evidence=claim.evidence,
    )


def _progress(shown: Snapshot) -> str:
    if shown.progress is None:
        return ""
    percent = shown.progress.percent
    return shown.progress.state if percent is None else f"{shown.progress.state} {percent} %"
