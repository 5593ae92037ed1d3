"""The small routes: identity, who looks, who am I, what is selected, what happened."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from inspan.apps.model.app_model import RECORD_ID

from .caller import ANONYMOUS, UI
from .calls import Call, Reply, parse_object, refuse
from .served import Served
from .viewers import VIEWER_TTL_MS, Selected, View

__all__ = ["answer_context", "answer_events", "answer_identity", "answer_viewers", "answer_whoami"]

_POLL_AFTER_MS = 3000
_LONGEST_VIEW = 120
_MOST_SELECTED = 100


def answer_identity(served: Served, call: Call) -> Reply:
    """Says who the app is, to anybody; the page that asks counts as somebody who looks."""
    viewer = call.headers.get("x-a2app-viewer", call.query.get("viewer", ""))
    if viewer:
        is_leaving = "x-a2app-viewer-leaving" in call.headers or "leaving" in call.query
        served.viewers.note(viewer, is_leaving=is_leaving)
    return Reply(status=200, body=served.identity())


def answer_viewers(served: Served, call: Call) -> Reply:
    """Says how many look."""
    served.gate.authorise(call, scope=None, is_write=False)
    return Reply(status=200, body={"a2app": True, "viewers": served.viewers.count(), "ttlMs": VIEWER_TTL_MS})


def answer_whoami(served: Served, call: Call) -> Reply:
    """Says who the caller is and what it may do."""
    caller = served.gate.caller_of(call)
    sent = call.header("x-a2app-token", "x-lui-token")
    if caller.credential_id == ANONYMOUS and (served.gate.is_multi_user or sent):
        raise served.gate.challenge(
            "This app needs" if not sent else "The token is not known. The call needs"
        )
    body = {
        "a2app": True,
        "credentialId": caller.credential_id,
        "agentName": caller.agent_name,
        "principal": caller.principal,
        "scopes": sorted(caller.scopes.held),
    }
    return Reply(status=200, body=body)


def answer_context(served: Served, call: Call) -> Reply:
    """Says what the person looks at, by ids alone; the app's own page is who tells it."""
    caller = served.gate.authorise(call, scope=None, is_write=call.method == "POST")
    if call.method == "POST":
        if caller.credential_id != UI:
            raise refuse(403, "principal_mismatch", "Only the app's own page says what is selected.")
        served.viewers.view = _view_of(served, parse_object(call))
    elif call.method not in ("GET", "HEAD"):
        raise refuse(405, "usage", f"{call.method} does not go with the context.")
    view = served.viewers.view
    selected = [{"entity": one.entity, "id": one.id} for one in view.selected]
    return Reply(status=200, body={"a2app": True, "view": view.view, "selected": selected})


def answer_events(served: Served, call: Call) -> Reply:
    """Gives what happened since a cursor."""
    served.meter(call, "polls")
    served.gate.authorise(call, scope=None, is_write=False)
    since = call.query.get("since", "") or "0"
    if not (since.isascii() and since.isdigit() and len(since) < 16):
        raise refuse(400, "usage", "since is a cursor that the app gave.")
    events, position = served.events.since(int(since))
    body = {
        "a2app": True,
        "events": [msgspec.to_builtins(event) for event in events],
        "nextCursor": str(position),
        "pollAfterMs": _POLL_AFTER_MS,
    }
    return Reply(status=200, body=body)


def _view_of(served: Served, body: dict[str, Any]) -> View:
    name, listed = body.get("view"), body.get("selected", [])
    if name is not None and (not isinstance(name, str) or len(name) > _LONGEST_VIEW):
        raise refuse(400, "usage", f"view is text of at most {_LONGEST_VIEW} characters.")
    if not isinstance(listed, list) or len(cast("list[object]", listed)) > _MOST_SELECTED:
        raise refuse(400, "usage", f"selected is a list of at most {_MOST_SELECTED} records.")
    selected: list[Selected] = []
    for one in cast("list[object]", listed):
        given = cast("dict[str, object]", one) if isinstance(one, dict) else {}
        entity, record_id = given.get("entity"), given.get("id")
        if (
            entity not in served.model.entity_by_name
            or not isinstance(record_id, str)
            or not RECORD_ID.fullmatch(record_id)
        ):
            raise refuse(400, "usage", "Each of selected is an entity and an id.")
        selected.append(Selected(str(entity), record_id))
    return View(name, tuple(selected))
