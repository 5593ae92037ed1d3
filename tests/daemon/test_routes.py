"""Routes: every operation of the service is reachable, and every wrong request is told what is wrong with it."""

import asyncio
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

from inspan.daemon.failures import BODY_CAP_BYTES, status_of
from inspan.daemon.openapi import describe_api
from inspan.model import errors
from inspan.seats.service import SeatService
from support.fake_daemon import DEADLINE_S, FakeDaemon, open_fake, workspace
from support.fake_service import HARNESS

DOCS = Path(__file__).parent.parent.parent / "docs"


def run(test: Any) -> Any:
    return asyncio.run(asyncio.wait_for(test, DEADLINE_S))


async def ask(fake: FakeDaemon, method: str, path: str, **arguments: Any) -> tuple[int, Any]:
    response = await fake.http.request(method, path, **arguments)
    assert response.headers["content-type"].startswith("application/json")
    return response.status_code, response.json()


def test_every_operation_of_the_service_is_a_route_and_every_route_is_described() -> None:
    wanted = {name for name, _ in inspect.getmembers(SeatService, inspect.isfunction) if name[0] != "_"}
    operations = {
        operation["operationId"]: operation
        for path in describe_api()["paths"].values()
        for operation in path.values()
    }

    assert wanted <= operations.keys()
    assert all(one["summary"] and one["description"] for one in operations.values())


def test_the_published_description_is_the_one_that_the_code_gives() -> None:
    published = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))

    assert published == json.loads(json.dumps(describe_api())), (
        "run: python -m inspan.daemon.openapi > docs/openapi.json"
    )


def test_every_reference_in_the_description_leads_somewhere() -> None:
    description = describe_api()
    text = json.dumps(description)

    for reference in set(re.findall(r'"#/components/schemas/(\w+)"', text)):
        assert reference in description["components"]["schemas"]


def test_the_reference_page_names_every_route() -> None:
    page = (DOCS / "http-api.md").read_text(encoding="utf-8")

    for path, operations in describe_api()["paths"].items():
        for method in operations:
            assert f"`{method.upper()} {path}`" in page


def test_a_seat_goes_through_its_life_over_http(throwaway_home: Path) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            request = {"name": "a", "harness": HARNESS, "workspace": workspace(throwaway_home)}
            status, seat = await ask(fake, "POST", "/v1/seats", json=request)
            assert (status, seat["name"]) == (201, "a")
            assert [one["name"] for one in (await ask(fake, "GET", "/v1/seats"))[1]] == ["a"]
            assert (await ask(fake, "POST", "/v1/seats/a/start", json={"fresh": True}))[1]["launch"][
                "attempt"
            ] == "fresh"
            assert (await ask(fake, "GET", "/v1/status"))[1]["live_launches"] == 1
            status, delivery = await ask(
                fake, "POST", "/v1/seats/a/prompts", json={"text": "hello", "id": "mine"}
            )
            assert (status, delivery["id"], delivery["turn"]) == (202, "mine", "t_mine")
            assert (await ask(fake, "GET", "/v1/deliveries/mine"))[1]["turn_outcome"] == "completed"
            assert (await ask(fake, "GET", "/v1/turns/t_mine"))[1]["outcome"] == "completed"
            assert len((await ask(fake, "GET", "/v1/seats/a/deliveries?limit=5"))[1]) == 1
            assert len((await ask(fake, "GET", "/v1/seats/a/turns"))[1]) == 1
            assert (await ask(fake, "GET", "/v1/seats/a/explain"))[1]["seat"] == "a"
            status, answer = await ask(fake, "DELETE", "/v1/seats/a")
            assert (status, answer["error"]["code"]) == (409, "seat_running")
            assert (await ask(fake, "DELETE", "/v1/seats/a?stop=true"))[0] == 200
            assert (await ask(fake, "GET", "/v1/seats/a"))[0] == 404

    run(test())


