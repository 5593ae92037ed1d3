"""One HTTP call as the routes see it, and what they answer with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from inspan.apps.model.envelope import error_body

__all__ = ["LARGEST_BODY", "Call", "Refused", "Reply", "parse_object", "refuse"]

LARGEST_BODY = 4 * 1024 * 1024
"""The most bytes of a request's body."""

_DEEPEST = 64
_LARGEST_INTEGER = 2**53 - 1


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request.

    Attributes:
        method: In capitals.
        segments: The path's parts, each decoded by itself.
        query: The query's values; the last of each name.
        headers: By name in lower case.
        body: The raw bytes.
        port: The port that the server listens on.
    """

    method: str
    segments: tuple[str, ...]
    query: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    body: bytes = b""
    port: int = 0

    def header(self, *names: str) -> str:
        """The first of these headers that is there, without space around it; empty where none is."""
        for name in names:
            if value := self.headers.get(name, "").strip():
                return value
        return ""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What is answered: a status and a JSON value."""

    status: int
    body: Any
    headers: tuple[tuple[str, str], ...] = ()


class Refused(Exception):
    """A call is refused. It is raised where the reason is found, and ends the call.

    Attributes:
        reply: The answer.
        code: Its code.
        target: What was to be written, as the audit names it; empty where nothing was.
        record_id: Which record or task it was.
    """

    def __init__(self, reply: Reply, code: str) -> None:
        super().__init__(code)
        self.reply = reply
        self.code = code
        self.target = ""
        self.record_id: str | None = None

    def concerning(self, target: str, record_id: str | None = None) -> None:
        """Says what was to be written, if that was not said yet."""
        if not self.target:
            self.target, self.record_id = target, record_id


def refuse(status: int, code: str, message: str, **extra: Any) -> Refused:
    """The refusal with this status and code; to be raised."""
    return Refused(Reply(status=status, body=error_body(code, message, **extra)), code)


def parse_object(call: Call) -> dict[str, Any]:
    """The JSON object in the body; an empty body is an empty object.

    Raises:
        Refused: It is no JSON object, is nested too deeply, or holds a whole number that is not the same everywhere.
    """
    if not call.body.strip():
        return {}
    try:
        value = msgspec.json.decode(call.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        why = "is nested too deeply" if isinstance(error, RecursionError) else "is not JSON"
        raise refuse(400, "usage", f"The body {why}.") from error
    if not isinstance(value, dict):
        raise refuse(400, "usage", "The body is not a JSON object.")
    found = cast("dict[str, Any]", value)
    _check_shape(found)
    return found


def _check_shape(value: dict[str, Any]) -> None:
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        following: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                following.extend(cast("dict[str, Any]", one).values())
            elif isinstance(one, list):
                following.extend(cast("list[Any]", one))
            elif isinstance(one, int) and abs(one) > _LARGEST_INTEGER:
                raise refuse(400, "usage", f"A whole number is over {_LARGEST_INTEGER}: send it as text.")
        if not following:
            return
        level = following
    raise refuse(400, "usage", f"The body is nested deeper than {_DEEPEST}.")
