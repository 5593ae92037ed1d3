"""Whatever is called, with whatever body and headers: an answer of the protocol, never a fault of the server."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.apps.author import App
from inspan.apps.conformance.reference import FULL_TOKEN, READONLY_TOKEN, make_reference_app, queue_work
from inspan.apps.model.envelope import CODES
from inspan.apps.server.asgi import Application
from inspan.apps.server.rates import RateLimits
from support.apps.served import asgi_call


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    with tempfile.TemporaryDirectory(prefix="isp-") as folder:
        made = make_reference_app(Path(folder), limits=RateLimits(data=10**9, ops=10**9))
        queue_work(made)
        yield made
        made.close()


_part = st.one_of(
    st.sampled_from(
        ["api", "_a2app", "describe", "collections", "cards", "lists", "records", "card_seed", "ops", "finish-card", "archive-board",
         "count-cards", "tasks", "claim", "progress", "complete", "cancel", "events", "context", "whoami", "viewers", "board", "list", "",
         ".well-known", "a2app.json", "..", "%2e%2e", "%00", "%ff", "%2F", "tsk_1"]
    ),
    st.text(alphabet="abc%/.?&=#é\x00 ", max_size=6),
)  # fmt: skip
_known = st.sampled_from(
    [
        "/api/collections/cards/records",
        "/api/collections/cards/records/card_seed",
        "/api/ops/finish-card",
        "/api/ops/archive-board",
        "/api/_a2app/tasks",
        "/api/_a2app/tasks?status=submitted",
        "/api/_a2app/context",
        "/api/_a2app/describe/board/cards/card_seed",
        "/api/_a2app/events?since=1",
    ]
)
_paths = st.one_of(_known, st.lists(_part, max_size=6).map(lambda parts: "/" + "/".join(parts)))
_query = st.text(alphabet="filter=sort&page1\"'~|%()-a", max_size=30)
_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
_keys = st.sampled_from(
    ["title", "list", "priority", "due", "done", "created", "card", "agent", "status", "result", "reason", "step", "percent", "ask",
     "claimedAt", "view", "selected", "constructor", "id"]
)  # fmt: skip
_bodies = st.one_of(
    st.binary(max_size=40),
    _json.map(lambda value: json.dumps(value).encode()),
    st.dictionaries(_keys, _json, max_size=4).map(lambda value: json.dumps(value).encode()),
)
_text = st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=255), max_size=12)
_headers = st.fixed_dictionaries(
    {},
    optional={
        "host": st.one_of(st.sampled_from(["localhost", "127.0.0.1:1", "[::1]"]), _text),
        "origin": st.one_of(st.just("http://127.0.0.1:1"), _text),
        "x-a2app-token": st.one_of(st.sampled_from([FULL_TOKEN, READONLY_TOKEN]), _text),
        "x-a2app-approval": _text,
        "x-a2app-agent": _text,
        "x-a2app-viewer": _text,
        "authorization": _text,
        "idempotency-key": _text,
        "sec-fetch-site": st.sampled_from(["same-origin", "cross-site", "none", "same-site"]),
        "content-type": _text,
    },
)


@settings(max_examples=500)
@given(
    st.sampled_from(["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "TRACE"]),
    _paths,
    _query,
    _headers,
    _bodies,
)
def test_no_call_is_too_much(
    app: App, method: str, path: str, query: str, headers: dict[str, str], body: bytes
) -> None:
    raw = path if "?" in path else f"{path}?{query}"

    status, answer = asyncio.run(asgi_call(Application(app.served), method, raw, body, headers))

    assert status < 500 or answer["code"] in ("not_implemented",), (status, answer)
    if status >= 400:
        assert answer["a2app"] is True
        assert answer["ok"] is False
        assert answer["code"] in CODES
        assert answer["message"]
    assert FULL_TOKEN not in json.dumps(answer)


def test_a_thousand_random_calls_leave_an_app_that_still_works(app: App) -> None:
    async def ask(path: str) -> tuple[int, Any]:
        return await asgi_call(Application(app.served), "GET", path, headers={"x-a2app-token": FULL_TOKEN})

    assert asyncio.run(ask("/api/_a2app"))[0] == 200
    assert asyncio.run(ask("/api/collections/cards/records"))[0] == 200
