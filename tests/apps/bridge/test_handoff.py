"""HTTP to a harness: a status and no more, from this machine alone, in time."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Generator

import pytest

from inspan.apps.bridge.environment import agent_environment
from inspan.apps.bridge.handoff import HandoffFailed, call, headers_of, is_up


@contextlib.contextmanager
def listening(talk: Callable[[socket.socket, bytes], None]) -> Generator[tuple[str, list[bytes]]]:
    """A server that hands each request to `talk`; yields its address and what it was sent."""
    listener = socket.create_server(("127.0.0.1", 0))
    heard: list[bytes] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                with peer:
                    request = b""
                    while b"\r\n\r\n" not in request or _is_short(request):
                        part = peer.recv(65536)
                        if not part:
                            break
                        request += part
                    else:
                        heard.append(request)
                        with contextlib.suppress(OSError):
                            talk(peer, request)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", heard
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def _is_short(request: bytes) -> bool:
    head, _, body = request.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return len(body) < int(line.split(b":")[1])
    return False


def says(answer: bytes) -> Callable[[socket.socket, bytes], None]:
    return lambda peer, _: peer.sendall(answer)


def post(url: str, **options: float) -> int:
    return call("POST", url, {"a": "ü"}, {"X-Own": "1"}, allow_remote=False, **options)


@pytest.mark.requirement("P33")
def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    with (
        listening(says(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) as (elsewhere, never),
        listening(says(f"HTTP/1.1 307 Go\r\nLocation: {elsewhere}/\r\n\r\n".encode())) as (url, heard),
    ):
        assert post(f"{url}/work?to=me") == 307
        assert len(heard) == 1
        assert heard[0].startswith(b"POST /work?to=me HTTP/1.1\r\n")
        assert heard[0].endswith('\r\n\r\n{"a":"ü"}'.encode())
        assert never == []


@pytest.mark.requirement("P33")
def test_an_answer_without_an_end_is_not_read() -> None:
    def flood(peer: socket.socket, _: bytes) -> None:
        peer.sendall(b"HTTP/1.1 202 Accepted\r\n\r\n")
        while True:
            peer.sendall(b"x" * 65536)

    with listening(flood) as (url, _):
        assert post(url) == 202


@pytest.mark.requirement("P33")
def test_headers_without_an_end_are_not_read_either() -> None:
    def flood(peer: socket.socket, _: bytes) -> None:
        peer.sendall(b"HTTP/1.1 202 Accepted\r\n")
        while True:
            peer.sendall(b"X-More: " + b"y" * 1000 + b"\r\n")

    with listening(flood) as (url, _), pytest.raises(HandoffFailed):
        post(url)


@pytest.mark.requirement("P33")
def test_one_byte_after_the_other_does_not_hold_the_bridge_longer_than_its_limit() -> None:
    is_over = threading.Event()

    def drip(peer: socket.socket, _: bytes) -> None:
        while not is_over.wait(0.02):
            peer.sendall(b"H")

    with listening(drip) as (url, _):
        with pytest.raises(HandoffFailed, match="in time"):
            post(url, timeout_s=0.3)
        is_over.set()


@pytest.mark.requirement("P33")
def test_a_name_that_leads_to_another_machine_is_refused_at_the_moment_of_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Elsewhere(socket.socket):
        def getpeername(self) -> tuple[str, int]:
            return ("192.0.2.1", 80)

    with listening(says(b"HTTP/1.1 200 OK\r\n\r\n")) as (url, heard):
        port = int(url.rpartition(":")[2])

        def connect(*_: object, **__: object) -> socket.socket:
            found = Elsewhere()
            found.connect(("127.0.0.1", port))
            return found

        monkeypatch.setattr(socket, "create_connection", connect)
        with pytest.raises(HandoffFailed, match="allowRemote"):
            call("POST", "http://localhost/", {}, {}, allow_remote=False)
        assert heard == []
        assert call("POST", "http://localhost/", {}, {}, allow_remote=True) == 200


def test_nobody_there_something_else_there_and_an_error_there_are_not_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    assert not is_up(url, allow_remote=False)
    for answer in (b"SSH-2.0-x\r\n", b"HTTP/1.1 503 No\r\n\r\n"):
        with listening(says(answer)) as (url, _):
            assert not is_up(url, allow_remote=False)
    with listening(says(b"HTTP/1.1 204 Yes\r\n\r\n")) as (url, _):
        assert is_up(url, allow_remote=False)


@pytest.mark.requirement("P33")
def test_a_token_is_taken_from_the_variable_of_that_name_and_a_routes_own_header_wins() -> None:
    assert headers_of("T", {}, {"T": " abc \n"})["Authorization"] == "Bearer abc"
    assert "Authorization" not in headers_of("T", {}, {"T": "  "})
    assert "Authorization" not in headers_of("", {}, {"": "x"})
    own = headers_of("T", {"authorization": "Basic x"}, {"T": "abc"})
    assert [value for name, value in own.items() if name.lower() == "authorization"] == ["Basic x"]


@pytest.mark.requirement("P33")
def test_an_agent_inherits_what_any_program_needs_and_what_was_named_and_nothing_else() -> None:
    environ = {
        "PATH": "/bin",
        "HOME": "/h",
        "LC_ALL": "C",
        "ACME_KEY": "k",
        "ACME_URL_BASE": "u",
        "OTHER_API_KEY": "secret",
        "A2APP_TOKEN": "secret",
        "A2APP_AUTH_TOKEN": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "LD_PRELOAD": "x",
        "PYTHONPATH": "x",
    }
    given = agent_environment(
        environ, inherits=("ACME_KEY", "ACME_URL_*"), sets={"A2APP_AGENT": "bridge:acme"}
    )
    assert {name: value for name, value in given.items() if name != "PATH"} == {
        "HOME": "/h",
        "LC_ALL": "C",
        "ACME_KEY": "k",
        "ACME_URL_BASE": "u",
        "A2APP_AGENT": "bridge:acme",
    }
    assert given["PATH"].startswith("/bin")
