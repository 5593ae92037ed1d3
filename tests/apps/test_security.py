"""The chain that each call passes, in its order: host, origin, credential, scope, guard, approval, idempotency, rates."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from inspan.apps.author import App, Refusal, moment, ref, text
from inspan.apps.conformance.reference import FULL_TOKEN, READONLY_TOKEN, make_reference_app
from inspan.apps.programs.a2app.waiting import NEAR_MS
from inspan.apps.server.caller import Grant
from inspan.apps.server.ledger import AUDIT_SIZE, approval_key
from inspan.apps.server.rates import RateLimits
from support.apps.served import Answer, HandClock, Served, serving

CARDS = "/api/collections/cards/records"
GOOD = {"title": "Buy milk"}
BAD = {"bogus": 1}
EVERY_ROUTE = (
    "/api/_a2app",
    "/.well-known/a2app.json",
    "/api/_a2app/describe",
    "/api/_a2app/whoami",
    "/api/_a2app/tasks",
    CARDS,
    "/api/nothing",
    "/",
    "/page.js",
)


@pytest.fixture
def app(tmp_path: Path) -> App:
    return make_reference_app(tmp_path)


@pytest.fixture
def here(app: App) -> Iterator[Served]:
    with serving(app) as served:
        yield served


FOREIGN_HOSTS = (
    "evil.example",
    "evil.example:8090",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "1270.0.0.1",
    "0.0.0.1",
    "user@127.0.0.1",
    "127.0.0.1#x",
    "",
    "[::2]",
    "[::1",
    "localhost:8090:1",
    "192.168.0.1",
)


@pytest.mark.requirement("P6")
def test_another_host_is_refused_on_every_route(here: Served) -> None:
    for path in EVERY_ROUTE:
        for host in FOREIGN_HOSTS:
            answer = here.get(path, headers={"Host": host})
            assert (answer.status, answer.code) == (403, "forbidden_host"), (path, host)


@pytest.mark.requirement("P6")
def test_every_name_of_the_loopback_is_the_apps_own(here: Served) -> None:
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:9", "127.1.2.3", "[::1]", "[::1]:8090", "::1"):
        assert here.get("/api/_a2app", headers={"Host": host}).status == 200, host


def raw(here: Served, request: bytes) -> bytes:
    """Sends bytes as they are, and gives all that comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", here.port), timeout=10) as connection:
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
        return answer


@pytest.mark.requirement("P6")
def test_two_hosts_or_two_tokens_are_refused_and_none_is_let_pass(here: Served) -> None:
    two = b"GET /api/_a2app HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    tokens = b"GET /api/_a2app HTTP/1.1\r\nHost: localhost\r\nX-A2App-Token: a\r\nX-A2App-Token: b\r\nConnection: close\r\n\r\n"
    none = b"GET /api/_a2app HTTP/1.0\r\n\r\n"

    assert raw(here, two).split(b"\r\n")[0].split()[1] in (b"400", b"403")
    assert b" 400 " in raw(here, tokens).split(b"\r\n")[0]
    assert b" 200 " in raw(here, none).split(b"\r\n")[0]


FOREIGN_ORIGINS = (
    "https://evil.example",
    "null",
    "",
    "http://localhost:1",
    "http://127.0.0.1",
    "http://127.0.0.1:{port}/",
    "http://127.0.0.1:{port}.evil.example",
    "http://127.0.0.1:{port}x",
    "http://evil.example:{port}",
    "http://user@127.0.0.1:{port}",
    "https://localhost:{port}",
    "ftp://127.0.0.1:{port}",
    "127.0.0.1:{port}",
    "http://[::1",
    "file://",
)


@pytest.mark.requirement("P6")
def test_another_sites_page_is_refused_before_credential_and_guard(here: Served) -> None:
    for origin in FOREIGN_ORIGINS:
        headers = {"Origin": origin.format(port=here.port)}

        assert here.post(CARDS, BAD, headers=headers).code == "forbidden_origin", origin
        assert here.post(CARDS, GOOD, headers=headers, token=None).code == "forbidden_origin", origin
        assert here.get(CARDS, headers=headers).status == 403, origin


