"""Views of a seat: what people are shown, derived from its state and from what its mode can report."""

from __future__ import annotations

from datetime import datetime

from inspan.model.capability import Capabilities
from inspan.model.delivery import FUTILE_REASONS, DeliveryState, HeldReason
from inspan.model.evidence import AUTHORITY, Source
from inspan.model.permission import NeedsInputKind
from inspan.model.plan import Problem
from inspan.model.session import IdentityState
from inspan.model.state import LastTurn, LaunchState, OpenPermission, SeatState
from inspan.model.views import (
    ActivityView,
    DeliveryView,
    EvidenceLine,
    ExplainView,
    LaunchView,
    NeedsInput,
    SeatView,
    SessionView,
    TurnView,
    UsageView,
)

from .console_view import console_status, show_console, show_console_activity, show_console_needs
from .session_view import note_settings, show_questions, show_settings
from .stuck_view import note_held, note_stuck_turn

__all__ = ["HarnessFacts", "explain_seat", "held_hint", "show_activity", "show_seat", "show_usage"]


class HarnessFacts:
    """What a view needs to know of the seat's harness.

    Args:
        name: Its name, for people.
        scripted: Whether it is a scripted stand-in.
        capabilities: What the seat's mode can do.
        problem: Why it cannot be used, where it cannot.
    """

    def __init__(
        self,
        *,
        name: str,
        capabilities: Capabilities,
        scripted: bool = False,
        problem: Problem | None = None,
    ) -> None:
        self.name = name
        self.scripted = scripted
        self.capabilities = capabilities
        self.problem = problem


def show_activity(state: SeatState, capabilities: Capabilities, now: datetime) -> ActivityView:
    """What is believed of the session, and why.

    A mode that does not report when work begins and ends is `unknown`. So is a mode in which work is seen but
    a wait for an answer would not be: such a seat may be waiting for a person.
    """
    believed = state.activity
    age_s = None if believed.at is None else max(0.0, (now - believed.at).total_seconds())
    if state.console is not None and state.live_launch is not None:
        return show_console_activity(state, state.console, capabilities, now)
    if state.permissions:
        oldest = state.permissions[0]
        return ActivityView(
            value="waiting",
            source=Source.PROTOCOL,
            rule="permission.open",
            at=oldest.opened_at,
            age_s=max(0.0, (now - oldest.opened_at).total_seconds()),
            why="the harness asked for permission and waits for the answer",
        )
    if state.questions:
        oldest = state.questions[0]
        return ActivityView(
            value="waiting",
            source=Source.PROTOCOL,
            rule="question.open",
            at=oldest.opened_at,
            age_s=max(0.0, (now - oldest.opened_at).total_seconds()),
            why="the harness wants a form filled in and waits for the answer",
        )
    if state.live_launch is None and _is_done(state):
        return ActivityView(
            value=believed.value,
            source=believed.source,
            rule=believed.rule,
            at=believed.at,
            age_s=age_s,
            why=_why(state),
        )
    if state.live_launch is None:
        return ActivityView(
            value="unknown",
            source=believed.source,
            rule=believed.rule,
            at=believed.at,
            age_s=age_s,
            why="no harness runs",
        )
    value, why = believed.value, _why(state)
    if not capabilities.activity.is_supported:
        value, why = "unknown", "this mode does not report when work begins and ends"
    elif value == "running" and state.in_flight is not None and state.in_flight.quiet_at is not None:
        value, why = (
            "unknown",
            "its turn is open, but nothing was heard of it for longer than the mode's limit",
        )
    elif value == "running" and not capabilities.permission_report.is_supported:
        value, why = "unknown", "work was seen, but this mode does not report when it waits for an answer"
    return ActivityView(
        value=value, source=believed.source, rule=believed.rule, at=believed.at, age_s=age_s, why=why
    )


