"""Events: durable facts in the past tense, and the envelope that carries them.

Records are never edited. A shape that must change gets a new version in `EVENT_VERSIONS` and an upcaster in
the store; a golden record of every shape is kept in the tests.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, get_args

import msgspec

from .attention import AttentionRaised
from .console import KeysPressed
from .content import Content
from .delivery import HeldReason
from .evidence import Source
from .permission import AnsweredBy, Decision, PermissionOption, ToolCall
from .posture import Posture
from .reports import AuthMethod
from .request_events import HandoffDeclared, HandoffFailed, RequestHandedOff, RequestSettled
from .seat_config import SharedConfig
from .session import OpenedHow, ResumeOutcome, SessionReference
from .session_events import (
    ConfigRequested,
    IdentityUnclear,
    QuestionAnswered,
    QuestionOpened,
    SeatForked,
    SessionCallGivenUp,
    SessionDeleteRequested,
    SessionsRequested,
)
from .turn import CallError, TurnOutcome, Usage
from .turn_events import DeliverySigned, QueueReleased, TurnCorrected, TurnStuck

__all__ = [
    "EVENT_VERSIONS",
    "CancelRequested",
    "DeliveryAccepted",
    "DeliveryFailed",
    "DeliveryHeld",
    "DeliveryQueued",
    "DeliveryRefused",
    "DeliveryRendered",
    "DeliverySending",
    "DeliverySent",
    "DeliveryStarted",
    "DeliveryUnknown",
    "Envelope",
    "Event",
    "EventDraft",
    "LaunchConnected",
    "LaunchEnded",
    "LaunchReady",
    "LaunchRequested",
    "LaunchStarted",
    "LaunchStarting",
    "PermissionAnswered",
    "PermissionOpened",
    "SeatAdded",
    "SeatRemoved",
    "SessionOpenFailed",
    "SessionOpened",
    "StopRequested",
    "TurnEnded",
    "TurnWentQuiet",
    "event_type",
]


class SeatAdded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="seat_added"):
    """A seat was made.

    Attributes:
        harness: The harness's id.
        mode: The way it is driven, a key of its manifest's `modes`.
        workspace: Absolute path.
        posture: What it may do unasked.
        environment: Variables that the operator set for this seat; values are secrets.
        model: The model that the operator asked for.
        effort: The effort that the operator asked for, in the harness's own words.
        trusts_workspace: The operator allows that a console's question whether the workspace is trusted is
            answered by itself, once a launch.
        guidance: What its harness is told as the first turn of a conversation; a secret in logs.
        axes: What else its launches are told, by the names in the mode's `axes`.
        config: The name of its own configuration folder; empty where it has the operator's.
        shares: What of the operator's configuration goes into that folder.
        forwards_auth: The harness is handed the variables that sign in.
        clean_environment: The harness inherits only what it is known to need.
    """

    harness: str
    mode: str
    workspace: str
    posture: Posture
    environment: dict[str, str] = {}
    model: str | None = None
    effort: str | None = None
    trusts_workspace: bool = False
    guidance: str = ""
    axes: dict[str, tuple[str, ...]] = {}
    config: str = ""
    shares: tuple[SharedConfig, ...] = ()
    forwards_auth: bool = False
    clean_environment: bool = False


class SeatRemoved(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="seat_removed"):
    """A seat was removed; its history stays in the log."""


class LaunchRequested(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="launch_requested"):
    """A launch was decided on.

    Attributes:
        launch: Its id.
        attempt: `fresh` opens a new session, `resume` the one in `reference`, `fork` a branch of it.
        reference: The session to resume or to fork.
        by: `operator`, `prompt` (a prompt found no harness running) or `stuck` (the one before was stuck).
    """

    launch: str
    attempt: Literal["fresh", "resume", "fork"]
    reference: SessionReference | None = None
    by: Literal["operator", "prompt", "stuck"] = "operator"


class LaunchStarting(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="launch_starting"):
    """The plan stands and a holder is about to be started: the intent.

    Attributes:
        launch: The launch.
        nonce: The secret that proves who may own it.
        directory: The launch's folder, with the holder's journal.
        program: Absolute path of the program.
        arguments: Its arguments, without the program.
        transport: The transport that will speak to it.
    """

    launch: str
    nonce: str
    directory: str
    program: str
    arguments: tuple[str, ...] = ()
    transport: str = "acp"


class LaunchStarted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="launch_started"):
    """The harness's process runs under its holder."""

    launch: str
    pid: int
    holder_pid: int


