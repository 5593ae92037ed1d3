"""Lines: the record that a line holds."""

from __future__ import annotations

from typing import Any

import msgspec

from inspan.transports.acp.loose import mapping
from inspan.transports.acp.wire import UNREADABLE, mend

__all__ = ["quoted", "read_record"]

_QUOTED_CHARACTERS = 120


def read_record(line: bytes) -> dict[str, Any] | None:
    """The JSON object of a line, with damaged text replaced; `None` where it is none."""
    if not line.startswith(b"{"):
        return None
    try:
        return mapping(msgspec.json.decode(line))
    except UNREADABLE:
        mended = mend(line)
        return None if mended is None else mapping(msgspec.json.decode(mended))


def quoted(line: bytes) -> str:
    """The beginning of a line, for an error that is about it."""
    return line[: _QUOTED_CHARACTERS * 4].decode("utf-8", errors="replace")[:_QUOTED_CHARACTERS]
