"""The queue as the bridge reads it: whatever an app answers, nothing is believed that was not said, and nothing breaks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.apps.bridge.line import AppLine
from inspan.apps.bridge.queue import Claim, Queue, QueueTrouble
from inspan.apps.bridge.tasks import read_task
from inspan.apps.bridge.watch import ClaimWatch
from inspan.apps.client import AppClient, AppUnreachable, Reply
from inspan.apps.folder import Folder

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
STATUSES = ("submitted", "working", "input-required", "completed", "failed", "canceled", "new-one", None)
CLAIMS = st.sampled_from(
    [None, {}, {"claimedAt": "first"}, {"claimedAt": "second"}, {"claimedAt": 7}, "first"]
)
TASKS = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["tsk_1", "tsk_1", "tsk_2", "../x", 7]),
        "status": st.sampled_from(STATUSES),
        "claim": CLAIMS,
        "request": st.fixed_dictionaries({"capability": st.just("c")}) | JSON,
    }
)
BODIES = st.one_of(
    TASKS, st.dictionaries(st.sampled_from(["tasks", "code", "a2app"]), JSON | st.lists(TASKS, max_size=3))
)
REPLIES = st.one_of(
    st.none(),
    st.tuples(st.sampled_from([200, 200, 200, 204, 302, 400, 401, 403, 404, 409, 429, 500]), BODIES),
)


class _Scripted(AppClient):
    """A client whose app answers what it is told to."""

    def __init__(self, replies: list[tuple[int, Any] | None]) -> None:
        super().__init__("http://127.0.0.1:1")
        self._replies = replies
        self.sent: list[tuple[str, str, Any]] = []

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> Reply:
        self.sent.append((method, path, body))
        found = self._replies.pop(0) if self._replies else None
        if found is None:
            raise AppUnreachable("Nobody answers.")
        return Reply(found[0], found[1], json.dumps(found[1]))


class _Line(AppLine):
    """A line that is always that client's."""

    def __init__(self, client: AppClient) -> None:
        super().__init__(Folder(Path("/app"), {"id": "a"}))
        self._client = client

    def renew(self, *, signs_in: bool = False) -> None:
        del signs_in


def claim() -> Claim:
    body = {
        "id": "tsk_1",
        "status": "working",
        "claim": {"claimedAt": "first"},
        "request": {"capability": "c"},
    }
    task = read_task(body)
    assert task is not None
    return Claim(task, "first")


def is_ours(body: Any) -> bool:
    """Whether this body tells of our claim, still standing."""
    return body.get("claim") == {"claimedAt": "first"} and body.get("status") not in ("submitted", "canceled")


@pytest.mark.requirement("P30")
@given(st.lists(REPLIES, max_size=4))
def test_a_list_of_tasks_is_tasks_that_wait_or_trouble(replies: list[Any]) -> None:
    try:
        found = Queue(_Line(_Scripted(list(replies)))).waiting()
    except QueueTrouble:
        # Somebody did not answer, or with no: an answer that is one is never trouble.
        assert any(one is None or not 200 <= one[0] < 300 for one in [*replies, None][:2])
        return
    assert all(one.status == "submitted" and one.id in ("tsk_1", "tsk_2") for one in found)


@pytest.mark.requirement("P30", "P36")
@given(st.lists(REPLIES, min_size=1, max_size=6))
def test_a_watch_says_lost_or_called_off_only_if_the_app_said_so_and_never_closes_anything(
    replies: list[Any],
) -> None:
    client = _Scripted(list(replies))
    clock = iter(range(0, 10_000, 10))
    watch = ClaimWatch(
        Queue(_Line(client)), claim(), look_s=1.0, heartbeat_s=1.0, now=lambda: float(next(clock))
    )
    for _ in replies:
        watch.turn()
    said = [one for one in replies if one is not None]
    match watch.verdict:
        case "canceled":
            assert any(body.get("status") == "canceled" for _, body in said)
        case "reported":
            assert any(body.get("status") in ("completed", "failed") for _, body in said)
        case "claim_lost":
            # Gone, taken back, or claimed anew, or a word for it was refused: the app's word, whichever.
            assert any(
                status in (403, 404, 409) or not is_ours(body)
                for status, body in said
                if "id" in body or status > 400
            )
        case _:
            pass
    assert not [path for _, path, _ in client.sent if path.endswith(("/complete", "/claim", "/cancel"))]
    assert all(body == {"claimedAt": "first"} for method, _, body in client.sent if method == "POST")


@pytest.mark.requirement("P36")
@given(REPLIES)
def test_a_task_counts_as_failed_by_us_only_if_the_app_took_it(reply: Any) -> None:
    client = _Scripted([reply])
    try:
        took = Queue(_Line(client)).fail(claim(), "no_outcome_reported", result={})
    except QueueTrouble:
        assert reply is None or reply[0] not in (200, 204, 403, 404, 409)
        return
    assert took == (reply[0] in (200, 204))
    ((_, path, body),) = client.sent
    assert path == "/api/_a2app/tasks/tsk_1/complete"
    assert (body["status"], body["claimedAt"]) == ("failed", "first")