class LaunchConnected(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="launch_connected"):
    """The harness answered the handshake; fields as in `reports.Connected`."""

    launch: str
    protocol_version: int
    harness_name: str = ""
    harness_version: str = ""
    offers: tuple[str, ...] = ()
    auth_methods: tuple[AuthMethod, ...] = ()


class LaunchReady(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="launch_ready"):
    """The process takes a prompt before a session is known; `SessionOpened` may follow while it works."""

    launch: str


class SessionOpened(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="session_opened"):
    """A session is open: the one event by which a seat gets its identity."""

    launch: str
    reference: SessionReference
    how: OpenedHow


class SessionOpenFailed(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="session_open_failed"
):
    """No session was opened; nothing was started in its place."""

    launch: str
    outcome: ResumeOutcome
    error: CallError


class StopRequested(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="stop_requested"):
    """The harness is to be stopped, in steps.

    Attributes:
        launch: The launch.
        by: `operator`, `core` (`error` says why), or `cancel`: a one-shot run is cancelled by its end.
        error: Why core wants it.
    """

    launch: str
    by: Literal["operator", "core", "cancel"] = "operator"
    error: CallError | None = None


class LaunchEnded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="launch_ended"):
    """The launch is over.

    Attributes:
        launch: The launch.
        reason: `done` (a one-shot run that came to its end), `stopped` (asked for), `exit` (by itself),
            `holder_lost`, `never_started`, `failed` (the plan, the start or the handshake failed).
        exit_code: The exit status, where it was observed.
        signal: The signal's number, where one ended it.
        error: What failed.
        stderr_tail: The last lines that the harness wrote to its standard error.
    """

    launch: str
    reason: Literal["stopped", "exit", "holder_lost", "never_started", "failed", "done"]
    exit_code: int | None = None
    signal: int | None = None
    error: CallError | None = None
    stderr_tail: str = ""


class DeliveryQueued(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="delivery_queued"):
    """A prompt was accepted into the seat's queue. `text` is a secret in logs.

    `request` is the request that it is an attempt at; empty where it is none. `is_urgent`: a console that works
    is typed into all the same. `override`: why its operator says that it is to be typed though a console asks
    something, or its state is unknown. `sender` is the seat whose harness sent it, by who was at the other end of
    the connection; empty where that is not known, as from a person's shell.
    """

    delivery: str
    text: str
    request: str = ""
    is_urgent: bool = False
    override: str = ""
    sender: str = ""


class DeliveryHeld(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="delivery_held"):
    """A prompt waits for a person, or until a limit ends at `until`. It was certainly not sent."""

    delivery: str
    why: HeldReason
    error: CallError | None = None
    until: datetime | None = None


class DeliverySending(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="delivery_sending"):
    """The intent to send, recorded before the write; its turn is open from here."""

    delivery: str
    turn: str


class DeliverySent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="delivery_sent"):
    """The holder wrote the prompt to the harness, whole."""

    delivery: str


class DeliveryAccepted(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="delivery_accepted"
):
    """The harness's own API took the prompt, which says nothing of a turn."""

    delivery: str


class DeliveryRendered(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="delivery_rendered"
):
    """The prompt was submitted to a console, which shows it, or work: that is no confirmation."""

    delivery: str


class DeliveryStarted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="delivery_started"):
    """A witness says that the harness works on the prompt."""

    delivery: str


class DeliveryRefused(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="delivery_refused"):
    """The prompt was declined before a turn: by the harness, or withdrawn by the operator."""

    delivery: str
    error: CallError


class DeliveryFailed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="delivery_failed"):
    """The attempt ended in an error without a witness of a turn."""

    delivery: str
    error: CallError


class DeliveryUnknown(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="delivery_unknown"):
    """The prompt may or may not have arrived; it is never repeated by itself."""

    delivery: str
    error: CallError


