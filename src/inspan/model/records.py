"""Record rules: what the records of a harness mean, as data.

A harness writes records, one JSON object a line, and each harness has shapes of its own. A rule says which
records it is about and what they mean. Rules are no script: conditions compare a value with literals, and values
are taken from where a path leads.

A path names members, joined by dots, and positions in arrays: `errors.0`. Within `each` it begins at the
element, and `$.` in front of it begins at the record. A template is text in which `{path}` is replaced by the
value there; `{call.tool}`, `{call.title}` and `{call.input.…}` are those of the tool call that a denial is
about.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from .turn import TurnOutcome

__all__ = [
    "DenialRule",
    "EndRule",
    "ErrorRule",
    "Literals",
    "MaybePath",
    "Path",
    "RecordRule",
    "RetryRule",
    "Template",
    "TextRule",
    "ToolRule",
    "UsageRule",
]

Path = Annotated[str, msgspec.Meta(pattern=r"^(\$\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$")]
"""Where a value is."""

MaybePath = Annotated[str, msgspec.Meta(pattern=r"^((\$\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*)?$")]
"""The same, or empty where there is none."""

Template = str
"""Text with paths in braces."""

Literals = str | bool | int | tuple[str | bool | int, ...]
"""One literal, or several of which one must be the value."""


class TextRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Words of a message.

    Attributes:
        path: The words; nothing is said where they are empty or no text.
        role: Whose words they are.
        message_id: The harness's id of the message.
        is_whole: The message comes whole: it is passed over where pieces of the same id came before.
    """

    path: Path
    role: Literal["agent", "thought"] = "agent"
    message_id: MaybePath = ""
    is_whole: bool = False


class ToolRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A tool call that began or changed.

    Attributes:
        id: Its id.
        name: The tool's name; where it is not told again, the one told before under this id counts.
        title: A template of a line for people; the tool's name where there is none.
        kinds: The kind (`execute`, `edit`, `read`, …) by the tool's name.
        kind: The kind of every other tool.
        status: Its status (`pending`, `in_progress`, `completed`, `failed`).
        status_path: Where the harness's own status is.
        statuses: Our status by the harness's own; what is not in it leaves `status`.
        input: Its arguments.
        output: Its result.
    """

    id: Path
    name: MaybePath = ""
    title: Template = ""
    kinds: dict[str, str] = {}
    kind: str = ""
    status: str = ""
    status_path: MaybePath = ""
    statuses: dict[str, str] = {}
    input: MaybePath = ""
    output: MaybePath = ""


class UsageRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Tokens. Those of steps are added up to those of the turn; of the others the last record counts.

    Attributes:
        kind: What the numbers count.
        input: Tokens read.
        output: Tokens written.
        total: The harness's own sum.
        cached_read: Tokens read from a cache.
        cached_write: Tokens written into a cache.
        thought: Tokens of reasoning.
    """

    kind: Literal["step", "turn", "cumulative", "unknown"]
    input: MaybePath = ""
    output: MaybePath = ""
    total: MaybePath = ""
    cached_read: MaybePath = ""
    cached_write: MaybePath = ""
    thought: MaybePath = ""


class DenialRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A tool call that was denied, since nobody could be asked. The same call is reported once.

    Attributes:
        call: The tool call's id.
        tool: The tool's name; where it is empty, the one that the tool call told.
        reason: The harness's own reason.
        rule: A template of the exact rule that would allow the call.
        rules: Other templates, by the tool's name.
        settings: The file that the rule belongs into.
        is_shared: Every seat on the machine reads that file.
    """

    call: MaybePath = ""
    tool: MaybePath = ""
    reason: MaybePath = ""
    rule: Template = ""
    rules: dict[str, Template] = {}
    settings: str = ""
    is_shared: bool = True


class ErrorRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An error; it ends the turn as failed unless a later record says that the harness got over it.

    Attributes:
        message: Where the harness's words are; the first that is there counts.
        code: Where an HTTP status or a code of the harness's own is.
        raw: The harness's error data, kept unchanged.
    """

    message: tuple[Path, ...] = ()
    code: tuple[Path, ...] = ()
    raw: MaybePath = ""


class RetryRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The harness waits and will try again by itself.

    Attributes:
        delay_ms: How long it waits, in milliseconds.
        attempt: Which attempt it is.
        max_attempts: How many there will be.
        reason: Why.
    """

    delay_ms: MaybePath = ""
    attempt: MaybePath = ""
    max_attempts: MaybePath = ""
    reason: MaybePath = ""


class EndRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The result record: the turn's end, trusted over the exit status.

    Attributes:
        outcome: Where the harness's own outcome is.
        outcomes: Our outcome by the harness's own.
        otherwise: What an outcome means that is not among them. Without it, `failed` where an error was said
            before, and `completed` where none was.
        is_error: Where it says that the result is an error, though its outcome may be called a success.
        reason: Where the harness's own word for the end is; the first that is there counts.
        error: The error that the record carries.
    """

    outcome: MaybePath = ""
    outcomes: dict[str, TurnOutcome] = {}
    otherwise: TurnOutcome | None = None
    is_error: MaybePath = ""
    reason: tuple[Path, ...] = ()
    error: ErrorRule | None = None


class RecordRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What some records mean. Every rule that fits a record is applied, in order.

    Attributes:
        when: What the record must hold, by path. A rule without it is for every record, and makes none known.
        unless: What it must not hold, by path.
        each: An array: the rule is applied to each object in it.
        where: What the element must hold, by path.
        session: Where the session's id is.
        accepts: The harness took the prompt, which is no witness that it works on it.
        starts: A witness: the harness works on the prompt. Words and tool calls are witnesses anyway.
        text: Words.
        tool: A tool call.
        usage: Tokens.
        denial: A denied tool call.
        error: An error.
        recovers: The harness got over the error that it said before.
        retry: It waits and will try again.
        effective: Session options that are in force, by our name for them, such as `model`.
        ends: The result record.
        ignore: It means nothing to us. A record that no rule knows is kept as it came.
    """

    when: dict[Path, Literals] = {}
    unless: dict[Path, Literals] = {}
    each: MaybePath = ""
    where: dict[Path, Literals] = {}
    session: MaybePath = ""
    accepts: bool = False
    starts: bool = False
    text: TextRule | None = None
    tool: ToolRule | None = None
    usage: UsageRule | None = None
    denial: DenialRule | None = None
    error: ErrorRule | None = None
    recovers: bool = False
    retry: RetryRule | None = None
    effective: dict[str, Path] = {}
    ends: EndRule | None = None
    ignore: bool = False
