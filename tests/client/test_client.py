"""The client: the service's operations as methods, the daemon's errors as the same classes."""

import asyncio
import contextlib
import inspect
import json
import os
import socket
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from inspan.client.client import Client
from inspan.client.connecting import connect
from inspan.home import locate_home, prepare_home
from inspan.model.delivery import DeliveryState
from inspan.model.errors import HarnessError, HostError, UsageError
from inspan.model.posture import Approvals, Posture
from inspan.model.turn import TurnOutcome
from inspan.model.views import AnswerPermission, DeliveryView, TurnView
from inspan.seats.service import SeatService
from support.fake_daemon import DEADLINE_S, open_fake, until, workspace
from support.fake_service import HARNESS


def run(test: Any) -> None:
    asyncio.run(asyncio.wait_for(test, DEADLINE_S))


def test_every_operation_of_the_service_is_a_method() -> None:
    names = {name for name, _ in inspect.getmembers(SeatService, inspect.isfunction) if name[0] != "_"}

    # A prompt is sent by `send`; what is typed and shown belongs to a `terminal` that is attached to.
    elsewhere = {"send_prompt", "show_screen", "view_terminal", "type_keys", "resize_terminal"}
    assert names - elsewhere <= set(dir(Client))


def test_a_seat_goes_through_its_life(throwaway_home: Path) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            client = fake.client
            seat = await client.add_seat(
                "a",
                harness=HARNESS,
                workspace=workspace(throwaway_home),
                posture=Posture(approvals=Approvals.EDITS),
                environment={"KEY": "value"},
            )
            assert seat == await client.get_seat("a")
            assert seat.posture.approvals is Approvals.EDITS
            assert [one.name for one in await client.list_seats()] == ["a"]
            assert (await client.start_seat("a", fresh=True)).status == "idle"
            assert (await client.status()).live_launches == 1
            delivery = await client.send("a", "hello", id="mine")
            assert delivery == await client.send("a", "hello", id="mine"), "the same id reads it back"
            assert delivery == (await client.list_deliveries("a"))[0] == await client.get_delivery("mine")
            turn = await client.wait_turn("mine")
            assert isinstance(turn, TurnView)
            assert turn == (await client.list_turns("a", limit=1))[0] == await client.get_turn(turn.id)
            assert (await client.explain_seat("a")).seat == "a"
            assert (await client.stop_seat("a")).launch is not None
            assert (await client.release_seat("a")).name == "a"
            assert (await client.remove_seat("a")).name == "a"
            assert await client.list_seats() == []
            assert (await client.get_harness(HARNESS)) == (await client.list_harnesses())[0]
            types = [
                one.type for one in await client.list_events(seat="a", types=("seat_added", "turn_ended"))
            ]
            assert types == ["seat_added", "turn_ended"]
            assert (await client.check_store()).ok
            assert (await client.rebuild_store()).rebuilt

    run(test())


def test_a_permission_request_is_answered_once(throwaway_home: Path) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            client = fake.client
            await client.add_seat("a", harness=HARNESS, workspace=workspace(throwaway_home))
            delivery = await client.send("a", "ask")
            waiting = asyncio.create_task(client.wait_turn(delivery.id))
            (request,) = await client.list_permissions(seat="a")
            assert (await client.cancel_turn("a")).name == "a"
            with pytest.raises(UsageError) as caught:
                await client.answer_permission(request.id, AnswerPermission(decision="deny", seat="b"))
            assert caught.value.code == "permission_of_other_seat"
            assert (await client.approve(request.id, reason="fine")).option == "yes"
            with pytest.raises(UsageError) as caught:
                await client.deny(request.id)
            assert caught.value.code == "permission_closed"
            assert not caught.value.retry_safe
            assert await client.list_permissions() == []
            assert (await client.list_permissions(include_closed=True))[0].option == "yes"
            assert (await client.get_permission(request.id)).decision is not None
            turn = await waiting
            assert isinstance(turn, TurnView)
            assert turn.outcome is TurnOutcome.COMPLETED

    run(test())


@pytest.mark.parametrize(("text", "state"), [("hold", DeliveryState.HELD), ("fail", DeliveryState.FAILED)])
def test_waiting_for_a_turn_that_will_not_come_gives_the_delivery(
    throwaway_home: Path, text: str, state: DeliveryState
) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            await fake.client.add_seat("a", harness=HARNESS, workspace=workspace(throwaway_home))
            await fake.client.send("a", text, id="mine")
            found = await fake.client.wait_turn("mine")
            assert isinstance(found, DeliveryView)
            assert found.state is state

    run(test())


def test_waiting_for_a_turn_ends_when_it_ends_or_is_withdrawn_or_time_runs_out(throwaway_home: Path) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            client = fake.client
            await client.add_seat("a", harness=HARNESS, workspace=workspace(throwaway_home))
            for name in ("first", "second"):
                await client.send("a", "wait", id=name)
            early = await client.wait_turn("first", timeout_s=0.05)
            assert isinstance(early, DeliveryView)
            assert early.state is DeliveryState.QUEUED
            waiting = [asyncio.create_task(client.wait_turn(name)) for name in ("first", "second")]
            await until(lambda: len(fake.feed.watchers) == 2)
            fake.service.end_turn("first", TurnOutcome.LIMITED)
            await client.withdraw_delivery("second")
            ended, withdrawn = await asyncio.gather(*waiting)
            assert isinstance(ended, TurnView)
            assert ended.outcome is TurnOutcome.LIMITED
            assert isinstance(withdrawn, DeliveryView)
            assert withdrawn.state is DeliveryState.REFUSED

    run(test())


