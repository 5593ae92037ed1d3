"""What the permission engine decides by, and what it says: modes, rules, questions, decisions and their records."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from inspan.agent.values import JsonObject, Location

__all__ = [
    "Answer",
    "Decision",
    "Effect",
    "PermissionMode",
    "PermissionQuestion",
    "PermissionRecord",
    "Responder",
    "Rule",
]


class PermissionMode(StrEnum):
    """What may be done unasked.

    `default` asks for all that is not read-only or session-local; `plan` refuses it; `accept_edits` allows changes of
    files in the workspace besides; `bypass` allows all that no rule denies.
    """

    DEFAULT = "default"
    PLAN = "plan"
    ACCEPT_EDITS = "accept_edits"
    BYPASS = "bypass"


class Effect(StrEnum):
    """What a rule says of the calls it matches. `deny` beats `ask` beats `allow`."""

    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"


class Rule(Struct, frozen=True, kw_only=True):
    """One rule.

    Attributes:
        effect: What it says.
        tool: A shell-style pattern of tool names (`*`, `?`, `[…]`), matched whole and case-sensitively.
        arguments: Patterns by argument name, each matched whole against the argument's text (a string as it is, any
            other value as compact JSON); all have to match. An absent argument matches nothing.
        source: Where the rule comes from: `user`, `project`, `session`, `policy` or a person's answer.
        id: Names the rule in records; empty when nobody named it.
    """

    effect: Effect
    tool: str
    arguments: dict[str, str] = {}
    source: str = "user"
    id: str = ""


class PermissionQuestion(Struct, frozen=True, kw_only=True):
    """What a person is asked.

    Attributes:
        call_id: The call's id.
        session_id: The session; a secret in logs.
        tool: The tool's name.
        title: The call in a few words.
        kind: As in `Tool.kind`.
        arguments: The call's arguments.
        locations: The files that it touches.
        subagent: The name of the child agent that asks, empty for the session itself.
    """

    call_id: str
    session_id: str
    tool: str
    title: str
    kind: str
    arguments: JsonObject
    locations: tuple[Location, ...] = ()
    subagent: str = ""


class Answer(StrEnum):
    """A person's answer. The `always` answers also make a rule of the session."""

    ALLOW_ONCE = "allow_once"
    ALLOW_ALWAYS = "allow_always"
    DENY_ONCE = "deny_once"
    DENY_ALWAYS = "deny_always"
    CANCELLED = "cancelled"


Responder: TypeAlias = Callable[[PermissionQuestion], Awaitable[Answer]]
"""Puts a question to whoever answers. It is cancelled when its time is up, which counts as a deny."""


class Decision(Struct, frozen=True, kw_only=True):
    """What was decided of one call.

    Attributes:
        is_allowed: Whether the call may run.
        reason: Why, as a stable word: `read_only`, `session_local`, `rule`, `mode`, `answer`, `no_responder`,
            `timeout`, `responder_failed`, `plan_mode`, `cancelled`.
        message: The same for the model, in a sentence; empty when allowed.
    """

    is_allowed: bool
    reason: str
    message: str = ""


class PermissionRecord(Struct, frozen=True, kw_only=True):
    """The one record of one evaluation.

    Attributes:
        at: When it was decided, UTC.
        session_id: The session.
        call_id: The call.
        tool: The tool's name.
        owner: Who registered the tool: a plugin's id, `builtin` or `embedder`.
        mode: The mode at that time.
        decision: What was decided.
        rule: The rule that decided, if one did. It may hold paths or command arguments.
        principal: Who answered, where someone did.
        subagent: The child agent that asked, empty for the session itself.
    """

    at: datetime
    session_id: str
    call_id: str
    tool: str
    owner: str
    mode: PermissionMode
    decision: Decision
    rule: Rule | None = None
    principal: str = ""
    subagent: str = ""
