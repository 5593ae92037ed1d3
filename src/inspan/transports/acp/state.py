"""What the machine must remember across a restart, and how it is written."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["AcpState", "CallKind", "OpenCall", "SetupStep", "read_state", "write_state"]

CallKind = Literal[
    "initialize",
    "authenticate",
    "new",
    "load",
    "resume",
    "fork",
    "set_mode",
    "set_config",
    "prompt",
    "look_up",
    "list",
    "delete",
    "close",
    "other",
]
"""What an open call of ours is for; `look_up` lists sessions to find one that is to be resumed, `other` is a call
that only a recorded client made."""


class OpenCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call that was written and not answered yet.

    Attributes:
        kind: What it is for.
        delivery: The delivery that a prompt carries.
        session: The session that it names.
        option: The session option that it sets.
        value: What it sets a mode or an option to.
        request: The request of core that it carries out.
        pages: How many pages were looked at before.
        is_given_up: Nobody waits for its answer.
    """

    kind: CallKind
    delivery: str | None = None
    session: str | None = None
    option: str | None = None
    value: str | None = None
    request: str | None = None
    pages: int = 0
    is_given_up: bool = False


class SetupStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A mode or option that is to be set before the session counts as ready.

    Attributes:
        option: The session option's id; `None` sets the session mode by its own call.
        value: What to set.
        is_boolean: The option is one of yes and no.
    """

    value: str
    option: str | None = None
    is_boolean: bool = False


class AcpState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The durable state of one launch.

    Attributes:
        version: The version of this shape.
        phase: How far the launch got.
        next_id: The id of our next call; it grows by one.
        calls: Our open calls, by the JSON text of their id.
        unwitnessed: The id of the open prompt for which no witness was seen.
        session: The open session.
        how: How it was opened.
        offers: What the process offers.
        setup: What is still to be set before the session is ready.
        mode: The session mode in force, as far as the harness said.
        mode_option: The session option that stands for the mode, where there is no mode of its own.
        permissions: Their open permission requests, by the JSON text of their id.
        rejecting: The options of this turn's requests by which they are rejected.
        has_rejected: One of them was chosen.
        questions: Their open questions, likewise.
        offered: A checksum of the options that were reported last.
        replay: `opening` while a call is open that may tell the conversation again; `after` while a harness
            that answers first may still do so.
        has_replayed: The conversation began to be told again.
        has_ended_replay: The sign that ends it was seen.
        is_discarding: The stream is inside a line over the cap.
        last_words: The beginning of the turn's last message, where it is wanted.
        last_words_id: The id of that message, where it has one.
        written_tokens: Tokens that the model wrote so far, where the harness counts them from its start on.
    """

    version: Literal[1] = 1
    phase: Literal["begun", "connected", "setting_up", "ready", "failed"] = "begun"
    next_id: int = 1
    calls: dict[str, OpenCall] = {}
    unwitnessed: str | None = None
    session: str | None = None
    how: Literal["new", "resumed", "loaded", "forked"] = "new"
    offers: tuple[str, ...] = ()
    setup: tuple[SetupStep, ...] = ()
    mode: str | None = None
    mode_option: str | None = None
    permissions: tuple[str, ...] = ()
    rejecting: tuple[str, ...] = ()
    has_rejected: bool = False
    questions: tuple[str, ...] = ()
    offered: int | None = None
    replay: Literal["no", "opening", "after"] = "no"
    has_replayed: bool = False
    has_ended_replay: bool = False
    is_discarding: bool = False
    last_words: str = ""
    last_words_id: str | None = None
    written_tokens: int = 0


def write_state(state: AcpState) -> bytes:
    """The state as JSON."""
    return msgspec.json.encode(state)


def read_state(snapshot: bytes) -> AcpState:
    """The state that `write_state` wrote.

    Raises:
        msgspec.DecodeError: It is no such state.
    """
    return msgspec.json.decode(snapshot, type=AcpState)