def show_usage(state: SeatState, capabilities: Capabilities) -> UsageView:
    """How full the context is, or why that is not known."""
    if state.usage is not None:
        usage = state.usage
        percent = usage.percent
        if percent is None and usage.used is not None and usage.size:
            percent = 100 * usage.used // usage.size
        return UsageView(
            status="reported", used=usage.used, size=usage.size, percent=percent, source=usage.source
        )
    match capabilities.context_usage.support:
        case "supported":
            return UsageView(status="not_yet")
        case "unsupported":
            return UsageView(status="unsupported")
        case _:
            return UsageView(status="unknown")


def show_seat(state: SeatState, facts: HarnessFacts, now: datetime) -> SeatView:
    """The whole view."""
    activity = show_activity(state, facts.capabilities, now)
    needs = _show_needs(state)
    queue = tuple(
        DeliveryView(
            id=p.delivery,
            seat=state.name,
            state=DeliveryState.HELD if p.held is not None else DeliveryState.QUEUED,
            queued_at=p.queued_at,
            text=p.text,
            held=p.held,
            held_until=p.held_until,
            ahead=index,
            hint="" if p.held is None else held_hint(state.name, p.held),
        )
        for index, p in enumerate(state.queue)
    )
    return SeatView(
        name=state.name,
        harness=state.harness,
        harness_name=facts.name,
        scripted=facts.scripted,
        mode=state.mode,
        workspace=state.workspace,
        posture=state.posture,
        status=_status(state, facts, activity),
        activity=activity,
        needs_input=needs,
        session=_show_session(state),
        queue=queue,
        in_flight=_show_flight(state),
        last_turn=None if state.last_turn is None else _show_turn(state.name, state.last_turn),
        turns=state.turns,
        launch=None if state.launch is None else _show_launch(state.launch),
        usage=show_usage(state, facts.capabilities),
        environment=tuple(sorted(state.environment)),
        model=state.model,
        effort=state.effort,
        trusts_workspace=state.trusts_workspace,
        guidance_chars=len(state.guidance),
        axes=state.axes,
        clean_environment=state.clean_environment,
        problem=facts.problem,
        console=show_console(state),
        attention=state.attention,
    )


def explain_seat(state: SeatState, facts: HarnessFacts, now: datetime, *, attached: bool) -> ExplainView:
    """Every piece of evidence, the strongest first, and which of them decided.

    Args:
        state: The seat.
        facts: Its harness.
        now: The time.
        attached: Whether this daemon is connected to the launch's holder.
    """
    activity = show_activity(state, facts.capabilities, now)
    lines: list[EvidenceLine] = [
        EvidenceLine(
            source=Source.PROTOCOL if state.console is None else Source.SCREEN,
            rule="permission.open",
            says=f"needs input: permission {p.request} for {p.tool_call.title or p.tool_call.id}",
            authority=AUTHORITY[Source.PROTOCOL if state.console is None else Source.SCREEN],
            at=p.opened_at,
            age_s=max(0.0, (now - p.opened_at).total_seconds()),
            won=index == 0,
        )
        for index, p in enumerate(state.permissions)
    ]
    lines += [
        EvidenceLine(
            source=Source.PROTOCOL,
            rule="question.open",
            says=f"needs input: question {one.request}: {one.message}",
            authority=AUTHORITY[Source.PROTOCOL],
            at=one.opened_at,
            age_s=max(0.0, (now - one.opened_at).total_seconds()),
            won=index == 0 and not state.permissions,
        )
        for index, one in enumerate(state.questions)
    ]
    believed, says = state.activity, f"activity: {state.activity.value}"
    is_waiting = activity.value == "waiting" and not lines
    if is_waiting:
        # A console was seen to wait for a person, which is no activity of its own.
        says = f"needs input: {', '.join(one.kind for one in _show_needs(state))}"
    lines.append(
        EvidenceLine(
            source=believed.source,
            rule=believed.rule,
            says=says,
            authority=AUTHORITY[believed.source],
            at=believed.at,
            age_s=None if believed.at is None else max(0.0, (now - believed.at).total_seconds()),
            won=is_waiting
            or (activity.value == believed.value and not (state.permissions or state.questions)),
        )
    )
    launch = state.launch
    if launch is not None:
        alive = launch.is_live and attached
        lines.append(
            EvidenceLine(
                source=Source.PROCESS,
                rule="holder.attached" if alive else "launch." + (launch.reason or launch.status),
                says=_process_says(launch, attached=attached),
                authority=AUTHORITY[Source.PROCESS],
            )
        )
    lines.append(
        EvidenceLine(
            source=Source.CORE,
            rule="default",
            says="activity: unknown; nothing decays to idle",
            authority=AUTHORITY[Source.CORE],
            won=not any(line.won for line in lines),
        )
    )
    return ExplainView(
        seat=state.name,
        status=_status(state, facts, activity),
        activity=activity,
        evidence=tuple(lines),
        needs_input=_show_needs(state),
        notes=_notes(state, facts),
    )


