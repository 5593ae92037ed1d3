"""One value of every event shape, every field set, and the golden records that are kept of them.

`python -m support.store.golden` (with `tests` on the path) adds the records that are missing. It never changes
one: a shape that changed gets a new version and an upcaster first, and then a further record.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from inspan.model.attention import AttentionRaised
from inspan.model.console import (
    BackgroundWork,
    ConsoleJudged,
    ConsoleOpened,
    KeptError,
    KeysPressed,
    LostSay,
)
from inspan.model.content import (
    CommandsUpdated,
    ConfigUpdated,
    ErrorReported,
    MessageChunk,
    ModeUpdated,
    Noise,
    PermissionDenied,
    PlanUpdated,
    ProtocolFault,
    Retrying,
    SessionInfoUpdated,
    ToolCallUpdated,
    UnknownMessage,
    UnknownUpdate,
    UsageUpdated,
)
from inspan.model.context_usage import ContextSource
from inspan.model.conversation import (
    ListedSession,
    OfferedOption,
    OptionsOffered,
    SessionClosed,
    SessionDeleted,
    SessionsListed,
    SettingAnswered,
)
from inspan.model.delivery import HeldReason
from inspan.model.events import (
    EVENT_VERSIONS,
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
    Event,
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
    event_type,
)
from inspan.model.evidence import Source
from inspan.model.permission import (
    AnsweredBy,
    Decision,
    NeedsInputKind,
    OptionKind,
    PermissionOption,
    ToolCall,
)
from inspan.model.posture import Approvals, Posture, PostureSource, Sandbox, Unattended
from inspan.model.question import QuestionAction, QuestionChoice, QuestionField
from inspan.model.reports import AuthMethod
from inspan.model.request_events import (
    HandoffDeclared,
    HandoffFailed,
    RequestHandedOff,
    RequestSettled,
)
from inspan.model.session import IdentityState, OpenedHow, Provenance, ResumeOutcome, SessionReference
from inspan.model.session_events import (
    ConfigRequested,
    IdentityUnclear,
    QuestionAnswered,
    QuestionOpened,
    SeatForked,
    SessionCallGivenUp,
    SessionDeleteRequested,
    SessionsRequested,
)
from inspan.model.turn import CallError, TurnOutcome, Usage, UsageKind
from inspan.model.turn_events import DeliverySigned, QueueReleased, TurnCorrected, TurnStuck

__all__ = ["GOLDEN_FILE", "GOLDEN_VALUES", "GoldenRecord", "meant_by", "read_records"]

GOLDEN_FILE = Path(__file__).parents[2] / "store" / "golden" / "events.jsonl"


class GoldenRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record as it lies in a log: its type, the version of its shape, its JSON object."""

    type: str
    version: int
    body: dict[str, Any]


_POSTURE = Posture(
    approvals=Approvals.EDITS,
    sandbox=Sandbox.WORKSPACE,
    source=PostureSource.OPERATOR,
    unattended=Unattended.REJECT,
    permission_timeout_s=90.5,
)
_REFERENCE = SessionReference(
    harness="some-harness",
    resume_type="some-session",
    id="agent/conversation 1",
    workspace="/srv/project",
    posture=_POSTURE,
    provenance=Provenance.REPORTED,
)
_ERROR = CallError(
    code="call_failed",
    message="The harness answered with an error: ünïcode.",
    hint="Try again.",
    raw_code=-32000,
    raw={"reason": ["a", 1, None]},
)
_USAGE = Usage(
    kind=UsageKind.TURN,
    input_tokens=1,
    output_tokens=2,
    total_tokens=3,
    cached_read_tokens=4,
    cached_write_tokens=5,
    thought_tokens=6,
)
_TOOL_CALL = ToolCall(
    id="call-1",
    title="Run the tests",
    kind="execute",
    raw_input={"command": ["make", "test"]},
    content=[{"type": "text"}],
    locations=[{"path": "/srv/project/a"}],
)
_OPTION = PermissionOption(id="yes", name="Yes", kind=OptionKind.ALLOW_ONCE, raw_kind="allow_once")