def test_a_browser_that_sends_no_origin_from_another_site_is_refused_too(here: Served) -> None:
    for site in ("cross-site", "same-site"):
        assert here.get(CARDS, headers={"Sec-Fetch-Site": site}).code == "forbidden_origin"
    assert here.get(CARDS, headers={"Sec-Fetch-Site": "none"}).status == 200


@pytest.mark.requirement("P6")
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_the_apps_own_page_needs_no_credential(here: Served, name: str) -> None:
    origin = {"Origin": f"http://{name}:{here.port}"}

    assert here.post(CARDS, GOOD, headers=origin, token=None).status == 200
    assert here.get("/api/_a2app/whoami", headers=origin, token=None).body["credentialId"] == "ui"
    same = here.get("/api/_a2app/whoami", headers={"Sec-Fetch-Site": "same-origin"}, token=None)
    assert same.body["credentialId"] == "ui"


def test_names_and_origins_that_the_app_is_given_are_its_own(tmp_path: Path) -> None:
    app = make_reference_app(tmp_path, hosts=["board.example"], origins=["https://board.example"])
    with serving(app) as here:
        origin = {"Host": "board.example", "Origin": "https://board.example"}
        assert here.post(CARDS, GOOD, headers=origin, token=None).status == 200
        assert here.get(CARDS, headers={"Host": "board.example:80"}).status == 200
        assert here.get(CARDS, headers={"Host": "other.example"}).status == 403


@pytest.mark.requirement("P6")
def test_a_write_without_a_known_token_is_a_401_that_says_how(here: Served) -> None:
    for token in (None, "wrong", FULL_TOKEN + "x", FULL_TOKEN[:-1], "é" * 3):
        answer = here.post(CARDS, GOOD, token=token)
        assert (answer.status, answer.code) == (401, "agent_token_required")
        assert ".agent-token" in answer.body["how"]
    assert here.post(CARDS, GOOD, token=None, headers={"X-LUI-Token": FULL_TOKEN}).status == 200


@pytest.mark.requirement("P6")
def test_without_a_credential_a_single_user_app_is_read_and_its_read_only_operations_run(
    here: Served,
) -> None:
    assert here.get(CARDS, token=None).status == 200
    assert here.post("/api/ops/count-cards", {}, token=None).body["result"] == {"count": 1}
    assert here.get("/api/_a2app/describe/board/cards/card_seed", token=None).body["operations"] == []
    assert here.post("/api/ops/finish-card", {"card": "card_seed"}, token=None).status == 401
    who = here.get("/api/_a2app/whoami", token=None).body
    assert (who["credentialId"], who["principal"]) == ("anonymous", "owner")
    assert who["scopes"] == ["data:cards:read", "data:lists:read", "op:count-cards"]
    assert here.get("/api/_a2app/whoami", token="wrong").status == 401


@pytest.mark.requirement("P6")
def test_a_missing_scope_is_a_403_that_names_it(here: Served) -> None:
    for answer, scope in (
        (here.post(CARDS, BAD, token=READONLY_TOKEN), "data:cards:write"),
        (here.call("DELETE", f"{CARDS}/card_seed", token=READONLY_TOKEN), "data:cards:write"),
        (here.post("/api/ops/count-cards", {}, token=READONLY_TOKEN), "op:count-cards"),
        (here.post("/api/ops/archive-board", {}, token=READONLY_TOKEN), "op:archive-board"),
    ):
        assert (answer.status, answer.code, answer.body["required"]) == (403, "insufficient_scope", scope)


def test_a_scope_is_needed_for_describing_records_and_where_relations_lead(tmp_path: Path) -> None:
    app = App(
        "Two", folder=tmp_path, grants=[Grant(token="t", credential_id="c", scopes=("data:ones:read",))]
    )
    module = app.module("m")
    twos = module.entity("twos", {"title": text()})
    module.entity("ones", {"title": text(), "twos": ref("twos")})
    app.open()
    two = twos.create({"title": "x"})["id"]
    with serving(app) as here:
        assert here.get("/api/_a2app/describe/m/twos").code == "insufficient_scope"
        assert here.get(f"/api/_a2app/describe/m/twos/{two}").code == "insufficient_scope"


