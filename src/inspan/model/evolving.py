"""Evolving: the state of a seat after an event.

`evolve` is pure: the state after an event depends on the state before it and on the event alone. The decider,
the projections and a rebuild all use it, so that they cannot disagree.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .attention import AttentionRaised, add_attention
from .console import ConsoleJudged
from .content import (
    CommandsUpdated,
    ConfigUpdated,
    ErrorReported,
    MessageChunk,
    ModeUpdated,
    Retrying,
    SessionInfoUpdated,
    ToolCallUpdated,
    UsageUpdated,
)
from .delivery import FINAL_DELIVERY_STATES, DeliveryState
from .events import (
    CancelRequested,
    DeliveryAccepted,
    DeliveryFailed,
    DeliveryHeld,
    DeliveryQueued,
    DeliveryRefused,
    DeliveryRendered,
    DeliverySending,
    DeliverySent,
    DeliveryStarted,
    DeliveryUnknown,
    EventDraft,
    LaunchConnected,
    LaunchEnded,
    LaunchReady,
    LaunchRequested,
    LaunchStarted,
    LaunchStarting,
    PermissionAnswered,
    PermissionOpened,
    SeatAdded,
    SeatRemoved,
    SessionOpened,
    SessionOpenFailed,
    StopRequested,
    TurnEnded,
    TurnWentQuiet,
)
from .evidence import Source
from .permission import AnsweredBy, Decision
from .session import IdentityState, ResumeOutcome
from .session_evolving import evolve_conversation, forget_launch
from .state import Activity, InFlight, LastTurn, LaunchState, OpenPermission, QueuedPrompt, SeatState
from .stuck_evolving import after_end, at_launch, note_shown, note_told, note_work, release, stick
from .turn_events import QueueReleased, TurnStuck

__all__ = ["GUIDANCE_RULE", "evolve"]

GUIDANCE_RULE = "guidance.first_turn"
"""The rule by which a seat's guidance is queued."""

_set = msgspec.structs.replace


def evolve(state: SeatState | None, draft: EventDraft) -> SeatState:
    """The state after `draft`.

    Args:
        state: The state before; `None` only for `SeatAdded`, which begins (or begins again) a seat.
        draft: An event of this seat. Events of a launch that is not the newest are history: they change
            neither identity, activity, queue nor the open turn.

    Returns:
        The new state, or `state` itself where nothing changed.
    """
    event = draft.event
    if isinstance(event, SeatAdded):
        return SeatState(
            name=draft.seat,
            harness=event.harness,
            mode=event.mode,
            workspace=event.workspace,
            posture=event.posture,
            added_at=draft.at,
            environment=event.environment,
            model=event.model,
            effort=event.effort,
            trusts_workspace=event.trusts_workspace,
            guidance=event.guidance,
            axes=event.axes,
            config=event.config,
            shares=event.shares,
            forwards_auth=event.forwards_auth,
            clean_environment=event.clean_environment,
        )
    if state is None:
        raise ValueError(f"the first event of a seat is SeatAdded, not {type(event).__name__}")
    is_history = draft.launch is not None and (state.launch is None or draft.launch != state.launch.id)
    if is_history and not isinstance(event, LaunchRequested):
        return state
    state = _hear(state, draft)
    match event:
        # What comes most stands first: each case is a look at the class.
        case MessageChunk() | ToolCallUpdated():
            return state if event.replay else note_work(state)
        case SeatRemoved():
            return _set(state, removed=True)
        case LaunchRequested() | LaunchStarting() | LaunchStarted() | LaunchConnected() | LaunchReady():
            return _evolve_launch(state, draft)
        case SessionOpened() | SessionOpenFailed() | StopRequested() | LaunchEnded():
            return _evolve_launch(state, draft)
        case (
            DeliveryQueued()
            | DeliveryHeld()
            | DeliverySending()
            | DeliverySent()
            | DeliveryAccepted()
            | DeliveryRendered()
            | DeliveryStarted()
            | DeliveryRefused()
            | DeliveryFailed()
            | DeliveryUnknown()
            | TurnEnded()
            | TurnWentQuiet()
            | CancelRequested()
        ):
            return _evolve_turn(state, draft)
        case PermissionOpened():
            opened = OpenPermission(
                request=event.request,
                wire_id=event.wire_id,
                turn=draft.turn,
                tool_call=event.tool_call,
                options=event.options,
                opened_at=draft.at,
                expires_at=event.expires_at,
            )
            return _set(state, permissions=(*state.permissions, opened))
        case PermissionAnswered():
            rest = tuple(p for p in state.permissions if p.request != event.request)
            is_trust = event.by is AnsweredBy.POLICY and event.decision is Decision.ALLOW
            if is_trust and state.launch is not None:
                state = _set(state, launch=_set(state.launch, is_trusted=True))
            return state if len(rest) == len(state.permissions) else _set(state, permissions=rest)
        case ModeUpdated():
            offered = event.available or state.offered_modes
            return _set(state, session_mode=event.current, offered_modes=offered)
        case ConfigUpdated():
            return _set(state, config_values={**state.config_values, **event.values})
        case CommandsUpdated():
            return _set(state, commands=event.names)
        case Retrying():
            told = note_told(state, draft, event)
            return state if event.replay or state.in_flight is None else _set(told, retrying=event)
        case ErrorReported():
            return note_told(state, draft, event)
        case TurnStuck():
            return stick(state, draft, event)
        case QueueReleased():
            return release(state, event)
        case AttentionRaised():
            return _set(state, attention=add_attention(state.attention, event, draft.at))
        case UsageUpdated():
            return state if event.replay else _set(state, usage=event)
        case ConsoleJudged():
            return note_shown(_evolve_console(state, draft, event), draft, event)
        case SessionInfoUpdated(title=title):
            return state if title is None else _set(state, title=title)
        case _:
            return evolve_conversation(state, draft)


