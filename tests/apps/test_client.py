"""The client gives an answer or says in time that there is none; it keeps credentials out of all that it says."""

import contextlib
import json
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from inspan.apps.client import AppClient, AppUnreachable
from inspan.apps.conformance.reference import FULL_TOKEN
from inspan.apps.faults import Misused
from support.apps.programs import answering, board, free_port, read_request


def _said(answer: bytes) -> Callable[[socket.socket], None]:
    """A server that reads a request's head and gives this answer, then closes."""

    def speak(one: socket.socket) -> None:
        with one:
            one.recv(65536)
            one.sendall(answer)

    return speak


def _http(body: bytes, *, status: str = "200 OK", head: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body


def _hang(one: socket.socket) -> None:
    while one.recv(65536):
        pass


def _drip(one: socket.socket) -> None:
    one.recv(65536)
    one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        one.sendall(b" ")
        threading.Event().wait(0.02)


def _drip_head(one: socket.socket) -> None:
    one.recv(65536)
    one.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        one.sendall(b"x")
        threading.Event().wait(0.02)


def test_the_calls_of_the_protocol_reach_a_real_app() -> None:
    with tempfile.TemporaryDirectory(prefix="isp-") as folder, board(Path(folder)) as one:
        one.app.trigger("card.due_soon", {"card": "card_seed"}, capability="summarize")
        with AppClient(one.served.url, token=FULL_TOKEN) as client:
            identity = client.identity()
            assert identity is not None
            assert identity["app"]["id"] == "conformance_kanban"
            assert client.describe("board/cards").body["level"] == "entity"
            assert client.describe(find="card").body["matches"]
            assert client.describe(["board", "cards"], True).is_ok
            assert client.whoami().body["credentialId"] == "cred_full"
            assert client.context().body["selected"] == []
            assert client.events().body["events"][0]["type"] == "card.due_soon"
            [task] = client.tasks("submitted").body["tasks"]
            assert client.claim(task["id"]).body["status"] == "working"
            assert client.progress(task["id"], step="half", percent=50).body["progress"]["percent"] == 50
            assert client.complete(task["id"], result={"text": "short"}).body["status"] == "completed"
            assert client.task(task["id"]).body["result"] == {"text": "short"}
            late = client.cancel(task["id"])
            assert (late.status, late.is_ok) == (409, False)
            assert client.task("tsk_none").code == "task_not_found"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(_hang, id="nothing at all"),
        pytest.param(_drip, id="a body, byte by byte"),
        pytest.param(_drip_head, id="a header, byte by byte"),
    ],
)
@pytest.mark.requirement("P8")
def test_an_app_that_hangs_is_unreachable_when_the_time_is_up(
    answer: Callable[[socket.socket], None],
) -> None:
    with (
        answering(answer) as port,
        AppClient(f"http://127.0.0.1:{port}", timeout_s=0.3) as client,
        pytest.raises(AppUnreachable, match="did not answer in time"),
    ):
        client.request("GET", "/api/_a2app")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="it closes at once"),
        pytest.param(b"SSH-2.0-OpenSSH_9.2\r\n", id="it speaks something else"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{", id="it breaks off"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 500 + b"\r\n", id="it has too many headers"),
        pytest.param(_http(b"x" * 5000), id="it answers with too much"),
    ],
)
def test_what_does_not_answer_as_it_should_is_unreachable(answer: bytes) -> None:
    with (
        answering(_said(answer)) as port,
        AppClient(f"http://127.0.0.1:{port}", timeout_s=5, largest_bytes=4000) as client,
        pytest.raises(AppUnreachable),
    ):
        client.request("GET", "/api/_a2app")


def test_a_port_that_nothing_listens_on_is_unreachable() -> None:
    with AppClient(f"http://127.0.0.1:{free_port()}") as client:
        with pytest.raises(AppUnreachable, match="nothing listens there"):
            client.whoami()
        with pytest.raises(AppUnreachable, match="nothing listens there"):
            client.claim("tsk_1")


def test_a_redirect_is_a_no_and_is_not_followed() -> None:
    head = f"Location: http://127.0.0.1:{free_port()}/\r\n"
    found = _said(_http(b"", status="302 Found", head=head))
    with answering(found) as port, AppClient(f"http://127.0.0.1:{port}") as client:
        reply = client.whoami()
    assert (reply.status, reply.is_ok, reply.body) == (302, False, {})