def test_an_operation_of_a_module_is_told_to_who_may_call_it(here: Served) -> None:
    place = "/api/_a2app/describe/board"

    told = here.get(f"{place}/archive-board").body
    assert (told["level"], told["path"], told["params"]) == ("operation", "board/archive-board", {})
    assert here.get(f"{place}/archive-board", token=READONLY_TOKEN).body["required"] == "op:archive-board"
    assert here.get(f"{place}/archive-board", token=None).status == 401
    assert here.get(f"{place}/count-cards", token=None).body["readOnly"] is True
    assert here.get(f"{place}/archive-board/x").code == "usage"
    assert here.get(f"{place}/finish-card").code == "unknown_entity"


@pytest.mark.requirement("P6")
def test_an_app_of_several_users_is_read_by_nobody_unknown(tmp_path: Path) -> None:
    people = {"person-1": "ada"}
    app = make_reference_app(tmp_path, auth_mode="multi-user", principal_of=people.get)
    with serving(app) as here:
        for path in (
            CARDS,
            "/api/_a2app/whoami",
            "/api/_a2app/tasks",
            "/api/_a2app/events",
            "/api/_a2app/viewers",
        ):
            assert here.get(path, token=None).status == 401, path
        assert here.get("/api/_a2app", token=None).status == 200
        assert here.get("/api/_a2app/describe", token=None).body["modules"][0]["access"] == "none"
        assert here.get("/api/_a2app/describe/board/cards", token=None).status == 401
        own = {"Origin": here.url}
        assert here.post(CARDS, GOOD, token=None, headers=own).status == 401
        assert here.post(CARDS, GOOD, token=None, headers={**own, "Authorization": "person-1"}).status == 200
        who = here.get("/api/_a2app/whoami", headers={"Authorization": "person-1"}).body
        assert (who["credentialId"], who["principal"]) == ("cred_full", "ada")
        assert (
            here.get("/api/_a2app/whoami", headers={"Authorization": "nobody"}).body["principal"] == "owner"
        )


@pytest.mark.requirement("P6")
def test_each_step_of_the_chain_comes_before_the_next(here: Served) -> None:
    """One call is wrong in every way; as each fault is put right, the next step answers."""
    headers = {"Host": "evil.example", "Origin": "https://evil.example"}
    seen = [here.post(CARDS, BAD, token="wrong", headers=headers).code]
    headers["Host"] = "localhost"
    seen.append(here.post(CARDS, BAD, token="wrong", headers=headers).code)
    seen.append(here.post(CARDS, BAD, token="wrong").code)
    seen.append(here.post(CARDS, BAD, token=READONLY_TOKEN).code)
    seen.append(here.post(CARDS, BAD).code)
    seen.append(here.post(CARDS, GOOD).code)

    assert seen == [
        "forbidden_host",
        "forbidden_origin",
        "agent_token_required",
        "insufficient_scope",
        "unknown_field",
        "",
    ]


@pytest.mark.requirement("P6")
def test_an_operation_goes_through_rate_existence_credential_guard_idempotency_and_approval(
    tmp_path: Path,
) -> None:
    clock = HandClock()
    app = App(
        "Ops",
        folder=tmp_path,
        clock=clock,
        limits=RateLimits(ops=8),
        grants=[Grant(token="t", credential_id="c")],
    )
    ran: list[str] = []

    @app.module("m").operation(destructive=True, params={"what": text(required=True)})
    def wipe(what: str) -> None:
        ran.append(what)

    key = {"Idempotency-Key": "k"}
    with serving(app) as here:
        seen = [here.post("/api/ops/nothing", {}, token=None).code]
        seen.append(here.post("/api/ops/wipe", {}, token=None).code)
        seen.append(here.post("/api/ops/wipe", {"x": 1}, headers=key).code)
        asked = here.post("/api/ops/wipe", {"what": "all"}, headers=key)
        seen.append(asked.code)
        approval = {"X-A2App-Approval": asked.body["approvalKey"]}
        seen.append(here.post("/api/ops/wipe", {"what": "all"}, headers={**key, **approval}).code)
        seen.append(here.post("/api/ops/wipe", {"what": "all"}, headers=key).code)
        assert [here.post("/api/ops/wipe", {"what": "all"}).code for _ in range(5)][-1] == "rate_limited"
        assert here.post("/api/ops/nothing", {}).code == "rate_limited"

    assert seen == [
        "unknown_operation",
        "agent_token_required",
        "unknown_field",
        "approval_required",
        "",
        "duplicate_request",
    ]
    assert ran == ["all"]


