"""What a note of memory is, and how it stands in its file: a line that sums it up, an empty line, its text."""

from __future__ import annotations

import re
from datetime import datetime

from msgspec import Struct

from inspan.agent.text import clean_text
from inspan.model.errors import UsageError

__all__ = [
    "LARGEST_TEXT_CHARS",
    "LONGEST_SUMMARY_CHARS",
    "MOST_NOTES",
    "NOTE_NAME",
    "Note",
    "check_name",
    "decode_note",
    "encode_note",
]

NOTE_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
"""What a note may be called, whole."""

LARGEST_TEXT_CHARS = 16_000
"""The longest text of a note."""

LONGEST_SUMMARY_CHARS = 200
"""The longest line that sums a note up."""

MOST_NOTES = 200
"""The most notes of one workspace, and the most of all workspaces together."""


class Note(Struct, frozen=True, kw_only=True):
    """A note.

    Attributes:
        name: Matches `NOTE_NAME`; unique in its scope.
        is_global: Whether it is of all workspaces rather than of one.
        summary: One line for the index.
        text: The whole text; empty in lists.
        changed_at: When it was last saved, UTC.
    """

    name: str
    is_global: bool
    summary: str
    text: str
    changed_at: datetime


def check_name(name: str) -> str:
    """The name.

    Raises:
        UsageError: `invalid_argument`: no note can be called so.
    """
    if NOTE_NAME.fullmatch(name) is None:
        raise UsageError(
            f"{name[:80]!r} cannot name a note: lower-case letters, digits and `-`, at most 64.",
            code="invalid_argument",
        )
    return name


def encode_note(summary: str, text: str) -> bytes:
    """A note as its file has it.

    Raises:
        UsageError: `invalid_argument`: the summary or the text is empty or too long.
    """
    line = " ".join(clean_text(summary).split())
    body = clean_text(text).strip()
    if not line or len(line) > LONGEST_SUMMARY_CHARS:
        raise UsageError(
            f"A note needs a summary of one line, at most {LONGEST_SUMMARY_CHARS} characters.",
            code="invalid_argument",
        )
    if not body or len(body) > LARGEST_TEXT_CHARS:
        raise UsageError(
            f"A note needs a text of at most {LARGEST_TEXT_CHARS:,} characters; this one has {len(body):,}.",
            code="invalid_argument",
        )
    return f"{line}\n\n{body}\n".encode()


def decode_note(data: bytes) -> tuple[str, str]:
    """Summary and text of a file's content; of any bytes, since a person may have edited it."""
    line, _, text = data.decode("utf-8", "replace").replace("\r\n", "\n").strip().partition("\n")
    return " ".join(line.split())[:LONGEST_SUMMARY_CHARS], text.strip()[:LARGEST_TEXT_CHARS]