class TurnEnded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="turn_ended"):
    """A turn ended. `raw_reason` is the harness's own word, empty where it said nothing.

    `doubt` is what its last words would mean if they were the harness's: they may be the model's, so the turn ended
    as the harness says.
    """

    turn: str
    delivery: str
    outcome: TurnOutcome
    raw_reason: str = ""
    error: CallError | None = None
    usage: Usage | None = None
    doubt: CallError | None = None


class TurnWentQuiet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="turn_went_quiet"):
    """Nothing was heard of an open turn for longer than its mode's limit. It is no end: the turn stays open."""

    turn: str
    limit_s: float


class CancelRequested(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="cancel_requested"):
    """A cancel was asked for: neither an approval nor an outcome."""

    turn: str


class PermissionOpened(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="permission_opened"
):
    """The harness asks for permission."""

    request: str
    wire_id: str
    tool_call: ToolCall
    options: tuple[PermissionOption, ...]
    expires_at: datetime | None = None


class PermissionAnswered(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="permission_answered"
):
    """A permission request was settled: the audit record.

    Attributes:
        request: The request.
        wire_id: Its id on the wire.
        decision: What was decided.
        by: Who decided.
        option: The option's id; `None` where the answer was `cancelled`, or none could be given.
        option_name: The option's label at that time.
        reason: Why, in words.
    """

    request: str
    wire_id: str
    decision: Decision
    by: AnsweredBy
    option: str | None = None
    option_name: str = ""
    reason: str = ""


Event = (
    SeatAdded
    | SeatRemoved
    | LaunchRequested
    | LaunchStarting
    | LaunchStarted
    | LaunchConnected
    | LaunchReady
    | SessionOpened
    | SessionOpenFailed
    | StopRequested
    | LaunchEnded
    | DeliveryQueued
    | DeliverySigned
    | DeliveryHeld
    | DeliverySending
    | DeliverySent
    | DeliveryAccepted
    | DeliveryRendered
    | DeliveryStarted
    | DeliveryRefused
    | DeliveryFailed
    | DeliveryUnknown
    | TurnEnded
    | TurnWentQuiet
    | TurnCorrected
    | TurnStuck
    | QueueReleased
    | AttentionRaised
    | CancelRequested
    | PermissionOpened
    | PermissionAnswered
    | IdentityUnclear
    | SeatForked
    | ConfigRequested
    | SessionsRequested
    | SessionDeleteRequested
    | SessionCallGivenUp
    | QuestionOpened
    | QuestionAnswered
    | KeysPressed
    | HandoffDeclared
    | RequestHandedOff
    | HandoffFailed
    | RequestSettled
    | Content
)
"""Everything that the log can hold."""


def event_type(event: Event | type[Event]) -> str:
    """The stable name of an event's shape: its tag."""
    return str(event.__struct_config__.tag)


_GROWN = {"usage": 2, "seat_added": 2, "delivery_queued": 2, "turn_ended": 2, "delivery_held": 2}

EVENT_VERSIONS: dict[str, int] = {event_type(cls): 1 for cls in get_args(Event)} | _GROWN
"""The current version of every shape, by its type's name."""


class EventDraft(msgspec.Struct, frozen=True, kw_only=True):
    """An event on its way into the log; fields as in `Envelope`, without the position."""

    at: datetime
    seat: str
    source: Source
    rule: str
    event: Event
    launch: str | None = None
    session: str | None = None
    turn: str | None = None


class Envelope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event in the log.

    Attributes:
        position: Its place: 1, 2, 3, … without gaps in one log.
        at: When it was appended, aware UTC.
        seat: The seat's name.
        source: The source of the evidence.
        rule: The rule by which it was read, or the command that caused it.
        type: The event's type.
        version: The version of its shape.
        event: The event.
        launch: The launch that it belongs to.
        session: The session id that it belongs to; a secret in logs.
        turn: The turn that it belongs to.
    """

    position: int
    at: datetime
    seat: str
    source: Source
    rule: str
    type: str
    version: int
    event: Event
    launch: str | None = None
    session: str | None = None
    turn: str | None = None