def _hear(state: SeatState, draft: EventDraft) -> SeatState:
    """A word of the harness in its open turn ends the quiet."""
    flight = state.in_flight
    if flight is None or flight.quiet_at is None or draft.source is not Source.PROTOCOL:
        return state
    return state if draft.turn != flight.turn else _set(state, in_flight=_set(flight, quiet_at=None))


def _evolve_launch(state: SeatState, draft: EventDraft) -> SeatState:
    event = draft.event
    launch = state.launch
    if isinstance(event, LaunchRequested):
        # A conversation that was chosen becomes the seat's own once it is open.
        resumed = state.session if event.attempt == "resume" else None
        queue, stuck = at_launch(state, event.by)
        # Another conversation takes the place of the one that was guided.
        is_new = event.attempt == "fresh" and state.session is not None
        return _set(
            state,
            is_guided=state.is_guided and not is_new,
            launch=LaunchState(
                id=event.launch,
                status="requested",
                attempt=event.attempt,
                begun_at=draft.at,
                reference=event.reference,
            ),
            session_open=False,
            resume_outcome=None,
            activity=_believe(draft, "unknown"),
            session=resumed,
            identity=IdentityState.NOT_YET if resumed is None else IdentityState.KNOWN,
            questions=(),
            settings=forget_launch(state.settings),
            offered_modes=(),
            offered_options=(),
            queue=queue,
            stuck=stuck,
            session_mode=None,
            config_values={},
            commands=(),
            usage=None,
            retrying=None,
            console=None,
            waiting_since=None,
        )
    if launch is None:
        return state
    match event:
        case LaunchStarting():
            return _set(
                state,
                launch=_set(
                    launch,
                    status="starting",
                    nonce=event.nonce,
                    directory=event.directory,
                    program=event.program,
                    arguments=event.arguments,
                    transport=event.transport,
                ),
            )
        case LaunchStarted():
            status = "connecting" if launch.status == "starting" else launch.status
            return _set(state, launch=_set(launch, status=status, pid=event.pid, holder_pid=event.holder_pid))
        case LaunchConnected():
            return _set(
                state,
                launch=_set(
                    launch,
                    harness_name=event.harness_name,
                    harness_version=event.harness_version,
                    protocol_version=event.protocol_version,
                    offers=event.offers,
                ),
            )
        case LaunchReady():
            ready = "ready" if launch.status == "connecting" else launch.status
            # That a prompt may be typed into a console does not say that nothing goes on in it.
            activity = state.activity if state.console is not None else _believe(draft, "idle")
            return _set(state, launch=_set(launch, status=ready), activity=activity)
        case SessionOpened():
            # A one-shot run names its session in the middle of its turn: that ends no work.
            is_working = state.in_flight is not None or state.console is not None
            return _set(
                state,
                launch=_set(launch, status="ready" if launch.status == "connecting" else launch.status),
                session=event.reference,
                session_open=True,
                fork_of=None,
                identity=IdentityState.KNOWN,
                resume_outcome=ResumeOutcome.RESUMED if launch.attempt == "resume" else None,
                activity=state.activity if is_working else _believe(draft, "idle"),
            )
        case SessionOpenFailed():
            return _set(
                state,
                launch=_set(launch, error=event.error),
                resume_outcome=event.outcome,
                activity=_believe(draft, "unknown"),
            )
        case StopRequested():
            error = event.error or launch.error
            return _set(state, launch=_set(launch, status="stopping", error=error, stopped_by=event.by))
        case LaunchEnded():
            return _set(
                state,
                launch=_set(
                    launch,
                    status="ended",
                    reason=event.reason,
                    exit_code=event.exit_code,
                    signal=event.signal,
                    error=event.error,
                    stderr_tail=event.stderr_tail,
                ),
                session_open=False,
                permissions=(),
                questions=(),
                retrying=None,
                console=None,
                waiting_since=None,
                activity=_after_launch(state, draft, is_done=event.reason == "done"),
            )
        case _:
            return state