def approve(here: Served, key: str, args: dict[str, Any] | None = None) -> Answer:
    return here.post("/api/ops/archive-board", args or {}, headers={"X-A2App-Approval": key})


@pytest.mark.requirement("P6")
def test_an_approval_is_for_the_exact_call_once_and_for_ten_minutes(tmp_path: Path) -> None:
    clock = HandClock()
    with serving(make_reference_app(tmp_path, clock=clock)) as here:
        key = approval_key("archive-board", {})
        for _ in range(3):
            assert approve(here, key).code == "approval_required", "a key that nobody asked for is none"
        asked = here.post("/api/ops/archive-board", {}).body["approvalKey"]
        assert asked == key
        assert approve(here, key[:-1] + ("0" if key[-1] != "0" else "1")).status == 428
        assert approve(here, key.upper()).status == 428
        clock.move(599)
        assert approve(here, key).status == 200
        for _ in range(3):
            again = approve(here, key)
            assert (again.status, "approvalKey" in again.body) == (428, False), (
                "a refused replay asks for nothing"
            )
        here.post("/api/ops/archive-board", {})
        clock.move(601)
        for _ in range(3):
            assert approve(here, key).status == 428, "too late"
        here.post("/api/ops/archive-board", {})
        legacy = here.post("/api/ops/archive-board", {}, headers={"X-LUI-Approval": key})
        assert legacy.status == 200


@pytest.mark.requirement("P6")
def test_the_approval_key_is_the_sha256_of_the_canonical_json() -> None:
    args = {"b": 1.0, "a": "é", "c": [True, None, 1e21]}
    written = '{"args":{"a":"é","b":1,"c":[true,null,1e+21]},"operation":"x"}'

    assert rfc8785.dumps({"operation": "x", "args": args}).decode() == written
    assert approval_key("x", args) == hashlib.sha256(written.encode()).hexdigest()


def test_an_approval_of_one_call_is_not_of_another(tmp_path: Path) -> None:
    app = App("Ops", folder=tmp_path, grants=[Grant(token="t", credential_id="c")])

    @app.module("m").operation(destructive=True, params={"what": text()})
    def wipe(what: str = "") -> str:
        return what

    with serving(app) as here:
        first = here.post("/api/ops/wipe", {"what": "a"}).body["approvalKey"]
        other = here.post("/api/ops/wipe", {"what": "b"}, headers={"X-A2App-Approval": first})
        assert other.status == 428
        assert here.post("/api/ops/wipe", {"what": "b"}).body["approvalKey"] != first


@pytest.mark.requirement("P6")
def test_a_key_is_used_once_per_entity_record_and_operation(here: Served) -> None:
    key = {"Idempotency-Key": "same"}
    made = here.post(CARDS, GOOD, headers=key).body["id"]

    again = here.post(CARDS, {"title": "another"}, headers=key)
    assert (again.status, again.code, again.body["id"]) == (409, "duplicate_request", made)
    assert here.post("/api/collections/lists/records", {"title": "x"}, headers=key).status == 200
    assert here.call("PATCH", f"{CARDS}/{made}", {"done": True}, headers=key).status == 200
    assert here.call("PATCH", f"{CARDS}/{made}", {"done": False}, headers=key).body["id"] == made
    assert here.call("PATCH", f"{CARDS}/card_seed", {"title": "y"}, headers=key).status == 200
    assert here.post("/api/ops/finish-card", {"card": "card_seed"}, headers=key).status == 200
    assert here.post("/api/ops/finish-card", {"card": "card_seed"}, headers=key).status == 409


@pytest.mark.requirement("P6")
def test_a_key_is_remembered_for_a_day_at_least(tmp_path: Path) -> None:
    clock = HandClock()
    key = {"Idempotency-Key": "k"}
    with serving(make_reference_app(tmp_path, clock=clock)) as here:
        assert here.post(CARDS, GOOD, headers=key).status == 200
        clock.move(24 * 3600 + 60)
        assert here.post(CARDS, GOOD, headers={"Idempotency-Key": "other"}).status == 200
        assert here.post(CARDS, GOOD, headers=key).status == 409
        clock.move(48 * 3600)
        assert here.post(CARDS, GOOD, headers={"Idempotency-Key": "third"}).status == 200
        assert here.post(CARDS, GOOD, headers=key).status == 200