def held_hint(seat: str, why: HeldReason) -> str:
    """The next thing to do about a prompt that waits."""
    match why:
        case HeldReason.AWAITING_DECISION:
            return (
                f"`inspan start {seat}` tries to resume the conversation, "
                f"`inspan start {seat} --fresh` begins a new one."
            )
        case HeldReason.DRAFT:
            return (
                f"Somebody's text stands in its input line, or something covers it: `inspan attach {seat}`, and "
                "submit, remove or close it."
            )
        case HeldReason.FOREGROUND:
            return f"Another program has its terminal: `inspan attach {seat}` shows it."
        case HeldReason.PERSON_TYPING:
            return "A person who is attached is typing; it follows by itself."
        case HeldReason.NOT_READY | HeldReason.BUSY:
            return "It follows by itself, once the console is ready."
        case HeldReason.ACTIVITY_UNKNOWN:
            return f"`inspan explain {seat}` shows why; `inspan send {seat} --override REASON` types all the same."
        case HeldReason.NEEDS_INPUT:
            return (
                f"`inspan permissions {seat}` shows what it waits for; where nothing is listed, "
                f"`inspan attach {seat}` and answer or close its dialog."
            )
        case HeldReason.LIMITED:
            return (
                f"Once the limit has ended, `inspan release {seat}` sends it; it goes on by itself where the harness "
                "told the time."
            )
        case HeldReason.AUTH_REQUIRED:
            return f"Sign in, then `inspan release {seat}` sends it; some harnesses must be stopped first to notice."
        case HeldReason.STUCK:
            return f"`inspan explain {seat}` shows why; `inspan release {seat}` tries it again."
        case _:
            return f"`inspan start {seat}` starts the harness again and sends it."


def _why(state: SeatState) -> str:
    if state.in_flight is not None and state.retrying is not None:
        at = state.retrying.retry_at
        when = "" if at is None else f" at {at:%H:%M:%S} UTC"
        return f"the harness waits and will try again{when}"
    if state.in_flight is not None:
        return f"a prompt is with the harness ({state.in_flight.state})"
    if state.last_turn is not None and state.activity.value == "idle":
        return f"its last turn {state.last_turn.outcome}"
    if state.activity.value == "idle":
        return "its session is open, and no turn was begun yet"
    return "nothing reliable was said yet"


def _status(state: SeatState, facts: HarnessFacts, activity: ActivityView) -> str:
    launch = state.live_launch
    if launch is None:
        if facts.problem is not None:
            return "unavailable"
        if any(p.held is not None for p in state.queue):
            return "held"
        if state.launch is None or state.launch.reason == "stopped":
            return "stopped"
        if _is_done(state):
            return activity.value
        return "failed" if state.launch.reason in ("failed", "never_started") else "exited"
    if facts.problem is not None and facts.problem.code == "internal":
        return "unknown"
    if launch.status == "stopping":
        return "stopping"
    if state.permissions or state.questions:
        return "needs_input"
    if activity.value == "idle" and any(p.held in FUTILE_REASONS for p in state.queue):
        return "held"
    seen = console_status(state, activity)
    if seen is not None:
        return seen
    if launch.status != "ready":
        return "starting"
    return activity.value


