"""Hooks as data: where a harness's hook system is told of ours, and what each of its events says."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from .permission import NeedsInputKind

__all__ = [
    "HookEvent",
    "HookInstall",
    "HookReport",
    "HookSession",
    "HookSettings",
    "HookTurnEnd",
    "HooksHeard",
]

Text = Annotated[str, msgspec.Meta(min_length=1)]
FieldPath = Annotated[str, msgspec.Meta(pattern=r"^([A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*)?$")]
EventName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$")]
EnvName = Annotated[str, msgspec.Meta(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")]
Matches = dict[FieldPath, tuple[str, ...]]
"""Paths in the payload, each with the values of which it must have one; none takes any value that is there."""


class HookTurnEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a turn ended, as an event says it.

    Attributes:
        outcome: Its outcome.
        error: Path of the harness's word for its error.
        message: Path of the error in words.
        limited: Regular expression of errors, searched in word and message, that are a usage limit.
        auth_required: The same for errors that want a sign-in.
    """

    outcome: Literal["completed", "failed"] = "completed"
    error: FieldPath = ""
    message: FieldPath = ""
    limited: str = ""
    auth_required: str = ""


class HookEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What one event says. The first that fits an event counts; one that nothing fits says nothing.

    Attributes:
        name: The event, as it is registered.
        when: What its payload must hold.
        says: What the session does from then on; empty says nothing of that.
        kind: What a person owes, with `needs_input`. It comes before its dialog is drawn, so that it permits no key.
        prompt: Path of the prompt's text: a witness that the harness works on a prompt of that text.
        ends: The turn ended, and how. Left out where the event comes whatever became of the turn.
        begins_session: It says which session is open.
        changes_session: It is no second start: another session took the place of the one before, in this process.
        source: Where the fact comes from, where it is not the section's.
    """

    name: EventName
    when: Matches = {}
    says: Literal["running", "idle", "needs_input", ""] = ""
    kind: NeedsInputKind | None = None
    prompt: FieldPath = ""
    ends: HookTurnEnd | None = None
    begins_session: bool = False
    changes_session: bool = False
    source: str = ""


class HookSession(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How an event says whose it is.

    Attributes:
        id: Path of the session's id.
        file: Path of the session's file, by which sessions are told apart where the ids are not to be relied on.
        file_pattern: Regular expression whose group `session` is the id, or its beginning, in the file's path.
        header_pattern: Regular expression whose group `session` is the whole id, searched in the file's beginning.
        folder: Path of the working folder; a session that begins in another than the seat's is not the seat's.
        turn: Path of the turn's id, which its beginning and its end share.
    """

    id: FieldPath = ""
    file: FieldPath = ""
    file_pattern: str = ""
    header_pattern: str = ""
    folder: FieldPath = ""
    turn: FieldPath = ""


class HookInstall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A place where the harness is told of our relay, and the rule by which it is put there.

    `{command}` stands for the relay's command line, `{event}` for the event's name.

    Attributes:
        scope: `seat`: a file of one launch, which nobody else reads. `shared`: the operator's own, into which ours are
            merged; `inspan hooks install` alone does it.
        path: Where the file is: with `seat`, below the launch's folder; with `shared`, absolute, with `{config}` (the
            harness's configuration folder), `{home}` or `{workspace}`.
        format: `json`: an array an event, at `under`. `toml`: lines at the file's end. `file`: a file that is ours.
        under: Keys that lead to the object of events.
        entry: The element of an event's array; with `toml`, the lines of one event; with `file`, the whole text.
        preamble: Members that the file must have, each with its JSON, put in where it is missing.
        args: Further arguments by which the harness is told of the file, `{file}` stands for it.
        environment: Further variables, likewise.
        unless_exists: Files that the harness would not read any more because of ours: where one is there, or one of
            the variables in `environment` is set, this place is not used.
        needs: What a person must still do, such as to trust the hooks once.
        source: Where the fact comes from.
        verified: Date and version.
    """

    scope: Literal["seat", "shared"]
    path: Text
    format: Literal["json", "toml", "file"] = "json"
    under: tuple[str, ...] = ("hooks",)
    entry: Text
    preamble: dict[str, str] = {}
    args: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    unless_exists: tuple[str, ...] = ()
    needs: str = ""
    source: str = ""
    verified: str = ""


class HookSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A harness's hooks.

    Attributes:
        events: What each event says.
        ignore_when: Payloads that are of a helper of the session, and say nothing of it.
        session: How an event says whose it is.
        install: Places where the harness is told of our relay, the preferred first.
        source: Where the facts come from.
        verified: Date and version.
    """

    events: tuple[HookEvent, ...] = ()
    ignore_when: Matches = {}
    session: HookSession = HookSession()
    install: tuple[HookInstall, ...] = ()
    source: str = ""
    verified: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Every event that is listened to, once."""
        return tuple(dict.fromkeys(event.name for event in self.events))

    @property
    def has_witness(self) -> bool:
        """Whether an event carries the text of a prompt."""
        return any(event.prompt for event in self.events)


class HookReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event, as it reached the seat; text and ids are secrets in logs.

    Attributes:
        event: Its name.
        order: Its place among the launch's events: when the relay started, on a clock that never runs back.
        id: Names it among all events of the launch, so that it counts once.
        at_ns: When that was, in nanoseconds since 1970.
        payload: What it carries.
        depth: How many processes stand between the launch's own and the relay; `None` where nobody knows.
        session: The session's id, where it was read from the session's own file.
    """

    event: str
    order: int
    id: str
    at_ns: int
    payload: dict[str, object] = {}
    depth: int | None = None
    session: str = ""


class HooksHeard(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a launch's hooks, while this daemon follows it.

    Attributes:
        heard: How many events were taken.
        last_event: The newest of them.
        dropped: How many were not, by reason: `other_launch`, `no_token`, `malformed`, `not_json`, `too_large`,
            `other_session`, `helper`, `seen_before`, `unknown_event`.
        is_full: The spool ran full while no daemon listened, so that events may be lost.
    """

    heard: int = 0
    last_event: str = ""
    dropped: dict[str, int] = {}
    is_full: bool = False
