"""Stream settings: how a harness is spoken to over records of its own, both ways, as data.

Each side writes JSON objects, one a line. Some of ours are calls, which the harness answers under their id; some of
theirs are requests, which want an answer of ours. What is written is a message template: JSON in which a string
that is one placeholder, such as `{prompt}`, becomes the value itself, and a placeholder within a text becomes
text. A member whose value is not known is left out. Nothing that was put in is looked at for placeholders again.

Placeholders of every message: `{id}` (the call's), `{session}`, `{workspace}`, `{version}` (Inspan's own),
`{option.NAME}` (what a posture, a model or an effort sets) and `{kept.NAME}` (what a rule kept). A prompt also has
`{prompt}`, `{delivery}`, and `{delivery_uuid}` for a harness that wants an id of that form. An answer has `{id}` (the request's) and `{record.PATH}`, and within the elements of an
array `{item}`, `{item.PATH}`, `{key}` and `{index}`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .permission import OptionKind
from .records import ErrorRule, Literals, MaybePath, Path, RecordRule, Template, ToolRule

__all__ = [
    "AnswerShape",
    "CallRule",
    "ContextRule",
    "Match",
    "OptionRule",
    "PermissionRule",
    "RequestShape",
    "StreamRule",
    "StreamSettings",
]


class Match(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which records are meant: all conditions are met. Without any, no record is.

    Attributes:
        when: What the record must hold, by path.
        unless: What it must not hold, by path.
        has: Paths that lead somewhere; `null` is nothing.
        lacks: Paths that lead nowhere.
    """

    when: dict[Path, Literals] = {}
    unless: dict[Path, Literals] = {}
    has: tuple[Path, ...] = ()
    lacks: tuple[Path, ...] = ()


class CallRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A message that we write.

    Attributes:
        write: The message, as a template.
        is_answered: The harness answers it, under the id that it carries.
        needs: Names that must have been kept before it can be written; it waits for them.
        session: Where the answer names the session.
        keeps: What is kept of the answer, by name.
        effective: Where the answer says which options are in force. What was asked for and is not in force ends
            the start.
        accepts: The answer says that the harness took the prompt.
    """

    write: dict[str, Any]
    is_answered: bool = True
    needs: tuple[str, ...] = ()
    session: MaybePath = ""
    keeps: dict[str, Path] = {}
    effective: dict[str, Path] = {}
    accepts: bool = False


class AnswerShape(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an answer to a call of ours looks like.

    Attributes:
        match: Which records are answers.
        id: Where the call's id is.
        fails: Which answers say that the call failed.
        error: The error that a failed one carries.
    """

    match: Match = Match()
    id: Path = "id"
    fails: Match = Match()
    error: ErrorRule = ErrorRule()


class RequestShape(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a request of the harness looks like, and how it is answered.

    Attributes:
        match: Which records are requests.
        id: Where its id is.
        kind: Where it says what it wants.
        reply: The message that answers it; `{answer}` is the answer.
        unserved: The message that answers a request that nobody serves, so that the harness never waits for it.
    """

    match: Match = Match()
    id: Path = "id"
    kind: Path = "method"
    reply: dict[str, Any] | Literal["{answer}"] = "{answer}"
    unserved: dict[str, Any] = {}


class OptionRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One answer that may be given to a permission request, or one for each element of an array.

    `{key}` is an element that is a text, or the name of the first member of one that is an object. Of options with
    the same id, the first counts.

    Attributes:
        each: The array; empty for one option.
        where: What an element must hold, by path.
        id: The option's id.
        name: Its label.
        names: Other labels, by the element's key.
        kind: What it does.
        kinds: What others do, by the element's key.
        answer: The answer, as a template.
    """

    answer: Any
    each: MaybePath = ""
    where: dict[Path, Literals] = {}
    id: Template = "{key}"
    name: Template = "{key}"
    names: dict[str, str] = {}
    kind: OptionKind = OptionKind.OTHER
    kinds: dict[str, OptionKind] = {}


class PermissionRule(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A request of the harness for a permission. The first rule that fits counts.

    Attributes:
        match: Which requests.
        tool: What it is about.
        options: What may be answered, in order.
        cancelled: The answer where nobody decided, as a template.
    """

    match: Match
    tool: ToolRule
    options: tuple[OptionRule, ...]
    cancelled: Any


class ContextRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How full the context is.

    Attributes:
        used: Tokens in it.
        size: How many fit.
    """

    used: Path
    size: MaybePath = ""


class StreamRule(RecordRule, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What some records of a conversation mean, see `inspan.model.records.RecordRule`.

    Attributes:
        has: Paths that must lead somewhere.
        lacks: Paths that must lead nowhere.
        known: By path, the name of what was kept before, or `session`, `delivery` or `delivery_uuid`, that must
            stand there; what belongs to another turn thereby says nothing of ours.
        needs: Names that must have been kept since the prompt: a record that names no turn is of ours only once
            ours has begun. Nothing is asked for before the session is open.
        keeps: What is kept of the record, by name. All of it is forgotten with the next prompt.
        withdraws: Where the id of a request is that the harness no longer wants answered.
        context: How full the context is.
    """

    has: tuple[Path, ...] = ()
    lacks: tuple[Path, ...] = ()
    needs: tuple[str, ...] = ()
    known: dict[Path, str] = msgspec.field(default_factory=dict[str, str])
    keeps: dict[str, Path] = msgspec.field(default_factory=dict[str, str])
    withdraws: MaybePath = ""
    context: ContextRule | None = None


class StreamSettings(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """What the `stream` transport must know.

    Attributes:
        ids: How the ids of our calls are written.
        kind: Where a record says of what kind it is.
        belongs: Where a record says which session it is about; what is about another one is kept as it came.
        chooses_session: Core makes the id of a fresh session, a random UUID, and gives it as `{session}` in
            `launch.args`.
        model_option: The name under which a model that was asked for is `{option.NAME}`; empty where the arguments
            say it.
        effort_option: The same for an effort.
        answers: What answers to our calls look like.
        requests: What requests of the harness look like.
        handshake: What is said first, in order; each call waits for the answer to the one before.
        fresh: What is said next to open a new session; none where the arguments do it.
        resume: The same to go on with one.
        fork: The same to fork one.
        prompt: The prompt.
        cancel: What stops the turn; none where it cannot be stopped.
        permissions: Requests for a permission. Any other request is answered as `unserved`.
        records: What the records mean.
    """

    ids: Literal["number", "text"] = "number"
    kind: Path = "type"
    belongs: MaybePath = ""
    chooses_session: bool = False
    model_option: str = ""
    effort_option: str = ""
    answers: AnswerShape = AnswerShape()
    requests: RequestShape = RequestShape()
    handshake: tuple[CallRule, ...] = ()
    fresh: tuple[CallRule, ...] = ()
    resume: tuple[CallRule, ...] = ()
    fork: tuple[CallRule, ...] = ()
    prompt: CallRule | None = None
    cancel: CallRule | None = None
    permissions: tuple[PermissionRule, ...] = ()
    records: tuple[StreamRule, ...] = ()
