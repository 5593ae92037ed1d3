"""Reports: what a transport says that a harness said, with the evidence for it.

A session is running, idle with its last outcome, or waits for a person. Version 1 of the Agent Client
Protocol, and every other wire, is mapped *into* these shapes at the transport; nothing above knows the wire.
"""

from __future__ import annotations

import msgspec

from .attention import AttentionRaised
from .content import Content
from .evidence import Source
from .permission import PermissionOption, ToolCall
from .question import QuestionField
from .session import OpenedHow, ResumeOutcome
from .turn import CallError, TurnOutcome, Usage
from .typing_recipe import TypingBlock

__all__ = [
    "AuthMethod",
    "ConnectFailed",
    "Connected",
    "PermissionRequested",
    "PermissionWithdrawn",
    "PromptAccepted",
    "PromptAnswered",
    "PromptCorrected",
    "PromptReady",
    "PromptRendered",
    "PromptStarted",
    "PromptTakenBack",
    "QuestionAsked",
    "QuestionWithdrawn",
    "ReportBody",
    "Reported",
    "SessionFailed",
    "SessionReady",
    "WillRetry",
]


class AuthMethod(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A way to sign in that the harness offers."""

    id: str
    name: str = ""
    description: str = ""


class Connected(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="connected"):
    """The handshake is done.

    Attributes:
        protocol_version: As the harness answered.
        harness_name: The name that it gives itself, if any.
        harness_version: The version that it gives itself, if any.
        offers: Named abilities of this very process (`load`, `resume`, `list`, `fork`, `close`, …).
        auth_methods: Ways to sign in.
    """

    protocol_version: int
    harness_name: str = ""
    harness_version: str = ""
    offers: tuple[str, ...] = ()
    auth_methods: tuple[AuthMethod, ...] = ()


class ConnectFailed(msgspec.Struct, frozen=True, kw_only=True, tag="connect_failed"):
    """The handshake failed; the launch is of no use."""

    error: CallError


class SessionReady(msgspec.Struct, frozen=True, kw_only=True, tag="session_ready"):
    """A session is open, and its posture is applied: prompts may be sent."""

    session_id: str
    how: OpenedHow


class PromptReady(msgspec.Struct, frozen=True, kw_only=True, tag="prompt_ready"):
    """A prompt may be sent, though no session is known yet: a one-shot run names its session later, if at all."""


class SessionFailed(msgspec.Struct, frozen=True, kw_only=True, tag="session_failed"):
    """No session was opened. `outcome` is a `ResumeOutcome` for a resume, `failed` for a new session."""

    outcome: ResumeOutcome
    error: CallError


class PromptAccepted(msgspec.Struct, frozen=True, kw_only=True, tag="prompt_accepted"):
    """The harness's own API took this delivery; nothing is said of its turn."""

    delivery: str


class PromptRendered(msgspec.Struct, frozen=True, kw_only=True, tag="prompt_rendered"):
    """This delivery was submitted, and the console shows it, or work; that is no confirmation."""

    delivery: str


class PromptTakenBack(msgspec.Struct, frozen=True, kw_only=True, tag="prompt_taken_back"):
    """Nothing of this delivery went out, since something stood in the way."""

    delivery: str
    why: TypingBlock


class PromptStarted(msgspec.Struct, frozen=True, kw_only=True, tag="prompt_started"):
    """A witness: the harness works on this delivery."""

    delivery: str


class PromptAnswered(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="prompt_answered"):
    """The terminal result of a prompt.

    Attributes:
        delivery: The delivery that it answers.
        outcome: How the turn ended.
        raw_reason: The harness's own word for it.
        error: The harness's error, where it answered with one.
        declined: The harness declined the call itself, before any turn (a bad session, bad parameters).
        usage: Tokens used.
        last_words: The beginning of the turn's last message, empty where its end was silent; `None` where it is
            not kept, since no rule of the manifest would read it.
        model_wrote: Whether the harness counted tokens that the model wrote in this turn; `None` where it counts
            none, or does not say of what.
    """

    delivery: str
    outcome: TurnOutcome
    raw_reason: str
    error: CallError | None = None
    declined: bool = False
    usage: Usage | None = None
    last_words: str | None = None
    model_wrote: bool | None = None


class PromptCorrected(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="prompt_corrected"):
    """How the turn of a prompt ended in truth, which had been answered by what was seen; fields as there."""

    delivery: str
    outcome: TurnOutcome
    raw_reason: str
    error: CallError | None = None


class WillRetry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="will_retry"):
    """The harness waits and will try again by itself; core makes it `Retrying`, with the time that follows.

    Attributes:
        delay_s: How long it said that it waits.
        reason: Why, in the harness's words.
        attempt: Which attempt comes next.
        limit: After how many attempts it gives up.
    """

    delay_s: float | None = None
    reason: str = ""
    attempt: int | None = None
    limit: int | None = None


class PermissionRequested(msgspec.Struct, frozen=True, kw_only=True, tag="permission_requested"):
    """The harness asks. `wire_id` is how the transport finds the request again when it is answered."""

    wire_id: str
    tool_call: ToolCall
    options: tuple[PermissionOption, ...]


class PermissionWithdrawn(msgspec.Struct, frozen=True, kw_only=True, tag="permission_withdrawn"):
    """The harness no longer wants an answer."""

    wire_id: str


class QuestionAsked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="question_asked"):
    """The harness wants a form filled in; fields as in `session_events.QuestionOpened`."""

    wire_id: str
    message: str
    fields: tuple[QuestionField, ...] = ()
    tool_call: str = ""


class QuestionWithdrawn(msgspec.Struct, frozen=True, kw_only=True, tag="question_withdrawn"):
    """The harness no longer wants an answer."""

    wire_id: str


ReportBody = (
    Connected
    | ConnectFailed
    | SessionReady
    | SessionFailed
    | PromptReady
    | PromptAccepted
    | PromptRendered
    | PromptTakenBack
    | PromptStarted
    | PromptAnswered
    | PromptCorrected
    | WillRetry
    | PermissionRequested
    | PermissionWithdrawn
    | QuestionAsked
    | QuestionWithdrawn
    | AttentionRaised
    | Content
)


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """A report with its evidence.

    Attributes:
        body: What was said.
        source: Which source said it.
        rule: The rule by which it was read, such as `acp.update.plan`.
        session: The session id that the wire named, if it named one.
    """

    body: ReportBody
    source: Source
    rule: str
    session: str | None = None