def _evolve_turn(state: SeatState, draft: EventDraft) -> SeatState:
    event = draft.event
    flight = state.in_flight
    match event:
        case DeliveryQueued():
            prompt = QueuedPrompt(
                delivery=event.delivery,
                text=event.text,
                queued_at=draft.at,
                request=event.request,
                is_urgent=event.is_urgent,
                override=event.override,
            )
            is_guided = state.is_guided or draft.rule == GUIDANCE_RULE
            return _set(state, queue=(*state.queue, prompt), is_guided=is_guided)
        case DeliveryHeld():
            if flight is not None and flight.delivery == event.delivery:
                back = QueuedPrompt(
                    delivery=flight.delivery,
                    text=flight.text,
                    queued_at=flight.queued_at,
                    held=event.why,
                    held_until=event.until,
                    request=flight.request,
                    is_urgent=flight.is_urgent,
                    override=flight.override,
                )
                return _set(
                    _count_prompt(state, -1),
                    in_flight=None,
                    queue=(back, *state.queue),
                    turns=state.turns - 1,
                )
            return _set(
                state,
                queue=tuple(
                    _set(p, held=event.why, held_until=event.until) if p.delivery == event.delivery else p
                    for p in state.queue
                ),
            )
        case DeliverySending():
            prompt = next((p for p in state.queue if p.delivery == event.delivery), None)
            if prompt is None:
                return state
            return _set(
                _count_prompt(state, 1),
                queue=tuple(p for p in state.queue if p.delivery != event.delivery),
                in_flight=InFlight(
                    delivery=event.delivery,
                    turn=event.turn,
                    text=prompt.text,
                    state=DeliveryState.SENDING,
                    queued_at=prompt.queued_at,
                    begun_at=draft.at,
                    request=prompt.request,
                    is_urgent=prompt.is_urgent,
                    override=prompt.override,
                    shown_before=None if state.console is None else state.console.error,
                ),
                activity=_unless_seen(state, draft, "running"),
                attention=(),
                turns=state.turns + 1,
            )
        case DeliverySent():
            return _advance(state, event.delivery, DeliveryState.SENT)
        case DeliveryAccepted():
            return _advance(state, event.delivery, DeliveryState.ACCEPTED)
        case DeliveryRendered():
            return _advance(state, event.delivery, DeliveryState.RENDERED)
        case DeliveryStarted():
            moved = _advance(state, event.delivery, DeliveryState.STARTED)
            return moved if moved is state else _set(moved, activity=_unless_seen(moved, draft, "running"))
        case DeliveryRefused() | DeliveryFailed() | DeliveryUnknown():
            states: dict[type, DeliveryState] = {
                DeliveryRefused: DeliveryState.REFUSED,
                DeliveryFailed: DeliveryState.FAILED,
                DeliveryUnknown: DeliveryState.UNKNOWN,
            }
            moved = _advance(state, event.delivery, states[type(event)])
            return _set(moved, queue=tuple(p for p in state.queue if p.delivery != event.delivery))
        case TurnEnded():
            if flight is None or flight.turn != event.turn:
                return state
            return _set(
                state,
                in_flight=None,
                last_turn=LastTurn(
                    turn=event.turn,
                    delivery=event.delivery,
                    outcome=event.outcome,
                    ended_at=draft.at,
                    begun_at=flight.begun_at,
                    raw_reason=event.raw_reason,
                    error=event.error,
                    usage=event.usage,
                    doubt=event.doubt,
                ),
                retrying=None,
                stuck=after_end(state, event.outcome),
                activity=_unless_seen(
                    state,
                    draft,
                    "idle" if draft.source is Source.PROTOCOL and state.session_open else "unknown",
                ),
            )
        case TurnWentQuiet():
            if flight is None or flight.turn != event.turn:
                return state
            return _set(state, in_flight=_set(flight, quiet_at=draft.at))
        case CancelRequested():
            if flight is None or flight.turn != event.turn:
                return state
            return _set(state, in_flight=_set(flight, cancel_requested=True))
        case _:
            return state