_VALUES: tuple[Event, ...] = (
    SeatAdded(
        harness="some-harness",
        mode="acp",
        workspace="/srv/project",
        posture=_POSTURE,
        environment={"NAME": "value"},
        model="some-model",
        effort="high",
        trusts_workspace=True,
        guidance="Be brief.",
        axes={"folder": ("../lib",)},
        config="c_1",
        shares=("sign_in",),
        forwards_auth=True,
        clean_environment=True,
    ),
    SeatRemoved(),
    LaunchRequested(launch="l_1", attempt="resume", reference=_REFERENCE, by="prompt"),
    LaunchStarting(
        launch="l_1",
        nonce="0a1b",
        directory="/srv/launches/l_1",
        program="/usr/bin/program",
        arguments=("--flag", "value"),
        transport="stream",
    ),
    LaunchStarted(launch="l_1", pid=4711, holder_pid=4710),
    LaunchConnected(
        launch="l_1",
        protocol_version=1,
        harness_name="Some Harness",
        harness_version="1.2.3",
        offers=("load", "resume"),
        auth_methods=(AuthMethod(id="key", name="A key", description="From the vendor"),),
    ),
    LaunchReady(launch="l_1"),
    SessionOpened(launch="l_1", reference=_REFERENCE, how=OpenedHow.RESUMED),
    SessionOpenFailed(launch="l_1", outcome=ResumeOutcome.MISSING, error=_ERROR),
    StopRequested(launch="l_1", by="core", error=_ERROR),
    LaunchEnded(launch="l_1", reason="exit", exit_code=1, signal=15, error=_ERROR, stderr_tail="last words"),
    DeliveryQueued(
        delivery="d_1",
        text="Mend the tests\n\U0001f6e0",
        request="r_1",
        is_urgent=True,
        override="it asks about another folder",
        sender="lead",
    ),
    DeliveryHeld(
        delivery="d_1",
        why=HeldReason.HARNESS_EXITED,
        error=_ERROR,
        until=datetime(2026, 11, 30, 18, 30, tzinfo=UTC),
    ),
    DeliverySending(delivery="d_1", turn="t_1"),
    DeliverySent(delivery="d_1"),
    DeliveryAccepted(delivery="d_1"),
    DeliveryRendered(delivery="d_1"),
    DeliveryStarted(delivery="d_1"),
    DeliveryRefused(delivery="d_1", error=_ERROR),
    DeliveryFailed(delivery="d_1", error=_ERROR),
    DeliveryUnknown(delivery="d_1", error=_ERROR),
    TurnEnded(
        turn="t_1",
        delivery="d_1",
        outcome=TurnOutcome.LIMITED,
        raw_reason="max_tokens",
        error=_ERROR,
        usage=_USAGE,
        doubt=_ERROR,
    ),
    TurnWentQuiet(turn="t-1", limit_s=600.0),
    TurnCorrected(
        turn="t_1",
        delivery="d_1",
        outcome=TurnOutcome.LIMITED,
        was=TurnOutcome.COMPLETED,
        raw_reason="hook.StopFailure",
        error=_ERROR,
    ),
    TurnStuck(
        turn="t_1",
        delivery="d_1",
        reason="error_without_end",
        error=_ERROR,
        action="stop",
        restarts=3,
        after_s=60.0,
        why_not="It was restarted 3 times.",
    ),
    DeliverySigned(delivery="d_1", signer="ada@example.org"),
    QueueReleased(by="limit_reset"),
    AttentionRaised(
        code="permission_unanswerable",
        message="It asked for a permission without an answer that allows it.",
        hint="Look at what it offers.",
        delivery="d_1",
        request="p_1",
    ),
    CancelRequested(turn="t_1"),
    PermissionOpened(
        request="p_1",
        wire_id="7",
        tool_call=_TOOL_CALL,
        options=(_OPTION,),
        expires_at=datetime(2026, 11, 30, 12, 30, 15, 250_001, tzinfo=UTC),
    ),
    PermissionAnswered(
        request="p_1",
        wire_id="7",
        decision=Decision.ALLOW,
        by=AnsweredBy.OPERATOR,
        option="yes",
        option_name="Yes",
        reason="It is safe.",
    ),
    SeatForked(parent="parent", reference=_REFERENCE),
    ConfigRequested(session_mode="plan", options={"model": "some-model"}, forgets=True),
    SessionsRequested(request="r_1", cursor="page-2", workspace="/srv/project"),
    SessionDeleteRequested(request="r_2", session="some-session"),
    SessionCallGivenUp(request="r_1"),
    QuestionOpened(
        request="q_1",
        wire_id="8",
        message="Which branch?",
        fields=(
            QuestionField(
                name="branch",
                kind="choice",
                title="Branch",
                description="Where the work goes",
                is_required=True,
                choices=(QuestionChoice(value="main", title="Main"),),
                default="main",
            ),
        ),
        tool_call="call-1",
        expires_at=datetime(2026, 11, 30, 12, 30, tzinfo=UTC),
    ),
    QuestionAnswered(
        request="q_1",
        wire_id="8",
        action=QuestionAction.ACCEPT,
        by=AnsweredBy.OPERATOR,
        content={"branch": "main"},
        reason="The only one.",
    ),
    OptionsOffered(
        options=(
            OfferedOption(
                id="model", name="Model", category="model", kind="other", values=("small", "large"), omitted=2
            ),
        ),
        replay=True,
    ),
    SettingAnswered(value="large", option="model", error=_ERROR),
    SessionsListed(
        request="r_1",
        sessions=(
            ListedSession(id="some-session", workspace="/srv/project", title="Mending", updated_at="today"),
        ),
        cursor="page-3",
        omitted=4,
        error=_ERROR,
    ),
    SessionDeleted(request="r_2", session="some-session", error=_ERROR),
    SessionClosed(error=_ERROR),
    MessageChunk(role="agent", text="Done.", message_id="m_1", raw={"type": "image"}, replay=True),
    ToolCallUpdated(
        id="call-1",
        title="Run the tests",
        kind="execute",
        status="completed",
        content=[{"type": "text"}],
        locations=[{"path": "/srv/project/a"}],
        raw_input={"command": "make"},
        raw_output={"code": 0},
        replay=True,
    ),
    PlanUpdated(entries=({"content": "Look", "priority": "high", "status": "pending"},), replay=True),
    CommandsUpdated(names=("review", "test"), replay=True),
    ModeUpdated(current="plan", available=("plan", "code"), replay=True),
    ConfigUpdated(values={"model": "some-model", "depth": 3}, replay=True),
    UsageUpdated(
        used=100,
        size=2000,
        cost={"amount": 0.5, "currency": "EUR"},
        percent=5,
        source=ContextSource.FOOTER,
        replay=True,
    ),
    SessionInfoUpdated(title="Mending tests", raw={"title": "Mending tests"}, replay=True),
    PermissionDenied(
        tool="Shell",
        title="make test",
        call="call-1",
        reason="Nobody could be asked.",
        rule="Shell(make test)",
        settings="~/.some-harness/settings.json",
        is_shared=True,
        replay=True,
    ),
    Retrying(
        reason="rate_limited: HTTP 429",
        attempt=2,
        limit=7,
        retry_at=datetime(2026, 11, 30, 12, 31, tzinfo=UTC),
        replay=True,
    ),
    ErrorReported(error=_ERROR, replay=True),
    UnknownUpdate(kind="brand_new", raw={"field": [1, 2]}, replay=True),
    UnknownMessage(method="vendor/new", answered=True, raw={"field": True}),
    Noise(lines=3, sample="Welcome"),
    ProtocolFault(code="bad_message", message="A line is no JSON.", fatal=True),
    IdentityUnclear(launch="l_1", identity=IdentityState.AMBIGUOUS, why="There are two."),
    HandoffDeclared(
        request="r_1", delivery="d_1", to_seat="second", next_delivery="d_2", text="Go on with this."
    ),
    RequestHandedOff(
        request="r_1",
        delivery="d_1",
        to_seat="second",
        next_delivery="d_2",
        outcome=TurnOutcome.LIMITED,
    ),
    HandoffFailed(request="r_1", next_delivery="d_2", to_seat="second", error=_ERROR),
    RequestSettled(request="r_1", delivery="d_2", outcome=TurnOutcome.COMPLETED, by="operator"),
    ConsoleOpened(
        columns=120,
        rows=40,
        identity={"name": "libghostty", "TERM": "xterm-256color"},
        rules_source="recordings",
        rules_verified="2026-11-30 1.0.0",
    ),
    KeysPressed(keys=("escape", "enter"), reason="it hangs in a menu"),
    ConsoleJudged(
        activity="needs_input",
        at=datetime(2026, 11, 30, 12, 30, tzinfo=UTC),
        kind=NeedsInputKind.TRUST,
        gate="trust",
        is_drawn=True,
        error=KeptError(code="limited", message="Usage limit reached", rule="limit", resets="3pm"),
        signs=("retrying",),
        is_turn_over=True,
        background=(
            BackgroundWork(
                id="tests",
                activity="needs_input",
                at=datetime(2026, 11, 30, 12, 29, tzinfo=UTC),
                title="Running tests",
                kind=NeedsInputKind.PERMISSION,
            ),
        ),
        lost=(LostSay(source=Source.HOOK, reason="contradicted"),),
        is_ready=True,
        readiness="trust waits for a person",
        evidence="Do you trust this folder?",
    ),
)

