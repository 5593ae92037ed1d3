"""Views: what the daemon's HTTP interface, the library and `--json` hand out.

Everything here is derived from the log's projections and from manifests; nothing is stored.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from .attention import Attention
from .console_views import ConsoleExplanation, ConsoleView
from .context_usage import ContextSource
from .conversation import OfferedOption
from .delivery import DeliveryState, HeldReason
from .evidence import Source
from .harness_views import ModeView
from .installation import BackgroundProcess, ConfigFolder
from .permission import AnsweredBy, Decision, NeedsInputKind, PermissionOption, ToolCall
from .plan import ProbeResult, Problem
from .posture import Posture
from .seat_config import SeatConfigView
from .seat_requests import AddSeat, AnswerPermission, SendPrompt
from .session import IdentityState, Provenance, ResumeOutcome
from .session_views import SettingView
from .turn import CallError, TurnOutcome, Usage

__all__ = [
    "ActivityView",
    "AddSeat",
    "AnswerPermission",
    "DaemonStatus",
    "DeliveryView",
    "EvidenceLine",
    "ExplainView",
    "HarnessView",
    "LaunchView",
    "ModeView",
    "NeedsInput",
    "PermissionView",
    "SeatView",
    "SendPrompt",
    "SessionView",
    "StoreReport",
    "TurnView",
    "UsageView",
]


class ActivityView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is believed of a session.

    Attributes:
        value: `unknown`, `running`, `idle`, or `waiting` while a person owes an answer: a wait is no work.
        source: The source of the evidence.
        rule: Its rule.
        at: When it was seen.
        age_s: Seconds since then.
        why: One sentence.
    """

    value: Literal["unknown", "running", "idle", "waiting"]
    source: Source
    rule: str
    at: datetime | None = None
    age_s: float | None = None
    why: str = ""


