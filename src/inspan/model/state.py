"""Seat state: what a seat is, as values. `inspan.model.evolving` folds them from the seat's events."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from .attention import Attention
from .console import ConsoleJudged, KeptError
from .content import Retrying, UsageUpdated
from .conversation import OfferedOption
from .delivery import DeliveryState, HeldReason
from .evidence import Source
from .permission import PermissionOption, ToolCall
from .posture import Posture
from .question import QuestionField
from .seat_config import SharedConfig
from .session import IdentityState, ResumeOutcome, SessionReference
from .turn import CallError, TurnOutcome, Usage
from .turn_events import StuckAction, StuckReason

__all__ = [
    "Activity",
    "Handoff",
    "InFlight",
    "LastTurn",
    "LaunchState",
    "OpenPermission",
    "OpenQuestion",
    "QueuedPrompt",
    "SeatState",
    "Setting",
    "Stuck",
]


class QueuedPrompt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A prompt that was not sent yet.

    `held` says why it waits, `held_until` until when where that is known, `request` which request it is an attempt at, if any; `is_urgent` and
    `override` as in `events.DeliveryQueued`.
    """

    delivery: str
    text: str
    queued_at: datetime
    held: HeldReason | None = None
    held_until: datetime | None = None
    is_urgent: bool = False
    override: str = ""
    request: str = ""


class InFlight(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The one prompt that may be with the harness, and its open turn.

    `text` is kept so that a prompt that was certainly not written can return to the queue. `quiet_at` is set
    while nothing was heard of the turn for longer than its mode's limit. `error` is one that was seen in the turn and
    did not end it, until work goes on; nothing is to be expected before `errored_at`. `shown_before` is what a
    console showed as an error when the turn began.
    """

    delivery: str
    turn: str
    text: str
    state: DeliveryState
    queued_at: datetime
    begun_at: datetime
    is_urgent: bool = False
    override: str = ""
    cancel_requested: bool = False
    quiet_at: datetime | None = None
    error: CallError | None = None
    errored_at: datetime | None = None
    shown_before: KeptError | None = None
    request: str = ""


class Handoff(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request goes on in another seat once this seat's attempt is over; fields as in `HandoffDeclared`."""

    request: str
    delivery: str
    to_seat: str
    next_delivery: str


class OpenPermission(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A permission request that nobody answered yet."""

    request: str
    wire_id: str
    turn: str | None
    tool_call: ToolCall
    options: tuple[PermissionOption, ...]
    opened_at: datetime
    expires_at: datetime | None = None


class OpenQuestion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question that nobody answered yet; fields as in `session_events.QuestionOpened`."""

    request: str
    wire_id: str
    turn: str | None
    message: str
    opened_at: datetime
    fields: tuple[QuestionField, ...] = ()
    tool_call: str = ""
    expires_at: datetime | None = None


class Setting(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A mode or an option that was asked for: configured, not observed.

    Attributes:
        option: The option's id; `None` for the session mode.
        value: What is wanted.
        by: `operator` for this conversation, across launches; `launch` for the posture or model of this launch.
        answer: What the harness said of it.
        error: Why it refused.
    """

    value: str
    option: str | None = None
    by: Literal["operator", "launch"] = "operator"
    answer: Literal["none", "accepted", "refused"] = "none"
    error: CallError | None = None


class LastTurn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the newest turn ended; kept while the seat is idle, with its error.

    `was` is how it had only seemed to end, where the harness itself said later how it ended.
    """

    turn: str
    delivery: str
    outcome: TurnOutcome
    ended_at: datetime
    begun_at: datetime | None = None
    raw_reason: str = ""
    error: CallError | None = None
    usage: Usage | None = None
    doubt: CallError | None = None
    was: TurnOutcome | None = None


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
            runs), `ready` (a session is open, or a one-shot run takes its prompt), `stopping`, `ended`.
        attempt: Fresh, resume or fork.
        reference: The session to resume or to fork.
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
        prompts: How many prompts were sent in it.
    """

    id: str
    status: Literal["requested", "starting", "connecting", "ready", "stopping", "ended"]
    attempt: Literal["fresh", "resume", "fork"]
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
    stopped_by: Literal["", "operator", "core", "cancel"] = ""
    prompts: int = 0
    is_trusted: bool = False

    @property
    def is_live(self) -> bool:
        """Whether it has not ended yet."""
        return self.status != "ended"


class Stuck(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The newest turn that was stuck, until a turn ends well again; fields as in `turn_events.TurnStuck`."""

    turn: str
    launch: str
    reason: StuckReason
    error: CallError
    action: StuckAction
    at: datetime
    restarts: int = 0
    why_not: str = ""


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
        effort: The effort, likewise.
        trusts_workspace: A console's question whether the workspace is trusted may be answered by itself.
        guidance: What its harness is told as the first turn of a conversation.
        is_guided: It was told so in this conversation.
        config: The name of its own configuration folder; `shares`, `forwards_auth` and `clean_environment` as in
            `events.SeatAdded`.
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
        questions: Open questions, in order.
        handoffs: Handoffs that were declared for prompts of this seat, and did not go on yet.
        fork_of: The conversation that the first launch forks, until the seat has its own.
        parent: The seat whose conversation it was.
        settings: Modes and options that were asked for, in order.
        offered_modes: The session modes that the harness offers.
        offered_options: The session options that it offers.
        last_turn: How the newest turn ended.
        activity: What is believed of the session.
        session_mode: The session mode that the harness says is in force: observed, not configured.
        config_values: The session options that the harness says are in force.
        commands: Names of the commands that the session offers.
        usage: How full the context is.
        title: The session's title.
        turns: How many turns were begun.
        retrying: What the harness said of its next attempt, until its turn goes on or ends.
        console: What is believed of its console, while one is seen.
        waiting_since: Since when the console waits for a person.
        stuck: The turn that was stuck, and what was done about it, until a turn ends well again.
        attention: What its operator should know of it, until its next prompt.
    """

    name: str
    harness: str
    mode: str
    workspace: str
    posture: Posture
    added_at: datetime
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
    is_guided: bool = False
    removed: bool = False
    launch: LaunchState | None = None
    session: SessionReference | None = None
    session_open: bool = False
    identity: IdentityState = IdentityState.NOT_YET
    resume_outcome: ResumeOutcome | None = None
    queue: tuple[QueuedPrompt, ...] = ()
    in_flight: InFlight | None = None
    permissions: tuple[OpenPermission, ...] = ()
    questions: tuple[OpenQuestion, ...] = ()
    handoffs: tuple[Handoff, ...] = ()
    fork_of: SessionReference | None = None
    parent: str = ""
    settings: tuple[Setting, ...] = ()
    offered_modes: tuple[str, ...] = ()
    offered_options: tuple[OfferedOption, ...] = ()
    last_turn: LastTurn | None = None
    activity: Activity = Activity()
    session_mode: str | None = None
    config_values: dict[str, object] = {}
    commands: tuple[str, ...] = ()
    usage: UsageUpdated | None = None
    title: str | None = None
    turns: int = 0
    retrying: Retrying | None = None
    console: ConsoleJudged | None = None
    waiting_since: datetime | None = None
    stuck: Stuck | None = None
    attention: tuple[Attention, ...] = ()

    @property
    def live_launch(self) -> LaunchState | None:
        """The launch that has not ended, if there is one."""
        return self.launch if self.launch is not None and self.launch.is_live else None