def test_a_permission_request_is_answered_once_over_http(throwaway_home: Path) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            request = {"name": "a", "harness": HARNESS, "workspace": workspace(throwaway_home)}
            await ask(fake, "POST", "/v1/seats", json=request)
            await ask(fake, "POST", "/v1/seats/a/prompts", json={"text": "ask"})
            assert [one["id"] for one in (await ask(fake, "GET", "/v1/permissions?seat=a"))[1]] == ["p_1"]
            answer = {"decision": "allow", "seat": "b"}
            status, refusal = await ask(fake, "POST", "/v1/permissions/p_1/answer", json=answer)
            assert (status, refusal["error"]["code"]) == (409, "permission_of_other_seat")
            status, view = await ask(fake, "POST", "/v1/permissions/p_1/answer", json={"decision": "allow"})
            assert (status, view["decision"]) == (200, "allow")
            status, refusal = await ask(
                fake, "POST", "/v1/permissions/p_1/answer", json={"decision": "allow"}
            )
            assert (status, refusal["error"]["code"]) == (409, "permission_closed")
            assert refusal["error"]["retry_safe"] is False
            assert (await ask(fake, "GET", "/v1/permissions"))[1] == []
            assert len((await ask(fake, "GET", "/v1/permissions?all=true"))[1]) == 1
            assert (await ask(fake, "GET", "/v1/permissions/p_1"))[1]["option"] == "yes"

    run(test())


def test_events_are_listed_by_place_seat_and_type(throwaway_home: Path) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            for name in ("a", "b"):
                request = {"name": name, "harness": HARNESS, "workspace": workspace(throwaway_home)}
                await ask(fake, "POST", "/v1/seats", json=request)
                await ask(fake, "POST", f"/v1/seats/{name}/prompts", json={"text": "hi"})

            async def positions(query: str) -> list[int]:
                return [one["position"] for one in (await ask(fake, "GET", f"/v1/events{query}"))[1]]

            assert await positions("") == list(range(1, 11))
            assert await positions("?after=8") == [9, 10]
            assert await positions("?seat=b&limit=2") == [6, 7]
            assert await positions("?types=turn_ended,seat_added") == [1, 5, 6, 10]
            assert (await ask(fake, "GET", "/v1/events?types=nonsense"))[0] == 400
            assert (await ask(fake, "GET", "/v1/events?after=11"))[1]["error"]["code"] == "position_ahead"

    run(test())


SEAT = {"name": "a", "harness": HARNESS, "workspace": "/"}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("POST", "/v1/seats", b"{", 400, ["cannot be read", "truncated"]),
        ("POST", "/v1/seats", b"", 400, ["body $", "missing"]),
        ("POST", "/v1/seats", b"[]", 400, ["Expected `object`, got `array`"]),
        ("POST", "/v1/seats", json.dumps({**SEAT, "colour": 1}).encode(), 400, ["unknown field `colour`"]),
        ("POST", "/v1/seats", json.dumps({**SEAT, "name": 1}).encode(), 400, ["$.name", "Expected `str`"]),
        (
            "POST",
            "/v1/seats",
            json.dumps({**SEAT, "posture": {"approvals": "no"}}).encode(),
            400,
            ["$.posture.approvals", "'no'"],
        ),
        ("POST", "/v1/seats", b'{"name":"a","harness":"\xff"}', 400, ["UTF-8"]),
        ("POST", "/v1/seats", json.dumps(SEAT).encode(), 201, []),
        ("POST", "/v1/seats/a/prompts", b"{}", 400, ["missing required field `text`"]),
        ("GET", "/v1/seats/a/turns?limit=0", None, 400, ["query limit", ">= 1"]),
        ("GET", "/v1/seats/a/turns?limit=x", None, 400, ["query limit", "Expected `int`"]),
        ("GET", "/v1/permissions?all=perhaps", None, 400, ["query all"]),
        ("GET", "/v1/nowhere", None, 404, ["There is no GET /v1/nowhere"]),
        ("GET", "/schema", None, 404, []),
        ("GET", "/v1/docs", None, 404, []),
        ("PATCH", "/v1/seats", b"{}", 405, ["There is no PATCH /v1/seats"]),
        ("GET", "/v1/seats/none", None, 404, ["There is no seat none"]),
        ("GET", f"/v1/harnesses/{HARNESS}", None, 200, []),
        ("POST", f"/v1/harnesses/{HARNESS}/probe", None, 502, ["not found", "Install it."]),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(
    method: str, path: str, body: bytes | None, status: int, words: list[str]
) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            found, answer = await ask(fake, method, path, content=body)
            assert found == status
            for word in words:
                assert word in answer["error"]["message"] + " " + answer["error"]["hint"]
            if status >= 400:
                assert answer["error"]["code"] in errors.ERROR_CODES
                assert answer["error"]["message"]
                assert answer["error"]["hint"]

    run(test())