GOLDEN_VALUES: dict[str, Event] = {event_type(value): value for value in _VALUES}
"""Type to the value that the golden record of its current version means."""

_EARLIER: dict[tuple[str, int], dict[str, Any]] = {
    ("seat_added", 1): {
        "effort": None,
        "trusts_workspace": False,
        "guidance": "",
        "axes": {},
        "config": "",
        "shares": (),
        "forwards_auth": False,
        "clean_environment": False,
    },
    ("delivery_queued", 1): {"request": "", "is_urgent": False, "override": "", "sender": ""},
    ("turn_ended", 1): {"doubt": None},
    ("delivery_held", 1): {"until": None},
    ("usage", 1): {"percent": None, "source": ContextSource.PROTOCOL},
}
"""What a record of an earlier version does not say."""


def meant_by(record: GoldenRecord) -> Event:
    """The value that a golden record means."""
    value = GOLDEN_VALUES[record.type]
    return msgspec.structs.replace(value, **_EARLIER.get((record.type, record.version), {}))


def read_records() -> list[GoldenRecord]:
    """All golden records."""
    lines = GOLDEN_FILE.read_bytes().splitlines()
    return [msgspec.json.decode(line, type=GoldenRecord) for line in lines]


def _add_missing() -> None:
    GOLDEN_FILE.touch()
    there = {(record.type, record.version) for record in read_records()}
    with GOLDEN_FILE.open("a", encoding="utf-8") as file:
        for name, value in GOLDEN_VALUES.items():
            if (name, EVENT_VERSIONS[name]) not in there:
                body = json.loads(msgspec.json.encode(value))
                record = {"type": name, "version": EVENT_VERSIONS[name], "body": body}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    _add_missing()