def _count_prompt(state: SeatState, more: int) -> SeatState:
    launch = state.launch
    return state if launch is None else _set(state, launch=_set(launch, prompts=launch.prompts + more))


def _after_launch(state: SeatState, draft: EventDraft, *, is_done: bool) -> Activity:
    """A one-shot run that is done leaves its seat idle; any other end says nothing of the conversation."""
    if not is_done:
        return _believe(draft, "unknown")
    return state.activity if state.activity.value == "idle" else _believe(draft, "idle")


def _advance(state: SeatState, delivery: str, to: DeliveryState) -> SeatState:
    flight = state.in_flight
    if flight is None or flight.delivery != delivery or flight.state is to:
        return state
    if flight.state in FINAL_DELIVERY_STATES:
        return state
    return _set(state, in_flight=_set(flight, state=to))


def _evolve_console(state: SeatState, draft: EventDraft, event: ConsoleJudged) -> SeatState:
    match event.activity:
        case "running" | "idle":
            activity = _believe(draft, event.activity)
        case "unknown" | "needs_input":
            activity = _believe(draft, "unknown")
    before = state.console
    is_waiting = event.activity == "needs_input"
    is_same = before is not None and (before.activity, before.kind, before.gate) == (
        event.activity,
        event.kind,
        event.gate,
    )
    since = (state.waiting_since if is_same else draft.at) if is_waiting else None
    return _set(
        state,
        console=event,
        activity=_set(activity, at=event.at or draft.at),
        waiting_since=since,
    )


def _unless_seen(
    state: SeatState, draft: EventDraft, value: Literal["unknown", "running", "idle"]
) -> Activity:
    """What follows for the activity, where no console shows it: what is seen there stands until something else is."""
    return state.activity if state.console is not None else _believe(draft, value)


def _believe(draft: EventDraft, value: Literal["unknown", "running", "idle"]) -> Activity:
    return Activity(value=value, source=draft.source, rule=draft.rule, at=draft.at)