def test_a_body_over_the_cap_is_refused_with_the_cap_and_the_daemon_goes_on() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            status, answer = await ask(fake, "POST", "/v1/seats", content=b" " * (BODY_CAP_BYTES + 1))
            assert (status, answer["error"]["code"]) == (413, "body_too_large")
            assert answer["error"]["detail"] == {"limit_bytes": BODY_CAP_BYTES}

            async def without_length() -> Any:
                for _ in range(BODY_CAP_BYTES // 2**20 + 1):
                    yield b" " * 2**20

            assert (await ask(fake, "POST", "/v1/seats", content=without_length()))[0] == 413
            assert (await ask(fake, "GET", "/v1/status"))[0] == 200

    run(test())


@pytest.mark.requirement("L15")
def test_an_unexpected_fault_is_an_answer_and_a_line_in_the_log_and_neither_quotes_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test() -> None:
        async with open_fake() as fake:

            async def broken() -> Any:
                raise ValueError("a prompt with s3cret in it")

            fake.service.list_seats = broken
            status, answer = await ask(fake, "GET", "/v1/seats")
            assert (status, answer["error"]["code"]) == (500, "internal")
            assert "ValueError" in answer["error"]["message"]
            assert "s3cret" not in json.dumps(answer)

    run(test())
    from inspan.daemon.logs import LineFormatter

    lines = [LineFormatter().format(record) for record in caplog.records if record.name.startswith("inspan")]
    assert len(lines) == 1
    assert "ValueError" in lines[0]
    assert "list_seats" in lines[0]
    assert "s3cret" not in lines[0]


def test_every_error_code_has_a_status_that_says_who_must_act() -> None:
    groups: list[type[errors.InspanError]] = [
        errors.UsageError,
        errors.ManifestError,
        errors.PluginError,
        errors.HarnessError,
        errors.StoreError,
        errors.HostError,
    ]
    for code in errors.ERROR_CODES:
        for group in groups:
            status = status_of(group("x", code=code))
            assert 400 <= status <= 599
            if code.startswith("unknown_"):
                assert status == 404
    assert status_of(errors.StoreError("x", code="store_locked")) == 503
    assert status_of(errors.UsageError("x", code="seat_exists")) == 409
    assert status_of(errors.InspanError("x")) == 500


def test_requests_that_come_while_it_stops_are_told_so() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            await ask(fake, "GET", "/v1/status")
            fake.daemon.lifetime.refuse_work()
            status, answer = await ask(fake, "GET", "/v1/status")
            assert (status, answer["error"]["code"]) == (503, "daemon_stopping")

    run(test())


def test_stopping_with_the_harnesses_stops_every_live_seat_first(throwaway_home: Path) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            for name in ("a", "b", "c"):
                request = {"name": name, "harness": HARNESS, "workspace": workspace(throwaway_home)}
                await ask(fake, "POST", "/v1/seats", json=request)
            for name in ("a", "c"):
                await ask(fake, "POST", f"/v1/seats/{name}/start")
            status, answer = await ask(fake, "POST", "/v1/daemon/stop", json={"harnesses": True})
            assert status == 202
            assert answer["stopped"] == ["a", "c"]
            assert fake.service.asked_to_stop == ["a", "c"]
            await fake.ended.wait()
            assert not fake.home.socket.exists()

    run(test())


def test_stopping_leaves_harnesses_alone_unless_asked(throwaway_home: Path) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            request = {"name": "a", "harness": HARNESS, "workspace": workspace(throwaway_home)}
            await ask(fake, "POST", "/v1/seats", json=request)
            await ask(fake, "POST", "/v1/seats/a/start")
            assert (await ask(fake, "POST", "/v1/daemon/stop"))[0] == 202
            await fake.ended.wait()
            assert fake.service.asked_to_stop == []

    run(test())


def test_the_log_is_examined_and_rebuilt_on_request() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            assert (await ask(fake, "POST", "/v1/store/check"))[1]["ok"] is True
            assert (await ask(fake, "POST", "/v1/store/rebuild"))[1]["rebuilt"] is True

    run(test())
