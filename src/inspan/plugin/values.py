"""What a plugin is asked and what it answers: one value an operation.

Answers carry a status in Inspan's words; `detail` is the place for what only the harness knows. Launch
requests, plans and probe results are those of `inspan.model.plan`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from inspan.model.evidence import Source
from inspan.model.plan import Problem
from inspan.model.session import IdentityState, Provenance
from inspan.model.turn import CallError

__all__ = [
    "ActivityAnswer",
    "Classified",
    "DeliveryAnswer",
    "ErrorQuery",
    "History",
    "HistoryQuery",
    "Identity",
    "LaunchQuery",
    "Nothing",
    "PermissionAnswer",
    "Preflight",
    "ProcessAnswer",
    "ProcessQuery",
    "PromptQuery",
    "Readiness",
    "ReadyQuery",
    "ResourceChange",
    "ResourceQuery",
    "Teardown",
    "UsageAnswer",
]


class Nothing(msgspec.Struct, frozen=True, kw_only=True):
    """No parameters, or no result but success."""


class Preflight(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What stands in the way of a launch; empty where nothing does."""

    problems: tuple[Problem, ...] = ()


class LaunchQuery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Asks about a launch.

    Attributes:
        seat: The seat's name.
        launch: The launch's id.
        mode: The mode.
        workspace: Absolute path.
        pid: The harness's process id.
        session_id: The session that is open, where one is.
    """

    seat: str
    launch: str
    mode: str
    workspace: str
    pid: int | None = None
    session_id: str | None = None


class ReadyQuery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Asks whether a launch can take a prompt, with what the harness said of itself in its handshake.

    Attributes:
        mode: The mode.
        harness_name: The name that it gives itself; empty where it gave none.
        harness_version: The version that it gives itself; empty where it gave none.
        protocol_version: The version of the protocol that it answered with.
        offers: Named abilities of this very process.
        session_id: The open session, where one is.
    """

    mode: str
    harness_name: str = ""
    harness_version: str = ""
    protocol_version: int | None = None
    offers: tuple[str, ...] = ()
    session_id: str | None = None


class Readiness(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a launch can take a prompt.

    Attributes:
        ready: The answer; `unknown` never counts as a yes.
        why: One sentence.
        advisories: What is odd but no reason to refuse, such as a field that is missing in the handshake.
        detail: What only the harness knows.
    """

    ready: Literal["yes", "no", "unknown"]
    why: str = ""
    advisories: tuple[Problem, ...] = ()
    detail: dict[str, Any] = {}


class ProcessQuery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Asks whether a process looks like this harness.

    Attributes:
        pid: The process id.
        name: Its name.
        command: Its command line.
    """

    pid: int
    name: str = ""
    command: tuple[str, ...] = ()


class ProcessAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a process looks like this harness: a hint, never a proof of ownership."""

    looks_like: Literal["yes", "no", "unknown"]
    why: str = ""
    detail: dict[str, Any] = {}


class Identity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a launch's conversation. `session_id` is given only with `known`; nothing is guessed."""

    state: IdentityState
    session_id: str | None = None
    provenance: Provenance | None = None
    why: str = ""
    detail: dict[str, Any] = {}


class ActivityAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a session does, with the evidence for it."""

    value: Literal["unknown", "running", "idle"]
    source: Source
    rule: str
    detail: dict[str, Any] = {}


class UsageAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How full the context is; `None` where the harness does not say."""

    used_tokens: int | None = None
    size_tokens: int | None = None
    source: str = ""
    detail: dict[str, Any] = {}


class PromptQuery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Asks a plugin that owns its harness's input to deliver a prompt.

    Attributes:
        launch: The launch.
        delivery: The delivery's id; the same id again reads the outcome back and never sends twice.
        text: The prompt; a secret in logs.
    """

    launch: LaunchQuery
    delivery: str
    text: str


class DeliveryAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a prompt got."""

    state: Literal["sent", "accepted", "rendered", "started", "refused", "failed", "unknown"]
    why: str = ""
    detail: dict[str, Any] = {}


class PermissionAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Answers a permission request with an option's id, or with `cancelled` for `None`."""

    launch: LaunchQuery
    request: str
    option: str | None = None


class ResourceQuery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Asks to put resources where the harness reads them, or to take them away again.

    Attributes:
        workspace: Absolute path.
        kind: What they are.
        names: Their names.
        sources: Their files or folders by name; absolute.
    """

    workspace: str
    kind: Literal["guidance", "skill"]
    names: tuple[str, ...]
    sources: dict[str, str] = {}


class ResourceChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which paths were written or removed."""

    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    detail: dict[str, Any] = {}


class HistoryQuery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Asks for a session's history since an opaque cursor."""

    session_id: str
    workspace: str
    cursor: str | None = None
    limit: int = 200


class History(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of a session's history.

    Attributes:
        entries: Entries as JSON objects, oldest first.
        cursor: Where the next piece begins.
        is_reset: The cursor that was given is no longer known; this piece begins at the start.
    """

    entries: tuple[dict[str, Any], ...] = ()
    cursor: str | None = None
    is_reset: bool = False


class Classified(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A harness's error in Inspan's words: `error.code` is one of `inspan.model.errors.ERROR_CODES`."""

    error: CallError
    detail: dict[str, Any] = {}


class ErrorQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Asks what an error of the harness means."""

    mode: str
    error: CallError


class Teardown(msgspec.Struct, frozen=True, kw_only=True):
    """Says that a seat's launch is over for good, and whether the seat was deleted."""

    seat: str
    is_deleted: bool
