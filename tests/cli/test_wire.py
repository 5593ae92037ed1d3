import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.cli.wire import call, connect, quote, target
from inspan.model.errors import HostError, InspanError, UsageError

Serve = Callable[[list[bytes]], str]


@pytest.fixture
def serve(throwaway_home: Path) -> Iterator[Serve]:
    """Starts a server of one answer, sent in pieces; gives its socket."""
    threads: list[threading.Thread] = []

    def start(pieces: list[bytes]) -> str:
        path = str(throwaway_home / "s")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        listener.listen(1)

        def answer() -> None:
            with listener:
                peer, _ = listener.accept()
            with peer:
                peer.recv(65536)
                for piece in pieces:
                    peer.sendall(piece)

        threads.append(threading.Thread(target=answer))
        threads[-1].start()
        return path

    yield start
    for thread in threads:
        thread.join()


def _get(path: str, method: str = "GET") -> object:
    return call(connect(path), method, "/v1/status")


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b'{"a":', b'"b"', b"}rest"],
        [
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n",
            b'{"a"\r\n5\r',
            b'\n:"b"}\r\n0\r\n\r\n',
        ],
        [b"HTTP/1.0 200 OK\r\n\r", b'\n{"a":"b"}'],
    ],
    ids=["length", "chunked", "until the end"],
)
def test_an_answer_is_read_whole_however_it_is_framed_and_cut(serve: Serve, pieces: list[bytes]) -> None:
    assert _get(serve(pieces)) == {"a": "b"}


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        [b"HTTP/1.1 200 OK\r\nContent-Le"],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"],
        [b"SSH-2.0-OpenSSH\r\n\r\n"],
    ],
)
@pytest.mark.parametrize(("method", "is_safe"), [("GET", True), ("POST", False)])
def test_half_an_answer_says_whether_it_is_safe_to_ask_again(
    serve: Serve, pieces: list[bytes], method: str, is_safe: bool
) -> None:
    with pytest.raises(HostError) as caught:
        _get(serve(pieces), method)

    assert (caught.value.code, caught.value.retry_safe) == ("daemon_unreachable", is_safe)


def test_an_error_of_the_daemon_keeps_its_code_and_its_hint(serve: Serve) -> None:
    error = {"code": "unknown_seat", "group": "usage", "message": "No.", "hint": "See.", "retry_safe": True}
    content = json.dumps({"error": {**error, "detail": {"seat": "x"}}}).encode()

    with pytest.raises(UsageError) as caught:
        _get(serve([b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n" % len(content), content]))

    assert (caught.value.code, caught.value.hint, caught.value.detail) == (
        "unknown_seat",
        "See.",
        {"seat": "x"},
    )


def test_an_answer_that_is_not_json_is_named_as_such(serve: Serve) -> None:
    with pytest.raises(InspanError, match="not JSON"):
        _get(serve([b"HTTP/1.1 502 Bad\r\nContent-Length: 6\r\n\r\n<html>"]))


def test_nobody_at_the_socket_is_an_os_error(throwaway_home: Path) -> None:
    with pytest.raises(FileNotFoundError):
        connect(str(throwaway_home / "none"))


def test_a_query_leaves_out_what_was_not_given() -> None:
    assert (
        target("/v1/x", {"a": None, "b": True, "c": "ä b&c", "d": 0}) == "/v1/x?b=true&c=%C3%A4%20b%26c&d=0"
    )
    assert target("/v1/x", {"a": None}) == "/v1/x"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_quoted_name_is_one_segment_and_reads_back(name: str) -> None:
    from urllib.parse import unquote

    assert not set(quote(name)) & set("/?#& \r\n")
    assert unquote(quote(name)) == name
