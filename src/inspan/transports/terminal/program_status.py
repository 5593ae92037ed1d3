"""Program status (OSC 7501): what a program says of itself, read from one sequence.

A report is display data of a program that may be wrong or hostile. Every field has its bound, a field that
breaks it costs the whole report where the text could mislead, and no report ever authorises anything.

source: the public specification of the Program Status Protocol, revision 0.4
verified: 2026-11-30
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from typing import Literal, get_args

import msgspec

from .titles import clean_text

__all__ = [
    "MAX_DEPTH",
    "MAX_ID_BYTES",
    "MAX_MESSAGE_BYTES",
    "MAX_SEQUENCE_BYTES",
    "MAX_TITLE_BYTES",
    "NUMBER",
    "BlockedKind",
    "Discarded",
    "StatusQuestion",
    "StatusReport",
    "StatusState",
    "parse_status",
]

NUMBER = b"7501"
MAX_SEQUENCE_BYTES = 4096
MAX_ID_BYTES = 128
MAX_DEPTH = 8
MAX_APP_BYTES = 32
MAX_TITLE_BYTES = 192
MAX_MESSAGE_BYTES = 2048

StatusState = Literal["idle", "working", "blocked", "done", "error", "clear"]
BlockedKind = Literal["permission", "question", "auth"]

STATES: frozenset[str] = frozenset(get_args(StatusState))
KINDS: frozenset[str] = frozenset(get_args(BlockedKind))
KEY = re.compile(r"[a-z]{1,16}")
SEGMENT = re.compile(r"[A-Za-z0-9_.+-]{1,32}")
PERCENT = re.compile(r"[0-9]{1,3}")
BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
FRAME_BYTES = len(b"\x1b]") + len(b"\x07")


class StatusQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The program asks whether this terminal takes reports."""


class StatusReport(msgspec.Struct, frozen=True, kw_only=True):
    """One report, every field within its bounds.

    Attributes:
        state: The state.
        id: The record that it is about: segments joined by `/`; empty for the root record.
        kind: What the program is blocked by; only with `blocked`.
        progress: 0 to 100.
        app: The program's short name.
        title: What the record is about.
        message: A sentence; a secret in logs.
    """

    state: StatusState
    id: str = ""
    kind: BlockedKind | None = None
    progress: int | None = None
    app: str = ""
    title: str = ""
    message: str = ""


class Discarded(msgspec.Struct, frozen=True, kw_only=True):
    """A sequence of this protocol that is no report, and why."""

    reason: str


class _Fault(Exception):
    """A field that costs the whole report."""


def parse_status(
    content: bytes, *, is_truncated: bool = False
) -> StatusQuestion | StatusReport | Discarded | None:
    """Read one OSC sequence.

    Args:
        content: What stands between introducer and terminator, beginning with the number.
        is_truncated: Whether its end was cut off.

    Returns:
        `None` where the sequence belongs to another protocol.
    """
    number, separator, body = content.partition(b";")
    if number != NUMBER or not separator:
        return None
    if is_truncated or len(content) + FRAME_BYTES > MAX_SEQUENCE_BYTES:
        return Discarded(reason=f"it has more than {MAX_SEQUENCE_BYTES} bytes")
    if body == b"?":
        return StatusQuestion()
    try:
        return _report(_fields(body))
    except _Fault as fault:
        return Discarded(reason=str(fault))


def _fields(body: bytes) -> dict[str, str]:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise _Fault("it is not UTF-8") from None
    fields: dict[str, str] = {}
    for part in text.split(":"):
        key, separator, value = part.partition("=")
        key = key.strip(" ")
        if separator and KEY.fullmatch(key):
            fields[key] = value.strip(" ")
    return fields


def _report(fields: dict[str, str]) -> StatusReport:
    state = fields.get("state", "")
    if state not in STATES:
        raise _Fault("it has no state that the protocol knows")
    kind = fields.get("kind", "")
    percent = fields.get("progress", "")
    return StatusReport(
        state=msgspec.convert(state, StatusState),
        id=_id(fields["id"]) if "id" in fields else "",
        kind=msgspec.convert(kind, BlockedKind) if state == "blocked" and kind in KINDS else None,
        progress=int(percent) if PERCENT.fullmatch(percent) and int(percent) <= 100 else None,
        app=_text("app", fields.get("app", "").encode(), MAX_APP_BYTES),
        title=_encoded("title", fields.get("title", ""), MAX_TITLE_BYTES),
        message=_encoded("msg", fields.get("msg", ""), MAX_MESSAGE_BYTES),
    )


def _id(value: str) -> str:
    segments = value.split("/")
    if len(value) > MAX_ID_BYTES or len(segments) > MAX_DEPTH or not all(map(SEGMENT.fullmatch, segments)):
        raise _Fault("its id cannot be used")
    return value


def _encoded(name: str, value: str, limit_bytes: int) -> str:
    if not value:
        return ""
    if not BASE64.fullmatch(value):
        raise _Fault(f"its {name} is not base64")
    bare = value.rstrip("=")
    try:
        raw = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except binascii.Error:
        raise _Fault(f"its {name} is not base64") from None
    return _text(name, raw, limit_bytes)


def _text(name: str, raw: bytes, limit_bytes: int) -> str:
    if len(raw) > limit_bytes:
        raise _Fault(f"its {name} has more than {limit_bytes} bytes")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise _Fault(f"its {name} is not UTF-8") from None
    if any(unicodedata.category(letter) == "Cc" for letter in text):
        raise _Fault(f"its {name} has control characters")
    return clean_text(text)
