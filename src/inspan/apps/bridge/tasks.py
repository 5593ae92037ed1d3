"""Tasks as the bridge sees them: what the app says of one, read without trust."""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from inspan.apps.client import JsonObject

__all__ = ["TERMINAL", "Task", "read_task", "read_tasks"]

TERMINAL = frozenset({"completed", "failed", "canceled"})
"""The states that a task never leaves."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One task of an app.

    Attributes:
        id: Safe to be put into a command line as it is.
        capability: What is wanted, in the app's own word: never safe to be shown as it is.
        status: Its state.
        payload: What the app says about it: data, whatever it reads like.
        created_at: When it was queued, as the app writes times.
        claimed_at: When it was claimed last, likewise; empty while nobody has it.
        body: All that the app said.
    """

    id: str
    capability: str
    status: str
    payload: Any = None
    created_at: str = ""
    claimed_at: str = ""
    body: JsonObject = {}

    @property
    def is_over(self) -> bool:
        """Whether nothing more can come of it."""
        return self.status in TERMINAL


def read_task(value: object) -> Task | None:
    """A task; `None` where that is none, or has an id that could not go into a command line."""
    if not isinstance(value, dict):
        return None
    body = cast(JsonObject, value)
    id_, request, claim = body.get("id"), body.get("request"), body.get("claim")
    if not isinstance(id_, str) or not _ID.fullmatch(id_) or not isinstance(request, dict):
        return None
    capability = cast(JsonObject, request).get("capability")
    if not isinstance(capability, str) or not capability:
        return None
    return Task(
        id=id_,
        capability=capability,
        status=_text(body.get("status")),
        payload=cast(JsonObject, request).get("payload"),
        created_at=_text(body.get("createdAt")),
        claimed_at=_text(cast(JsonObject, claim).get("claimedAt")) if isinstance(claim, dict) else "",
        body=body,
    )


def read_tasks(body: JsonObject) -> list[Task]:
    """The tasks of a list, the oldest first; what is none is left out."""
    listed = body.get("tasks")
    found = map(read_task, cast("list[object]", listed)) if isinstance(listed, list) else ()
    return sorted((one for one in found if one is not None), key=lambda one: (one.created_at, one.id))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
