"""Permission request: the harness asks, someone answers."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

__all__ = [
    "AnsweredBy",
    "Decision",
    "NeedsInputKind",
    "OptionKind",
    "PermissionOption",
    "ToolCall",
    "choose_option",
]


class NeedsInputKind(StrEnum):
    """What kind of answer a person owes."""

    PERMISSION = "permission"
    QUESTION = "question"
    PLAN = "plan"
    TRUST = "trust"
    LOGIN = "login"
    UPDATE = "update"
    LIMIT = "limit"


class OptionKind(StrEnum):
    """What an option does; the harness's own name and id say nothing reliable. `other` is any further kind."""

    ALLOW_ONCE = "allow_once"
    ALLOW_ALWAYS = "allow_always"
    REJECT_ONCE = "reject_once"
    REJECT_ALWAYS = "reject_always"
    OTHER = "other"


class PermissionOption(msgspec.Struct, frozen=True, kw_only=True):
    """One answer that the harness offers.

    Attributes:
        id: The harness's own id of it.
        name: The harness's own label.
        kind: What it does.
        raw_kind: The kind as the harness spelled it.
    """

    id: str
    name: str
    kind: OptionKind
    raw_kind: str


class Decision(StrEnum):
    """What was decided; `cancelled` says that nobody decided."""

    ALLOW = "allow"
    DENY = "deny"
    CANCELLED = "cancelled"


class AnsweredBy(StrEnum):
    """Who decided."""

    OPERATOR = "operator"
    POSTURE = "posture"
    EXPIRY = "expiry"
    CANCEL = "cancel"
    LAUNCH_END = "launch_end"
    HARNESS = "harness"
    POLICY = "policy"


def choose_option(
    options: tuple[PermissionOption, ...], kinds: tuple[OptionKind, ...]
) -> PermissionOption | None:
    """The first option of the first kind in `kinds` that is offered at all, else `None`.

    Options are chosen by kind, never by id or position: two options of one kind are offered by some
    harnesses, and the first of them is the plain one (observed, 2026-11).
    """
    for kind in kinds:
        for option in options:
            if option.kind == kind:
                return option
    return None


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a permission request is about, as far as the harness says.

    Attributes:
        id: The harness's id of the tool call; some requests carry nothing else.
        title: A line for a person.
        kind: The harness's own kind (`execute`, `edit`, …).
        raw_input: The arguments, unchanged.
        content: Diffs and text shown with it, unchanged.
        locations: Files it touches, unchanged.
    """

    id: str
    title: str = ""
    kind: str = ""
    raw_input: Any = None
    content: Any = None
    locations: Any = None