def test_a_relative_workspace_starts_at_the_programs_own_folder(
    throwaway_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(throwaway_home)

    async def test() -> None:
        async with open_fake() as fake:
            absolute = workspace(throwaway_home)
            assert (await fake.client.add_seat("a", harness=HARNESS, workspace="ws")).workspace == absolute
            assert (
                await fake.client.add_seat("b", harness=HARNESS, workspace=Path("ws"))
            ).workspace == absolute

    run(test())


def test_errors_come_back_as_what_they_were() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            with pytest.raises(UsageError) as usage:
                await fake.client.get_seat("none")
            assert usage.value.code == "unknown_seat"
            assert usage.value.hint == "See `inspan seat list`."
            with pytest.raises(HarnessError) as harness:
                await fake.client.probe_harness(HARNESS)
            assert harness.value.code == "not_installed"
            assert harness.value.detail == {"looked": ["x"]}
            with pytest.raises(UsageError) as wrong:
                await fake.client.list_turns("none", limit=-1)
            assert wrong.value.code == "invalid_argument"

    run(test())


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a?b", "a%2fb", "ä b", "a\nb"])
def test_a_name_is_never_more_than_one_segment_of_a_path(name: str) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            with pytest.raises(UsageError) as caught:
                await fake.client.get_seat(name)
            assert caught.value.code in ("invalid_argument", "unknown_seat")
            if caught.value.code == "unknown_seat":
                assert name in caught.value.message

    run(test())


def test_without_a_daemon_a_call_says_so_and_what_to_do() -> None:
    async def test() -> None:
        client = Client(prepare_home(locate_home()))
        try:
            with pytest.raises(HostError) as caught:
                await client.status()
        finally:
            await client.close()
        assert caught.value.code == "daemon_unreachable"
        assert caught.value.retry_safe
        assert "inspan daemon start" in caught.value.hint
        with pytest.raises(HostError) as caught:
            async with connect(start=False):
                pass
        assert caught.value.code == "daemon_unreachable"

    run(test())


def test_a_closed_client_says_so_and_may_be_closed_again() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            await fake.client.status()
            await fake.client.close()
            await fake.client.close()
            with pytest.raises(HostError) as caught:
                await fake.client.status()
            assert "closed" in caught.value.message

    run(test())


@contextlib.contextmanager
def peer_that_answers(answer: bytes) -> Generator[None]:
    """Something on the daemon's socket that gives `answer` to every connection and hangs up."""
    home = prepare_home(locate_home())
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home.socket))
        listener.listen()

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(65536)
                        connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def http(status: str, body: bytes) -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (
        status.encode(),
        len(body),
        body,
    )


STATUS = {
    "version": "9",
    "api": 99,
    "pid": 1,
    "home": "/",
    "socket": "/",
    "started_at": "2026-01-01T00:00:00Z",
    "seats": 0,
    "live_launches": 0,
    "last_position": 0,
}


@pytest.mark.requirement("H-H6")
def test_a_daemon_that_speaks_another_version_is_refused_before_anything_is_asked_of_it() -> None:
    async def test() -> None:
        with pytest.raises(HostError) as caught:
            async with connect(start=False):
                pass
        assert caught.value.code == "daemon_version"
        assert "99" in caught.value.message

    with peer_that_answers(http("200 OK", json.dumps(STATUS).encode())):
        run(test())


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"", "daemon_unreachable"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{", "daemon_unreachable"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "daemon_unreachable"),
        (http("200 OK", b"not json"), "daemon_version"),
        (http("200 OK", b'{"version": 1}'), "daemon_version"),
        (http("500 Oops", b"<html>"), "daemon_version"),
        (http("404 Gone", b'{"error": "text"}'), "daemon_version"),
        (http("409 No", b'{"error": {"code": "seat_exists", "group": "usage"}}'), "seat_exists"),
    ],
)
def test_whatever_a_peer_answers_is_one_of_our_errors(answer: bytes, code: str) -> None:
    async def test() -> None:
        client = Client(locate_home())
        try:
            with pytest.raises((HostError, UsageError)) as caught:
                await client.status()
            assert caught.value.code == code
        finally:
            await client.close()

    with peer_that_answers(answer):
        run(test())


def test_stopping_the_daemon_returns_once_another_one_could_start() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            await fake.client.stop_daemon()
            assert not fake.home.socket.exists()
            assert not fake.home.lock.exists()
            await fake.ended.wait()
            async with open_fake() as next_one:
                assert (await next_one.client.status()).pid == os.getpid()

    run(test())


def test_a_client_does_not_heed_the_proxies_of_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    async def test() -> None:
        async with open_fake() as fake:
            assert (await fake.client.status()).api == 1

    run(test())


def test_a_home_may_be_named_by_a_path(throwaway_home: Path) -> None:
    async def test() -> None:
        async with open_fake(), connect(str(throwaway_home / "inspan"), start=False) as client:
            assert client.home == locate_home()
        with pytest.raises(HostError):
            async with connect(Path(tempfile.gettempdir()) / "isp-none", start=False):
                pass

    run(test())