def test_what_was_refused_does_not_use_up_its_key(here: Served) -> None:
    key = {"Idempotency-Key": "k"}

    assert here.post(CARDS, BAD, headers=key).status == 400
    assert here.call("PATCH", f"{CARDS}/nope", {"title": "x"}, headers=key).status == 404
    assert here.post(CARDS, GOOD, headers=key).status == 200
    assert here.post(CARDS, GOOD, headers={"Idempotency-Key": "k" * 256}).status == 400


def start(folder: Path) -> tuple[subprocess.Popen[bytes], Served]:
    """Serves the reference app in a process of its own, on a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "inspan.apps.conformance.reference", str(port), str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    here = Served(port, FULL_TOKEN)
    deadline = time.monotonic() + 30
    while True:
        try:
            assert here.get("/api/_a2app").status == 200
        except OSError:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return process, here


@pytest.mark.requirement("P6")
def test_keys_and_what_they_made_survive_a_kill_and_no_half_of_a_write_does(tmp_path: Path) -> None:
    process, here = start(tmp_path)
    try:
        answered: dict[str, str] = {}
        for number in range(60):
            key = f"k{number}"
            answer = here.post(CARDS, {"title": key}, headers={"Idempotency-Key": key})
            answered[key] = answer.body["id"]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process, here = start(tmp_path)
        for key, made in answered.items():
            again = here.post(CARDS, {"title": key}, headers={"Idempotency-Key": key})
            assert (again.status, again.body["id"]) == (409, made)
        titles = [one["title"] for one in here.get(f"{CARDS}?perPage=1000").body["items"]]
        assert sorted(titles) == sorted([*answered, "Welcome card"])
    finally:
        process.kill()
        process.wait()


@pytest.mark.requirement("P6")
def test_killed_in_the_middle_of_writes_each_key_has_one_record_or_none(tmp_path: Path) -> None:
    process, here = start(tmp_path)
    try:
        # Requests are sent without waiting for answers, and the process is killed while it works through them.
        connections = [socket.create_connection(("127.0.0.1", here.port), timeout=10) for _ in range(8)]
        for number, connection in enumerate(connections * 6):
            body = json.dumps({"title": f"k{number}"}).encode()
            head = f"POST {CARDS} HTTP/1.1\r\nHost: localhost\r\nX-A2App-Token: {FULL_TOKEN}\r\nIdempotency-Key: k{number}\r\n"
            connection.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        connections[0].recv(1)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        for connection in connections:
            connection.close()
        process, here = start(tmp_path)
        for number in range(48):
            answer = here.post(CARDS, {"title": f"k{number}"}, headers={"Idempotency-Key": f"k{number}"})
            assert answer.status in (200, 409)
        titles = [one["title"] for one in here.get(f"{CARDS}?perPage=1000").body["items"]]
        assert sorted(titles) == sorted([*(f"k{number}" for number in range(48)), "Welcome card"])
    finally:
        process.kill()
        process.wait()


@pytest.mark.requirement("P6")
def test_the_usual_limits_are_1200_reads_and_writes_and_300_operations_a_minute() -> None:
    assert (RateLimits().data, RateLimits().ops) == (1200, 300)


@pytest.mark.requirement("P6", "P7", "P8")
def test_thirty_agents_that_wait_on_one_credential_keep_none_of_them_from_reporting(tmp_path: Path) -> None:
    looks = 60_000 // NEAR_MS
    assert RateLimits().polls >= 30 * looks
    # The same in small: six waiting agents use up more looks than there are calls of any other kind.
    app = make_reference_app(tmp_path, clock=HandClock(), limits=RateLimits(data=4, ops=2, polls=6 * looks))
    with serving(app) as here:
        task = app.trigger("card.due_soon", {"card": "card_seed"}, capability="summarize").task_id
        for _ in range(6 * looks - 2):
            assert here.get("/api/_a2app/tasks?status=submitted").status == 200
        at = f"/api/_a2app/tasks/{task}"
        assert here.post(f"{at}/claim", {}).status == 200
        assert here.post(f"{at}/progress", {"percent": 50}).status == 200
        assert (here.get(at).status, here.get("/api/_a2app/events").status) == (200, 200)
        answer = here.get("/api/_a2app/tasks")
        assert (answer.status, answer.code) == (429, "rate_limited"), "looks have a limit too"
        assert here.post(f"{at}/complete", {"status": "completed"}).status == 200
        assert here.get(CARDS).status == 200


@pytest.mark.requirement("P6")
def test_each_caller_has_its_own_count_and_the_window_ends(tmp_path: Path) -> None:
    clock = HandClock()
    app = make_reference_app(tmp_path, clock=clock, limits=RateLimits(data=3, ops=2))
    with serving(app) as here:
        assert [here.get(CARDS).status for _ in range(4)] == [200, 200, 200, 429]
        answer = here.get(CARDS)
        assert (answer.code, answer.body["retryAfterSeconds"], answer.headers["retry-after"]) == (
            "rate_limited",
            60,
            "60",
        )
        assert here.post("/api/ops/count-cards", {}).status == 200, "operations are counted apart"
        assert here.get("/api/_a2app/describe/board/cards").status == 200, "shallow levels are not counted"
        assert here.get("/api/_a2app/describe/board/cards/card_seed").status == 429
        assert here.get(CARDS, token=READONLY_TOKEN).status == 200
        assert [here.get(CARDS, token=f"made up {one}").status for one in range(4)] == [200, 200, 200, 429]
        entries = {(entry.credential_id, entry.target, entry.code) for entry in app.audit()}
        assert entries == {("cred_full", "rate:data", "rate_limited"), (None, "rate:data", "rate_limited")}
        clock.move(59)
        assert here.get(CARDS).body["retryAfterSeconds"] == 1
        clock.move(1)
        assert here.get(CARDS).status == 200


@pytest.mark.requirement("P6")
def test_every_credentialed_write_is_audited_done_or_refused(app: App, here: Served) -> None:
    made = here.post(CARDS, GOOD).body["id"]
    here.post(CARDS, BAD)
    here.call("PATCH", f"{CARDS}/{made}", {"done": True})
    here.call("PATCH", f"{CARDS}/nope", {"done": True})
    here.call("DELETE", f"{CARDS}/{made}")
    here.post(CARDS, GOOD, token=READONLY_TOKEN)
    here.post(CARDS, GOOD, token="unknown")
    here.post(CARDS, GOOD, token=None)
    here.get(CARDS)
    here.post("/api/ops/count-cards", {})
    here.post("/api/ops/finish-card", {"card": "card_seed"})
    here.post("/api/ops/finish-card", {})
    here.post("/api/ops/archive-board", {})
    here.post("/api/_a2app/tasks/tsk_nope/claim", {})
    here.post(CARDS, GOOD, token=None, headers={"Origin": here.url})

    entries = [(one.credential_id, one.target, one.outcome, one.code) for one in app.audit()]

    assert entries == [
        ("cred_full", "data:cards", "ok", None),
        ("cred_full", "data:cards", "rejected", "unknown_field"),
        ("cred_full", "data:cards", "ok", None),
        ("cred_full", "data:cards", "rejected", "record_not_found"),
        ("cred_full", "data:cards", "ok", None),
        ("cred_ro", "data:cards", "rejected", "insufficient_scope"),
        (None, "data:cards", "rejected", "agent_token_required"),
        ("cred_full", "op:finish-card", "ok", None),
        ("cred_full", "op:finish-card", "rejected", "missing_required"),
        ("cred_full", "op:archive-board", "rejected", "approval_required"),
        ("cred_full", "task:claim", "rejected", "task_not_found"),
        ("ui", "data:cards", "ok", None),
    ]
    first = app.audit()[0]
    assert (first.record_id, first.agent_name, first.principal) == (made, "conformance", "owner")


def test_the_audit_keeps_the_newest_five_thousand(app: App, here: Served) -> None:
    served = app.served
    with served.database.writing():
        for number in range(AUDIT_SIZE + 100):
            served.audit.add(None, f"data:{number}")
    here.post(CARDS, GOOD)

    entries = app.audit(limit=10**6)
    assert len(entries) == AUDIT_SIZE
    assert entries[0].target == "data:101"
    assert entries[-1].target == "data:cards"


def test_no_answer_and_no_audit_shows_a_token(app: App, here: Served) -> None:
    texts = [
        str(here.get(path, token=token).body)
        for path in (*EVERY_ROUTE, "/api/_a2app/describe/board")
        for token in (FULL_TOKEN, "another-secret", None)
    ]
    texts += [str(here.post(CARDS, BAD, token="another-secret").body), str(app.audit()), str(app.grants)]

    assert not any(FULL_TOKEN in text or "another-secret" in text for text in texts)


def hostile(app: App) -> None:
    notes = app.module("m").entity("notes", {"title": text(required=True), "at": moment(set_on="create")})

    @notes.operation(params={"title": text(required=True)})
    def add(title: str) -> object:
        return notes.create({"title": title})

    @notes.operation(params={})
    def fail() -> None:
        notes.create({"title": "half"})
        raise RuntimeError(f"the token is {FULL_TOKEN}")

    @notes.operation()
    def refuse() -> None:
        notes.create({"title": "half"})
        raise Refusal("Not today.", code="closed", status=410)

    @notes.operation()
    def give_nonsense() -> object:
        notes.create({"title": "half"})
        return {"it": object()}

    @notes.operation(read_only=True)
    def lie() -> object:
        return notes.create({"title": "half"})


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Served]:
    app = App("Notes", folder=tmp_path, grants=[Grant(token="t", credential_id="c")])
    hostile(app)
    with serving(app) as served:
        yield served


@pytest.mark.parametrize(
    "value",
    ["--all", "-rf /", "--approve=x", "a\nb\r\nX-Evil: 1", "\x00\x1b[31m", "$(id)", "'; DROP TABLE records; --", "‮", "x" * 1_000_000],
    ids=lambda value: repr(value[:14]),
)  # fmt: skip
def test_an_argument_arrives_as_it_was_sent(notes: Served, value: str) -> None:
    answer = notes.post("/api/ops/add", {"title": value})

    assert answer.status == 200
    assert answer.body["result"]["title"] == value
    made = answer.body["result"]["id"]
    assert notes.get(f"/api/collections/notes/records/{made}").body["title"] == value


@pytest.mark.parametrize(
    "body",
    [
        b'{"title":' + b"[" * 1_000 + b"]" * 1_000 + b"}",
        b'{"title":' * 100 + b"1" + b"}" * 100,
        b'{"title": 1e400}',
    ],
)
def test_arguments_of_a_hostile_shape_are_refused(notes: Served, body: bytes) -> None:
    assert notes.post("/api/ops/add", body).status == 400
    assert notes.get("/api/collections/notes/records").body["totalItems"] == 0


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [("fail", 500, "operation_failed"), ("refuse", 410, "closed"), ("give-nonsense", 500, "operation_failed"), ("lie", 500, "operation_failed")],
)  # fmt: skip
def test_code_that_fails_leaves_nothing_behind_and_tells_no_secret(
    notes: Served, name: str, status: int, code: str
) -> None:
    answer = notes.post(f"/api/ops/{name}", {})

    assert (answer.status, answer.code) == (status, code)
    assert FULL_TOKEN not in str(answer.body)
    assert notes.get("/api/collections/notes/records").body["totalItems"] == 0


def test_an_operation_that_does_not_apply_is_refused_by_the_server_too(here: Served) -> None:
    assert here.post("/api/ops/finish-card", {"card": "card_seed"}).status == 200

    again = here.post("/api/ops/finish-card", {"card": "card_seed"})
    assert (again.status, again.code, again.body["blocked"]) == (409, "operation_failed", "done is true")
    assert here.post("/api/ops/finish-card", {"card": "nope"}).code == "record_not_found"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_an_operation_takes_nothing_but_post(here: Served, method: str) -> None:
    assert here.call(method, "/api/ops/count-cards").status == 405


def test_a_declared_operation_without_code_is_a_501(tmp_path: Path) -> None:
    app = make_reference_app(tmp_path)
    with serving(app) as here:
        app.served.handlers.pop("count-cards")
        assert here.post("/api/ops/count-cards", {}).code == "not_implemented"
