"""`tasks next`: waits for work, and takes it."""

from __future__ import annotations

import time
from collections.abc import Collection
from urllib.parse import urlsplit

from inspan.apps.client import JsonObject, Reply
from inspan.apps.programs.screen import note, print_json

from .answers import refusal
from .labels import objects_in
from .session import Session

__all__ = ["next_task", "rest_ms"]

NEAR_MS = 300
"""How long a look at an app on this machine rests before the next.

Work is then seen after half of it, at the median. An app of ours counts looks apart from all other calls, and allows a
credential those of thirty waiting agents; for an app that does not, a waiting agent takes a sixth of 1200 calls."""

_DEFAULT_MS = 2000
_SHORTEST_MS = 50


def next_task(
    session: Session, *, wait_ms: int, capabilities: Collection[str], agent: str | None, claims: bool
) -> int:
    """Looks for a task that nobody has, oldest first, and claims it; gives the exit status.

    That none comes in time is an answer and no failure. A task that somebody else claims first is passed over.

    Args:
        session: The app.
        wait_ms: How long to wait; 0 looks once.
        capabilities: Only tasks that want one of these; all where it is empty.
        agent: What to claim as; the credential alone where it is None.
        claims: Whether to take the task; else it is only shown.

    Raises:
        AppUnreachable: The app does not answer any more.
    """
    began = time.monotonic()
    while True:
        reply = session.client.tasks("submitted")
        if not reply.is_ok and reply.status != 429:
            return refusal(reply)
        for task in _waiting(reply, capabilities):
            if not claims:
                print_json({"a2app": True, "task": task, "claimed": False})
                return 0
            claimed = session.client.claim(str(task["id"]), agent)
            if claimed.is_ok:
                print_json({"a2app": True, "task": claimed.body, "claimed": True})
                note(f"  next: {session.command('tasks', 'progress', str(task['id']), '--step', 'TEXT')}")
                note(f"  next: {session.command('tasks', 'complete', str(task['id']), '--result', 'JSON')}")
                return 0
            if claimed.status != 409:
                return refusal(claimed)
        waited_ms = (time.monotonic() - began) * 1000
        if waited_ms >= wait_ms:
            print_json({"a2app": True, "task": None, "claimed": False, "waitedMs": round(waited_ms)})
            return 0
        time.sleep(rest_ms(session.client.base_url, reply, left_ms=wait_ms - waited_ms) / 1000)


def rest_ms(base_url: str, reply: Reply, *, left_ms: float) -> float:
    """How long to rest until the next look.

    An app elsewhere is asked as often as it wishes (`pollAfterMs`). One on this machine is asked more often than the
    two seconds that every app names, so that work is begun soon after it is there, unless it wishes for more still;
    and one that says that it is asked too often is left alone for as long as it says.
    """
    wished = reply.body.get("pollAfterMs")
    rest = float(wished) if isinstance(wished, (int, float)) and wished > 0 else float(_DEFAULT_MS)
    if (urlsplit(base_url).hostname or "") in ("127.0.0.1", "localhost", "::1"):
        rest = min(rest, NEAR_MS)
    if reply.status == 429:
        seconds = reply.body.get("retryAfterSeconds")
        rest = max(rest, float(seconds) * 1000 if isinstance(seconds, (int, float)) else _DEFAULT_MS)
    return max(min(rest, max(left_ms, _SHORTEST_MS)), _SHORTEST_MS)


def _waiting(reply: Reply, capabilities: Collection[str]) -> list[JsonObject]:
    tasks = [
        task
        for task in objects_in(reply.body if reply.is_ok else {}, "tasks")
        if isinstance(task.get("id"), str)
        and task["id"]
        and task.get("status", "submitted") == "submitted"
        and (not capabilities or _capability(task) in capabilities)
    ]
    return sorted(tasks, key=lambda task: str(task.get("createdAt", "")))


def _capability(task: JsonObject) -> object:
    request: object = task.get("request")
    return request.get("capability") if isinstance(request, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
