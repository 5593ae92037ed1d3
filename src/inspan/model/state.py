"""Seat state: what a seat is, folded from its events.

`evolve` is pure: the state after an event depends on the state before it and on the event alone. The decider,
the projections and a rebuild all use it, so that they cannot disagree.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from .content import CommandsUpdated, ConfigUpdated, ModeUpdated, SessionInfoUpdated, UsageUpdated
from .delivery import FINAL_DELIVERY_STATES, DeliveryState, HeldReason
from .events import (
    CancelRequested,
    DeliveryFailed,
    DeliveryHeld,
    DeliveryQueued,
    DeliveryRefused,
    DeliverySending,
    DeliverySent,
    DeliveryStarted,
    DeliveryUnknown,
    EventDraft,
    LaunchConnected,
    LaunchEnded,
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
)
from .evidence import Source
from .permission import PermissionOption, ToolCall
from .posture import Posture
from .session import IdentityState, ResumeOutcome, SessionReference
from .turn import CallError, TurnOutcome, Usage

__all__ = [
    "Activity",
    "InFlight",
    "LastTurn",
    "LaunchState",
    "OpenPermission",
    "QueuedPrompt",
    "SeatState",
    "evolve",
]


class QueuedPrompt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A prompt that was not sent yet. `held` says why it waits for a person."""

    delivery: str
    text: str
    queued_at: datetime
    held: HeldReason | None = None


