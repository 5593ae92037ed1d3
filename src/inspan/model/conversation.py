"""What a harness offers for an open session, and what it answers when it is asked about its sessions."""

from __future__ import annotations

from typing import Literal

import msgspec

from .turn import CallError

__all__ = [
    "OFFERED_OPTIONS_CAP",
    "OFFERED_VALUES_CAP",
    "SESSIONS_CAP",
    "ListedSession",
    "OfferedOption",
    "OptionsOffered",
    "SessionClosed",
    "SessionDeleted",
    "SessionsListed",
    "SettingAnswered",
]

OFFERED_OPTIONS_CAP = 64
"""How many options of a session are kept."""

OFFERED_VALUES_CAP = 256
"""How many values of one option are kept; a list of models can be long."""

SESSIONS_CAP = 500
"""How many sessions of one answer are kept."""


class OfferedOption(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An option that a session offers.

    Attributes:
        id: The harness's own id of it.
        name: The harness's own label.
        category: What the harness says that it is about (`model`, `mode`, `thought_level`, …).
        kind: How it is set; `other` is any further kind.
        values: The values that may be chosen, in the harness's order; empty for `boolean`.
        omitted: How many further values there are.
    """

    id: str
    name: str = ""
    category: str = ""
    kind: Literal["select", "boolean", "other"] = "select"
    values: tuple[str, ...] = ()
    omitted: int = 0


class OptionsOffered(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="options_offered"):
    """The options that the session offers, whole: what may be asked for, not what is in force."""

    options: tuple[OfferedOption, ...] = ()
    replay: bool = False


class SettingAnswered(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="setting_answered"):
    """The harness answered that a mode or an option is to be set. An accepted call is no observation.

    Attributes:
        option: The option's id; `None` for the session mode.
        value: What was asked for.
        error: The harness's refusal; `None` where it accepted.
    """

    value: str
    option: str | None = None
    error: CallError | None = None


class ListedSession(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session that a harness keeps.

    Attributes:
        id: The harness's own id of it.
        workspace: The folder that it was opened in.
        title: Its title, where it has one.
        updated_at: When it last changed, as the harness wrote it.
    """

    id: str
    workspace: str = ""
    title: str = ""
    updated_at: str = ""


class SessionsListed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="sessions_listed"):
    """One page of the sessions that the harness keeps.

    Attributes:
        request: The request that it answers.
        sessions: The sessions, in the harness's order, at most `SESSIONS_CAP`.
        cursor: Asks for the next page; `None` at the end.
        omitted: How many sessions of the page were left out, since it is over the cap.
        error: Why there is no list.
    """

    request: str
    sessions: tuple[ListedSession, ...] = ()
    cursor: str | None = None
    omitted: int = 0
    error: CallError | None = None


class SessionDeleted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="session_deleted"):
    """The harness answered that a session is to be deleted; with `error` it was not."""

    request: str
    session: str
    error: CallError | None = None


class SessionClosed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="session_closed"):
    """The harness answered that the open session is to be closed: with `error` it may be open still.

    A closed session can be resumed.
    """

    error: CallError | None = None
