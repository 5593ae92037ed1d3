"""Views of a seat's settings and questions: what was asked for, beside what the harness says is in force."""

from __future__ import annotations

from inspan.model.evidence import Source
from inspan.model.permission import NeedsInputKind
from inspan.model.session_views import SettingView
from inspan.model.state import SeatState, Setting
from inspan.model.views import NeedsInput

__all__ = ["note_settings", "show_questions", "show_settings"]

_MODE = "session mode"


def show_settings(state: SeatState) -> tuple[SettingView, ...]:
    """What was asked for of the session, each with what is in force as far as the harness says."""
    return tuple(_show(state, one) for one in state.settings)


def show_questions(state: SeatState) -> tuple[NeedsInput, ...]:
    """The open questions as what a person owes an answer to."""
    return tuple(
        NeedsInput(
            kind=NeedsInputKind.QUESTION,
            summary=one.message,
            source=Source.PROTOCOL,
            request=one.request,
            opened_at=one.opened_at,
            expires_at=one.expires_at,
        )
        for one in state.questions
    )


def note_settings(state: SeatState) -> tuple[str, ...]:
    """Where what is in force is not what was asked for, or is not known."""
    notes: list[str] = []
    for one in show_settings(state):
        match one.status:
            case "differs":
                notes.append(f"{one.name}: {one.wanted} was asked for, and {one.effective} is in force.")
            case "accepted":
                notes.append(
                    f"{one.name}: the harness accepted {one.wanted}, and did not say what is in force."
                )
            case "refused":
                why = "" if one.error is None else f" {one.error.message}"
                notes.append(f"{one.name}: the harness refused {one.wanted}.{why}")
            case "requested":
                notes.append(f"{one.name}: {one.wanted} was asked for, and not answered yet.")
            case "effective":
                pass
    return tuple(notes)


def _show(state: SeatState, one: Setting) -> SettingView:
    effective = state.session_mode if one.option is None else _written(state.config_values.get(one.option))
    if one.answer == "refused":
        status = "refused"
    elif effective == one.value:
        status = "effective"
    elif one.answer == "none":
        status = "requested"
    else:
        status = "accepted" if effective is None else "differs"
    return SettingView(
        name=_MODE if one.option is None else one.option,
        wanted=one.value,
        status=status,
        by=one.by,
        effective=effective,
        option=one.option,
        error=one.error,
    )


def _written(value: object) -> str | None:
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)
