"""Views of a seat that is seen through its console: what is believed, and what a person owes."""

from __future__ import annotations

from datetime import datetime

from inspan.model.capability import Capabilities
from inspan.model.console import ConsoleJudged
from inspan.model.console_views import ConsoleView
from inspan.model.evidence import Source
from inspan.model.permission import NeedsInputKind
from inspan.model.state import SeatState
from inspan.model.views import ActivityView, NeedsInput

__all__ = ["console_status", "show_console", "show_console_activity", "show_console_needs"]

_SEEN = (Source.SCREEN, Source.TITLE)
"""Sources that rest on the rules of a manifest, so that its capabilities say how far they go."""

_OWED = {
    NeedsInputKind.PERMISSION: "it asks for permission",
    NeedsInputKind.QUESTION: "it asks a question",
    NeedsInputKind.PLAN: "it wants its plan approved",
    NeedsInputKind.TRUST: "it asks whether this folder or its hooks are trusted",
    NeedsInputKind.LOGIN: "it wants a sign-in",
    NeedsInputKind.UPDATE: "it offers an update",
    NeedsInputKind.LIMIT: "a usage limit wants a decision",
}


def show_console_activity(
    state: SeatState, console: ConsoleJudged, capabilities: Capabilities, now: datetime
) -> ActivityView:
    """What is believed of the session, and why.

    What is seen to wait is believed whatever the manifest says. That it works, or is idle, is believed of what
    was seen only where the manifest says that both are told: a mode without an approval signal may be waiting.
    """
    believed = state.activity
    age_s = None if believed.at is None else max(0.0, (now - believed.at).total_seconds())
    value, why = believed.value, _why(console, believed.source)
    if console.activity == "needs_input":
        value = "waiting"
    elif believed.source in _SEEN and not capabilities.activity.is_supported:
        value, why = "unknown", "this mode does not report when work begins and ends"
    elif believed.source in _SEEN and value != "unknown" and not capabilities.permission_report.is_supported:
        value, why = "unknown", f"{value} was seen, but this mode does not report when it waits for an answer"
    return ActivityView(
        value=value, source=believed.source, rule=believed.rule, at=believed.at, age_s=age_s, why=why
    )


def show_console_needs(state: SeatState) -> tuple[NeedsInput, ...]:
    """What the console waits for, where it does."""
    console = state.console
    if console is None:
        return ()
    needs: list[NeedsInput] = []
    if console.activity == "needs_input" and not state.permissions:
        needs.append(
            NeedsInput(
                kind=console.kind or NeedsInputKind.QUESTION,
                summary=_summary(console),
                source=state.activity.source,
                opened_at=state.waiting_since,
            )
        )
    needs += [
        NeedsInput(
            kind=work.kind or NeedsInputKind.QUESTION,
            summary=f"in the background: {work.title or work.id}",
            source=Source.PROGRAM_STATUS,
            opened_at=work.at,
        )
        for work in console.background
        if work.activity == "needs_input"
    ]
    return tuple(needs)


def console_status(state: SeatState, activity: ActivityView) -> str | None:
    """The one word for lists, where a console is seen: what it waits for comes before that it is not ready."""
    if state.console is None:
        return None
    if activity.value == "waiting":
        return "needs_input"
    launch = state.live_launch
    if activity.value == "unknown" and launch is not None and launch.status != "ready":
        return "starting"
    return activity.value


def show_console(state: SeatState, *, viewers: int = 0, has_writer: bool = False) -> ConsoleView | None:
    """What is believed beside the activity."""
    console = state.console
    if console is None:
        return None
    return ConsoleView(
        is_ready=console.is_ready,
        readiness=console.readiness,
        gate=console.gate,
        is_drawn=console.is_drawn,
        error=console.error,
        signs=console.signs,
        background=console.background,
        lost=console.lost,
        viewers=viewers,
        has_writer=has_writer,
    )


def _summary(console: ConsoleJudged) -> str:
    first = next((line.strip() for line in console.evidence.splitlines() if line.strip()), "")
    if console.gate is not None:
        return f"the dialog {console.gate} is up" + (f": {first}" if first else "")
    return first or (_OWED[console.kind] if console.kind is not None else "it waits for a person")


def _why(console: ConsoleJudged, source: Source) -> str:
    error = console.error
    match console.activity:
        case "needs_input":
            return _OWED[console.kind] if console.kind is not None else "it waits for a person"
        case "idle" if error is not None:
            what = error.code or "an error"
            when = f", until {error.resets}" if error.resets else ""
            return f"its last turn ended with {what}{when}"
        case "running" if error is not None:
            return f"it works on, after {error.code or 'an error'}"
        case "running" | "idle":
            return f"the {source.replace('_', ' ')} says so"
        case "unknown" if console.readiness and source is Source.PROCESS:
            return console.readiness
        case "unknown":
            return "nothing that is known of this console is seen"