class InFlight(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The one prompt that may be with the harness, and its open turn.

    `text` is kept until the prompt was certainly written, so that an unwritten one can return to the queue.
    """

    delivery: str
    turn: str
    text: str
    state: DeliveryState
    queued_at: datetime
    begun_at: datetime
    cancel_requested: bool = False


class OpenPermission(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A permission request that nobody answered yet."""

    request: str
    wire_id: str
    turn: str | None
    tool_call: ToolCall
    options: tuple[PermissionOption, ...]
    opened_at: datetime
    expires_at: datetime | None = None


class LastTurn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the newest turn ended; kept while the seat is idle, with its error."""

    turn: str
    delivery: str
    outcome: TurnOutcome
    ended_at: datetime
    begun_at: datetime | None = None
    raw_reason: str = ""
    error: CallError | None = None
    usage: Usage | None = None


class Activity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is believed of the session, and why; the default is `unknown`, and nothing decays to `idle`."""

    value: Literal["unknown", "running", "idle"] = "unknown"
    source: Source = Source.CORE
    rule: str = "default"
    at: datetime | None = None


class LaunchState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The newest launch.

    Attributes:
        id: Its id.
        status: `requested` (decided), `starting` (a holder is being started), `connecting` (its handshake
            runs), `ready` (a session is open), `stopping`, `ended`.
        attempt: Fresh or resume.
        reference: The session to resume.
        nonce: The secret that proves who may own it.
        directory: Its folder.
        program: The program.
        arguments: Its arguments.
        transport: The transport.
        pid: The harness's process id.
        holder_pid: The holder's process id.
        harness_name: The name that the harness gives itself.
        harness_version: The version that it gives itself.
        offers: Abilities of this very process.
        begun_at: When it was decided.
        reason: Why it ended.
        exit_code: The exit status.
        signal: The signal that ended it.
        error: What failed.
        stderr_tail: Its last words.
        stopped_by: Who asked for its end, if anybody did.
    """

    id: str
    status: Literal["requested", "starting", "connecting", "ready", "stopping", "ended"]
    attempt: Literal["fresh", "resume"]
    begun_at: datetime
    reference: SessionReference | None = None
    nonce: str = ""
    directory: str = ""
    program: str = ""
    arguments: tuple[str, ...] = ()
    transport: str = ""
    pid: int | None = None
    holder_pid: int | None = None
    harness_name: str = ""
    harness_version: str = ""
    protocol_version: int | None = None
    offers: tuple[str, ...] = ()
    reason: str = ""
    exit_code: int | None = None
    signal: int | None = None
    error: CallError | None = None
    stderr_tail: str = ""
    stopped_by: Literal["", "operator", "core"] = ""

    @property
    def is_live(self) -> bool:
        """Whether it has not ended yet."""
        return self.status != "ended"


class SeatState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A seat.

    Attributes:
        name: Its name.
        harness: The harness's id.
        mode: The mode.
        workspace: Absolute path.
        posture: What it may do unasked.
        environment: Variables that the operator set; values are secrets.
        model: The model that the operator asked for: configured, not observed.
        added_at: When it was made.
        removed: Whether it was removed.
        launch: The newest launch, live or ended.
        session: The conversation that the seat holds on to, across launches.
        session_open: Whether it is open in the live launch.
        identity: What is known of the conversation.
        resume_outcome: What came of the newest attempt to resume; anything but `resumed` waits for a person.
        queue: Prompts that were not sent yet, in order.
        in_flight: The one that may be with the harness.
        permissions: Open permission requests, in order.
        last_turn: How the newest turn ended.
        activity: What is believed of the session.
        session_mode: The session mode that the harness says is in force: observed, not configured.
        config_values: The session options that the harness says are in force.
        commands: Names of the commands that the session offers.
        usage: How full the context is.
        title: The session's title.
        turns: How many turns were begun.
    """

    name: str
    harness: str
    mode: str
    workspace: str
    posture: Posture
    added_at: datetime
    environment: dict[str, str] = {}
    model: str | None = None
    removed: bool = False
    launch: LaunchState | None = None
    session: SessionReference | None = None
    session_open: bool = False
    identity: IdentityState = IdentityState.NOT_YET
    resume_outcome: ResumeOutcome | None = None
    queue: tuple[QueuedPrompt, ...] = ()
    in_flight: InFlight | None = None
    permissions: tuple[OpenPermission, ...] = ()
    last_turn: LastTurn | None = None
    activity: Activity = Activity()
    session_mode: str | None = None
    config_values: dict[str, object] = {}
    commands: tuple[str, ...] = ()
    usage: UsageUpdated | None = None
    title: str | None = None
    turns: int = 0

    @property
    def live_launch(self) -> LaunchState | None:
        """The launch that has not ended, if there is one."""
        return self.launch if self.launch is not None and self.launch.is_live else None


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
        )
    if state is None:
        raise ValueError(f"the first event of a seat is SeatAdded, not {type(event).__name__}")
    is_history = draft.launch is not None and (state.launch is None or draft.launch != state.launch.id)
    if is_history and not isinstance(event, LaunchRequested):
        return state
    match event:
        case SeatRemoved():
            return _set(state, removed=True)
        case LaunchRequested() | LaunchStarting() | LaunchStarted() | LaunchConnected():
            return _evolve_launch(state, draft)
        case SessionOpened() | SessionOpenFailed() | StopRequested() | LaunchEnded():
            return _evolve_launch(state, draft)
        case (
            DeliveryQueued()
            | DeliveryHeld()
            | DeliverySending()
            | DeliverySent()
            | DeliveryStarted()
            | DeliveryRefused()
            | DeliveryFailed()
            | DeliveryUnknown()
            | TurnEnded()
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
            return state if len(rest) == len(state.permissions) else _set(state, permissions=rest)
        case ModeUpdated():
            return _set(state, session_mode=event.current)
        case ConfigUpdated():
            return _set(state, config_values={**state.config_values, **event.values})
        case CommandsUpdated():
            return _set(state, commands=event.names)
        case UsageUpdated():
            return state if event.replay else _set(state, usage=event)
        case SessionInfoUpdated(title=title):
            return state if title is None else _set(state, title=title)
        case _:
            return state


def _evolve_launch(state: SeatState, draft: EventDraft) -> SeatState:
    event = draft.event
    launch = state.launch
    if isinstance(event, LaunchRequested):
        return _set(
            state,
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
            session=state.session if event.attempt == "resume" else None,
            identity=IdentityState.KNOWN if event.attempt == "resume" else IdentityState.NOT_YET,
            queue=tuple(_set(p, held=None) for p in state.queue),
            session_mode=None,
            config_values={},
            commands=(),
            usage=None,
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
        case SessionOpened():
            return _set(
                state,
                launch=_set(launch, status="ready" if launch.status == "connecting" else launch.status),
                session=event.reference,
                session_open=True,
                identity=IdentityState.KNOWN,
                resume_outcome=ResumeOutcome.RESUMED if launch.attempt == "resume" else None,
                activity=_believe(draft, "idle"),
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
                activity=_believe(draft, "unknown"),
            )
        case _:
            return state


def _evolve_turn(state: SeatState, draft: EventDraft) -> SeatState:
    event = draft.event
    flight = state.in_flight
    match event:
        case DeliveryQueued():
            prompt = QueuedPrompt(delivery=event.delivery, text=event.text, queued_at=draft.at)
            return _set(state, queue=(*state.queue, prompt))
        case DeliveryHeld():
            if flight is not None and flight.delivery == event.delivery:
                back = QueuedPrompt(
                    delivery=flight.delivery, text=flight.text, queued_at=flight.queued_at, held=event.why
                )
                return _set(state, in_flight=None, queue=(back, *state.queue), turns=state.turns - 1)
            return _set(
                state,
                queue=tuple(
                    _set(p, held=event.why) if p.delivery == event.delivery else p for p in state.queue
                ),
            )
        case DeliverySending():
            prompt = next((p for p in state.queue if p.delivery == event.delivery), None)
            if prompt is None:
                return state
            return _set(
                state,
                queue=tuple(p for p in state.queue if p.delivery != event.delivery),
                in_flight=InFlight(
                    delivery=event.delivery,
                    turn=event.turn,
                    text=prompt.text,
                    state=DeliveryState.SENDING,
                    queued_at=prompt.queued_at,
                    begun_at=draft.at,
                ),
                activity=_believe(draft, "running"),
                turns=state.turns + 1,
            )
        case DeliverySent():
            return _advance(state, event.delivery, DeliveryState.SENT)
        case DeliveryStarted():
            moved = _advance(state, event.delivery, DeliveryState.STARTED)
            return moved if moved is state else _set(moved, activity=_believe(draft, "running"))
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
                ),
                activity=_believe(
                    draft, "idle" if draft.source is Source.PROTOCOL and state.session_open else "unknown"
                ),
            )
        case CancelRequested():
            if flight is None or flight.turn != event.turn:
                return state
            return _set(state, in_flight=_set(flight, cancel_requested=True))
        case _:
            return state


def _advance(state: SeatState, delivery: str, to: DeliveryState) -> SeatState:
    flight = state.in_flight
    if flight is None or flight.delivery != delivery or flight.state is to:
        return state
    if flight.state in FINAL_DELIVERY_STATES:
        return state
    return _set(state, in_flight=_set(flight, state=to))


def _believe(draft: EventDraft, value: Literal["unknown", "running", "idle"]) -> Activity:
    return Activity(value=value, source=draft.source, rule=draft.rule, at=draft.at)
