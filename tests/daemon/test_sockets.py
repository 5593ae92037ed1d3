"""Sockets: private from the instant at which they exist, TCP on the loopback alone."""

import os
import stat
from pathlib import Path

import pytest

from inspan.daemon.sockets import listen_on_tcp, listen_on_unix, parse_tcp_address, read_or_make_token
from inspan.home import Home, locate_home, prepare_home
from inspan.model.errors import HostError, UsageError


@pytest.fixture
def home() -> Home:
    return prepare_home(locate_home())


@pytest.mark.requirement("H-H4", "L15")
def test_only_its_owner_can_open_the_socket_whatever_the_umask(home: Home) -> None:
    modes: list[int] = []
    umask = os.umask(0)
    try:
        # The mode is the one that `bind` gave it: nothing changes it afterwards, so there is no moment before.
        with listen_on_unix(home):
            modes.append(home.socket.stat().st_mode)
        assert os.umask(0) == 0, "the umask is as it was"
    finally:
        os.umask(umask)

    assert stat.S_ISSOCK(modes[0])
    assert stat.S_IMODE(modes[0]) == 0o600
    assert not home.socket.exists()


def test_a_socket_that_took_our_place_is_not_removed(home: Home) -> None:
    with listen_on_unix(home):
        home.socket.unlink()
        with listen_on_unix(home) as second:
            inode = os.stat(home.socket).st_ino
            assert second.getsockname() == str(home.socket)
            assert inode == os.stat(home.socket).st_ino
    assert not home.socket.exists()


@pytest.mark.parametrize(
    ("text", "address"),
    [("127.0.0.1:8700", ("127.0.0.1", 8700)), ("[::1]:0", ("::1", 0)), ("127.1.2.3:1", ("127.1.2.3", 1))],
)
def test_an_address_of_the_loopback_is_taken(text: str, address: tuple[str, int]) -> None:
    assert parse_tcp_address(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "0.0.0.0:8700",
        "192.168.1.5:80",
        "example.org:80",
        "127.0.0.1",
        ":80",
        "127.0.0.1:99999",
        "127.0.0.1:x",
        "",
    ],
)
def test_any_other_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_tcp_address(text)
    assert caught.value.code == "invalid_argument"


def test_a_port_that_is_taken_is_an_error_with_a_next_step() -> None:
    with (
        listen_on_tcp(("127.0.0.1", 0)) as first,
        pytest.raises(HostError) as caught,
        listen_on_tcp(first.getsockname()),
    ):
        pass
    assert "port" in caught.value.hint


@pytest.mark.requirement("L15")
def test_the_token_is_made_once_and_private(home: Home) -> None:
    umask = os.umask(0)
    try:
        token = read_or_make_token(home)
    finally:
        os.umask(umask)

    assert len(token) >= 32
    assert Path(home.token).stat().st_mode & 0o777 == 0o600
    assert read_or_make_token(home) == token


def test_a_token_that_others_can_read_is_refused(home: Home) -> None:
    read_or_make_token(home)
    home.token.chmod(0o640)

    with pytest.raises(HostError) as caught:
        read_or_make_token(home)
    assert caught.value.code == "home_insecure"