@pytest.mark.parametrize("body", [b"", b"hello", b"[1]", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"n": NaN}'])
def test_an_answer_that_is_no_json_object_is_an_empty_body(body: bytes) -> None:
    with answering(_said(_http(body))) as port, AppClient(f"http://127.0.0.1:{port}") as client:
        assert client.whoami().body == {}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"a2app": True, "ok": False}, id="an error's marker"),
        pytest.param({"app": {"id": "x"}}, id="no marker"),
        pytest.param({"a2app": "yes", "app": {"id": "x"}}, id="a marker that is not true"),
        pytest.param({"a2app": True, "app": "x"}, id="no app"),
    ],
)
def test_who_only_looks_like_an_app_is_none(body: object) -> None:
    with (
        answering(_said(_http(json.dumps(body).encode()))) as port,
        AppClient(f"http://127.0.0.1:{port}") as client,
    ):
        assert client.identity() is None


@pytest.mark.requirement("P8", "P10")
@pytest.mark.parametrize(
    "head",
    [
        pytest.param("HTTP/1.0 200 OK\r\n", id="an older server"),
        pytest.param("HTTP/1.1 200 OK\r\nConnection: close\r\n", id="one that says so"),
        pytest.param("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: SIZE\r\n", id="and how much"),
    ],
)
def test_an_answer_that_ends_with_the_connection_is_read_to_its_end(head: str) -> None:
    body = json.dumps({"text": "x" * 200_000}).encode()
    whole = head.replace("SIZE", str(len(body))).encode() + b"\r\n" + body
    with answering(_said(whole)) as port:
        reply = AppClient(f"http://127.0.0.1:{port}").whoami()
    assert (reply.status, len(str(reply.body["text"]))) == (200, 200_000)


def test_a_question_is_asked_again_when_the_app_closed_the_kept_connection() -> None:
    answers = [_http(b'{"n": 1}'), _http(b'{"n": 2}')]

    def speak(one: socket.socket) -> None:
        one.recv(65536)
        one.sendall(answers.pop(0))
        one.close()  # though the answer did not say so

    with answering(speak) as port, AppClient(f"http://127.0.0.1:{port}") as client:
        assert [client.whoami().body, client.whoami().body] == [{"n": 1}, {"n": 2}]


def test_questions_go_over_one_connection_and_each_write_over_its_own() -> None:
    heard: list[list[bytes]] = []

    def speak(one: socket.socket) -> None:
        mine: list[bytes] = []
        heard.append(mine)
        while data := read_request(one):
            mine.append(data.split(b" ")[0])
            one.sendall(_http(b"{}"))

    with answering(speak) as port, AppClient(f"http://127.0.0.1:{port}") as client:
        for _ in range(3):
            client.whoami()
        client.claim("tsk_1")
        client.whoami()
    assert heard == [[b"GET"] * 3, [b"POST"], [b"GET"]]


def test_a_write_is_sent_once_even_if_the_answer_never_comes() -> None:
    heard: list[bytes] = []

    def speak(one: socket.socket) -> None:
        with contextlib.closing(one):
            heard.append(one.recv(65536))

    with (
        answering(speak) as port,
        AppClient(f"http://127.0.0.1:{port}") as client,
        pytest.raises(AppUnreachable),
    ):
        client.request("POST", "/api/ops/pay", {"amount": 1})
    assert len(heard) == 1


def test_a_request_carries_the_headers_of_the_protocol_and_no_origin() -> None:
    heard: list[bytes] = []

    def speak(one: socket.socket) -> None:
        heard.append(one.recv(65536))
        one.sendall(_http(b"{}"))

    with (
        answering(speak) as port,
        AppClient(
            f"http://127.0.0.1:{port}", token="secret\n", authorization="raw", agent="me\r\nX: y"
        ) as client,
    ):
        client.whoami()
    head = heard[0].decode().lower()
    assert "x-a2app-token: secret\r\n" in head
    assert "authorization: raw\r\n" in head
    assert "x-a2app-agent: mex: y\r\n" in head
    assert "content-type: application/json\r\n" in head
    assert "origin:" not in head


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8090",
        "ftp://h",
        "http://",
        "http://h:99999",
        "http://h\r\nX: y",
        "http://h/?a=b",
        "file:///etc/passwd",
    ],
)
def test_what_is_no_address_of_an_app_is_refused(url: str) -> None:
    with pytest.raises(Misused):
        AppClient(url)


@pytest.mark.parametrize("credential", ["s3cret\r\nX-Evil: 1", "s3crét", "s3c\0ret"])
def test_a_credential_that_cannot_be_sent_is_refused_without_being_said(credential: str) -> None:
    for given in ({"token": credential}, {"authorization": credential}):
        with pytest.raises(Misused) as caught:
            AppClient("http://127.0.0.1:1", **given)  # pyright: ignore[reportArgumentType]
        assert "s3c" not in str(caught.value)


def test_a_credential_in_an_address_is_refused_without_being_said() -> None:
    with pytest.raises(Misused) as caught:
        AppClient("http://me:s3cret@h")
    assert "s3cret" not in str(caught.value)