def _is_done(state: SeatState) -> bool:
    """Whether the newest launch was a one-shot run that came to its end: nothing is wrong, nothing runs."""
    return state.launch is not None and state.launch.reason == "done"


def _show_needs(state: SeatState) -> tuple[NeedsInput, ...]:
    return (
        *(_show_need(state, p) for p in state.permissions),
        *show_questions(state),
        *show_console_needs(state),
    )


def _show_need(state: SeatState, opened: OpenPermission) -> NeedsInput:
    console = state.console
    return NeedsInput(
        kind=(console.kind if console is not None else None) or NeedsInputKind.PERMISSION,
        summary=opened.tool_call.title or opened.tool_call.kind or opened.tool_call.id,
        source=Source.PROTOCOL if console is None else Source.SCREEN,
        request=opened.request,
        opened_at=opened.opened_at,
        expires_at=opened.expires_at,
    )


def _show_session(state: SeatState) -> SessionView:
    known = state.session
    return SessionView(
        identity=state.identity,
        open=state.session_open,
        id=None if known is None else known.id,
        resume_type=None if known is None else known.resume_type,
        provenance=None if known is None else known.provenance,
        resume_outcome=state.resume_outcome,
        mode=state.session_mode,
        config=dict(state.config_values),
        settings=show_settings(state),
        offered_modes=state.offered_modes,
        offered_options=state.offered_options,
        forks=state.parent,
        title=state.title,
    )


def _show_flight(state: SeatState) -> DeliveryView | None:
    flight = state.in_flight
    if flight is None:
        return None
    return DeliveryView(
        id=flight.delivery,
        seat=state.name,
        state=flight.state,
        queued_at=flight.queued_at,
        text=flight.text,
        turn=flight.turn,
    )


def _show_turn(seat: str, last: LastTurn) -> TurnView:
    return TurnView(
        id=last.turn,
        seat=seat,
        delivery=last.delivery,
        begun_at=last.begun_at or last.ended_at,
        outcome=last.outcome,
        ended_at=last.ended_at,
        raw_reason=last.raw_reason,
        error=last.error,
        usage=last.usage,
        doubt=last.doubt,
    )


def _show_launch(launch: LaunchState) -> LaunchView:
    return LaunchView(
        id=launch.id,
        status=launch.status,
        attempt=launch.attempt,
        begun_at=launch.begun_at,
        program=launch.program,
        arguments=launch.arguments,
        pid=launch.pid,
        harness_name=launch.harness_name,
        harness_version=launch.harness_version,
        reason=launch.reason,
        exit_code=launch.exit_code,
        signal=launch.signal,
        error=launch.error,
        stderr_tail=launch.stderr_tail,
    )


def _process_says(launch: LaunchState, *, attached: bool) -> str:
    if not launch.is_live:
        return f"the launch ended: {launch.reason}"
    if attached:
        return f"the harness runs under its holder (process {launch.pid})"
    return "the holder was not reached yet"


def _notes(state: SeatState, facts: HarnessFacts) -> tuple[str, ...]:
    notes: list[str] = []
    if facts.problem is not None:
        notes.append(facts.problem.message)
    if state.session is None and state.identity is IdentityState.AMBIGUOUS:
        notes.append(
            "Several sessions could be its conversation, so none is taken; "
            f"`inspan start {state.name} --session ID` names the right one."
        )
    if facts.scripted:
        notes.append("This harness is a scripted stand-in.")
    if not facts.capabilities.activity.is_supported:
        notes.append("The mode does not report when work begins and ends.")
    if not facts.capabilities.permission_report.is_supported:
        notes.append("The mode does not report when it waits for an answer.")
    if state.last_turn is not None and state.last_turn.error is not None:
        notes.append(f"The last turn kept an error: {state.last_turn.error.message}")
    if state.last_turn is not None and state.last_turn.doubt is not None:
        doubt = state.last_turn.doubt
        notes.append(f"The last turn's last words may be an error, or the model's own: {doubt.message}")
    return (*notes, *note_stuck_turn(state), *note_held(state), *note_settings(state))
