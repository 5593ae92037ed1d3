"""What stands in a session's file: one JSON object a line, each complete in itself, never edited."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

import msgspec
from msgspec import Struct

from inspan.agent.conversation import CallResult, Message, Summary
from inspan.agent.permissions.values import PermissionMode, PermissionRecord, Rule
from inspan.agent.text import clean_json
from inspan.agent.values import Usage

__all__ = [
    "FORMAT",
    "ChildUsageKept",
    "CompactionKept",
    "Header",
    "MessageKept",
    "PermissionKept",
    "ResultKept",
    "RuleKept",
    "SessionRecord",
    "SessionSettings",
    "SettingsKept",
    "TurnBegan",
    "TurnFinished",
    "decode_record",
    "encode_record",
]

FORMAT = 1
"""The version of the file's form."""


class SessionSettings(Struct, frozen=True, kw_only=True):
    """What a session runs with.

    Attributes:
        model: `provider:model`.
        permission_mode: What may be done unasked.
        effort: How hard the model thinks (`low`, `medium`, `high`), empty to leave it.
    """

    model: str
    permission_mode: PermissionMode = PermissionMode.DEFAULT
    effort: str = ""


class Header(Struct, frozen=True, kw_only=True, tag="header"):
    """The first line.

    Attributes:
        format: `FORMAT` of whoever wrote it.
        id: The session.
        workspace: The folder it works in, absolute.
        created_at: UTC.
        forked_from: The session it was copied from; empty if it was begun anew.
    """

    format: int
    id: str
    workspace: str
    created_at: datetime
    forked_from: str = ""


class SettingsKept(Struct, frozen=True, kw_only=True, tag="settings"):
    """The settings from here on."""

    at: datetime
    settings: SessionSettings


class MessageKept(Struct, frozen=True, kw_only=True, tag="message"):
    """A message, but for those of results, which are kept one by one."""

    message: Message


class ResultKept(Struct, frozen=True, kw_only=True, tag="result"):
    """What one call of the assistant message before gave. They come as the calls end, in any order."""

    at: datetime
    result: CallResult


class CompactionKept(Struct, frozen=True, kw_only=True, tag="compaction"):
    """From here on `summary` is sent in the place of all messages but the `kept` newest ones."""

    summary: Summary
    kept: int


class RuleKept(Struct, frozen=True, kw_only=True, tag="rule"):
    """A rule that an answer made."""

    at: datetime
    rule: Rule


class PermissionKept(Struct, frozen=True, kw_only=True, tag="permission"):
    """One evaluation of the permission engine."""

    record: PermissionRecord


class ChildUsageKept(Struct, frozen=True, kw_only=True, tag="child_usage"):
    """What a child agent spent, which has no messages here."""

    at: datetime
    usage: Usage


class TurnBegan(Struct, frozen=True, kw_only=True, tag="turn_began"):
    """A turn began; its prompt comes next."""

    at: datetime
    turn: int


class TurnFinished(Struct, frozen=True, kw_only=True, tag="turn_finished"):
    """A turn ended in good order. After a crash there is none."""

    at: datetime
    turn: int
    stop_reason: str
    message: str
    usage: Usage


SessionRecord: TypeAlias = (
    Header
    | SettingsKept
    | MessageKept
    | ResultKept
    | CompactionKept
    | RuleKept
    | PermissionKept
    | ChildUsageKept
    | TurnBegan
    | TurnFinished
)

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[SessionRecord] = msgspec.json.Decoder(SessionRecord)


def encode_record(record: SessionRecord) -> bytes:
    """One line, its newline included."""
    try:
        return _ENCODER.encode(record) + b"\n"
    except UnicodeEncodeError:
        return _ENCODER.encode(clean_json(msgspec.to_builtins(record))) + b"\n"


def decode_record(line: bytes) -> SessionRecord:
    """The record of a line.

    Raises:
        msgspec.MsgspecError: It is none.
    """
    return _DECODER.decode(line)