class NeedsInput(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that a person owes an answer to.

    Attributes:
        kind: What kind of answer.
        summary: One line.
        request: The id of the permission request or the question, where it is one.
        source: The source of the evidence.
        opened_at: Since when.
        expires_at: When it is rejected by itself.
    """

    kind: NeedsInputKind
    summary: str
    source: Source
    request: str | None = None
    opened_at: datetime | None = None
    expires_at: datetime | None = None


class LaunchView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The newest launch of a seat; fields as in `state.LaunchState`, without its secrets."""

    id: str
    status: Literal["requested", "starting", "connecting", "ready", "stopping", "ended"]
    attempt: Literal["fresh", "resume", "fork"]
    begun_at: datetime
    program: str = ""
    arguments: tuple[str, ...] = ()
    pid: int | None = None
    harness_name: str = ""
    harness_version: str = ""
    reason: str = ""
    exit_code: int | None = None
    signal: int | None = None
    error: CallError | None = None
    stderr_tail: str = ""


class SessionView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The conversation of a seat.

    Attributes:
        identity: What is known of it.
        open: Whether it is open in the live launch.
        id: The harness's id of it, where known.
        resume_type: The form of the id.
        provenance: Where the id comes from.
        resume_outcome: What came of the newest attempt to resume.
        mode: The session mode in force, as the harness says.
        config: The session options in force, as the harness says.
        settings: What was asked for, beside what is in force.
        offered_modes: The session modes that the harness offers.
        offered_options: The session options that it offers.
        forks: The seat whose conversation it is to fork, or was forked from.
        title: Its title.
    """

    identity: IdentityState
    open: bool
    id: str | None = None
    resume_type: str | None = None
    provenance: Provenance | None = None
    resume_outcome: ResumeOutcome | None = None
    mode: str | None = None
    config: dict[str, Any] = {}
    settings: tuple[SettingView, ...] = ()
    offered_modes: tuple[str, ...] = ()
    offered_options: tuple[OfferedOption, ...] = ()
    forks: str = ""
    title: str | None = None


class DeliveryView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a prompt got.

    Attributes:
        id: The delivery's id.
        seat: The seat.
        state: How far it got.
        queued_at: When it was accepted.
        text: The prompt.
        held: Why it waits for a person.
        held_until: When it goes on by itself, where that is known.
        turn: Its turn, once there is one.
        error: What failed.
        ahead: How many prompts go first, while it is queued.
        turn_outcome: How its turn ended, once it did.
        hint: The next thing to do, where it waits.
        request: The request that it is an attempt at.
        sender: The seat whose harness sent it; empty where that is not known, as from a person's shell.
        signed_by: Whose signature it came with, and was checked; empty where it came with none.
    """

    id: str
    seat: str
    state: DeliveryState
    queued_at: datetime
    text: str = ""
    held: HeldReason | None = None
    held_until: datetime | None = None
    turn: str | None = None
    error: CallError | None = None
    ahead: int = 0
    turn_outcome: TurnOutcome | None = None
    hint: str = ""
    request: str = ""
    sender: str = ""
    signed_by: str = ""


class TurnView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn, open while `outcome` is `None`.

    `doubt` is what its last words would mean if they were the harness's own, where they may be the model's. `was`
    is how it had only seemed to end, where the harness itself said later how it ended.
    """

    id: str
    seat: str
    delivery: str
    begun_at: datetime
    launch: str | None = None
    outcome: TurnOutcome | None = None
    ended_at: datetime | None = None
    raw_reason: str = ""
    error: CallError | None = None
    usage: Usage | None = None
    cancel_requested: bool = False
    doubt: CallError | None = None
    was: TurnOutcome | None = None


class PermissionView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A permission request, open while `decision` is `None`."""

    id: str
    seat: str
    opened_at: datetime
    tool_call: ToolCall
    options: tuple[PermissionOption, ...]
    turn: str | None = None
    expires_at: datetime | None = None
    decision: Decision | None = None
    by: AnsweredBy | None = None
    option: str | None = None
    option_name: str = ""
    answered_at: datetime | None = None
    reason: str = ""


class UsageView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How full the context is; `status` says why there are no numbers.

    Attributes:
        status: `reported`, `not_yet`, `unsupported` or `unknown`.
        used: Tokens in the context.
        size: The context's size in tokens.
        percent: How much of it is used: a whole percent, rounded down.
        source: What told it.
    """

    status: Literal["reported", "not_yet", "unsupported", "unknown"]
    used: int | None = None
    size: int | None = None
    percent: int | None = None
    source: ContextSource | None = None


class SeatView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A seat as people see it.

    Attributes:
        name: Its name.
        harness: The harness's id.
        harness_name: The harness's name.
        scripted: Whether the harness is a scripted stand-in.
        mode: The mode.
        workspace: Absolute path.
        posture: What it may do unasked.
        status: One word for lists: `needs_input`, `running`, `idle`, `starting`, `stopping`, `stopped`,
            `exited`, `failed`, `held`, `unavailable` (its harness is not registered) or `unknown`.
        activity: What is believed of the session.
        needs_input: What a person owes an answer to.
        background: Whether work goes on outside a turn; `unknown` where nothing reports it.
        session: The conversation.
        queue: Prompts that were not sent yet.
        in_flight: The prompt that is with the harness.
        last_turn: How the newest turn ended.
        turns: How many turns were begun.
        launch: The newest launch.
        usage: How full the context is.
        environment: Names of the variables that the operator set.
        model: The model that was asked for: configured, not observed.
        effort: The effort that was asked for, likewise.
        trusts_workspace: A console's question whether the workspace is trusted may be answered by itself.
        guidance_chars: How many characters of guidance its harness is given as the first turn of a conversation.
        axes: What else its launches are told.
        caution: What is to be known before it is launched, where its harness is kept by others, or was not tried.
        config: Where its harness keeps its configuration.
        clean_environment: Its harness inherits only what it is known to need.
        withheld: Names of variables that sign in and are set here, but are not handed to its harness.
        problem: Why it cannot work, where it cannot.
        console: Its console, where one is seen.
        attention: What its operator should know of it, until its next prompt.
    """

    name: str
    harness: str
    mode: str
    workspace: str
    posture: Posture
    status: str
    activity: ActivityView
    session: SessionView
    usage: UsageView
    harness_name: str = ""
    scripted: bool = False
    needs_input: tuple[NeedsInput, ...] = ()
    background: Literal["unknown", "running", "none"] = "unknown"
    queue: tuple[DeliveryView, ...] = ()
    in_flight: DeliveryView | None = None
    last_turn: TurnView | None = None
    turns: int = 0
    launch: LaunchView | None = None
    environment: tuple[str, ...] = ()
    model: str | None = None
    effort: str | None = None
    trusts_workspace: bool = False
    guidance_chars: int = 0
    axes: dict[str, tuple[str, ...]] = {}
    caution: str = ""
    config: SeatConfigView | None = None
    clean_environment: bool = False
    withheld: tuple[str, ...] = ()
    problem: Problem | None = None
    console: ConsoleView | None = None
    attention: tuple[Attention, ...] = ()


class EvidenceLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of `inspan explain`.

    Attributes:
        source: The source.
        rule: The rule.
        says: What it says.
        authority: How strong the source is; more is stronger.
        at: When it was seen.
        age_s: Seconds since then.
        position: The event that recorded it.
        won: Whether it decided.
    """

    source: Source
    rule: str
    says: str
    authority: int
    at: datetime | None = None
    age_s: float | None = None
    position: int | None = None
    won: bool = False


class ExplainView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a seat shows what it shows."""

    seat: str
    status: str
    activity: ActivityView
    evidence: tuple[EvidenceLine, ...]
    needs_input: tuple[NeedsInput, ...] = ()
    notes: tuple[str, ...] = ()
    console: ConsoleExplanation | None = None


class HarnessView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A harness as people see it.

    Attributes:
        id: Its id.
        name: Its name.
        summary: One line.
        origin: `built-in`, `installed` or `user`.
        folder: Where its manifest lies.
        layers: All folders that the manifest was merged from, the first the lowest.
        maintainer: Who keeps it.
        tier: `built-in` or `community`.
        scripted: A scripted stand-in.
        default_mode: The mode that is used where none is named.
        modes: Its modes.
        install: How to install it.
        tested: The range of versions that was tried.
        requires: Programs that it needs beside its own, each with a range of versions.
        sign_in: How to sign in.
        auth_variables: Variables that sign in; they are handed to a seat's harness on request.
        locators: Variables that say where its provider is; they are always handed over.
        takes_over: Whether it can go on with what another seat was sent, by the prompt alone.
        background: Processes of its own that outlive it, and what becomes of them.
        config: Where its configuration lies, and how far that keeps two seats apart.
        quirks: What is odd about it.
        plugin: `none`, `ready`, `missing`, `incompatible` or `untrusted`.
        installed: Whether the program of its default mode is found; nothing was run to see it. `unknown` where
            its manifest cannot be read.
        problem: Why it cannot be used, where it cannot.
        probe: What the installed program says, where it was asked.
    """

    id: str
    name: str
    origin: Literal["built-in", "installed", "user"]
    folder: str
    maintainer: str
    tier: str
    default_mode: str
    modes: tuple[ModeView, ...]
    layers: tuple[str, ...] = ()
    summary: str = ""
    homepage: str = ""
    scripted: bool = False
    install: str = ""
    tested: str = ""
    requires: dict[str, str] = {}
    sign_in: str = ""
    auth_variables: tuple[str, ...] = ()
    locators: tuple[str, ...] = ()
    takes_over: Literal["yes", "needs_context", "unknown"] = "unknown"
    background: tuple[BackgroundProcess, ...] = ()
    config: ConfigFolder | None = None
    quirks: tuple[str, ...] = ()
    plugin: Literal["none", "ready", "missing", "incompatible", "untrusted"] = "none"
    installed: Literal["yes", "no", "unknown"] = "unknown"
    problem: Problem | None = None
    probe: ProbeResult | None = None


class StoreReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a check or a rebuild of the log found.

    Attributes:
        ok: Whether all is well.
        events: How many events there are.
        last_position: The newest position.
        problems: What is wrong, one line each.
        rebuilt: Whether the projections were built anew.
    """

    ok: bool
    events: int
    last_position: int
    problems: tuple[str, ...] = ()
    rebuilt: bool = False


class DaemonStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The daemon of a home.

    Attributes:
        version: Inspan's version.
        api: The version of the HTTP interface.
        pid: Its process id.
        home: Its home.
        socket: Its socket.
        started_at: Since when.
        seats: How many seats there are.
        live_launches: How many harnesses run.
        last_position: The newest event.
        store: `ok`, or the code of what keeps the log from being written.
        clients: How many event streams are open.
    """

    version: str
    api: int
    pid: int
    home: str
    socket: str
    started_at: datetime
    seats: int
    live_launches: int
    last_position: int
    store: str = "ok"
    clients: int = 0
