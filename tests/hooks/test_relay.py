"""The relay as a harness runs it: quick, silent, harmless, and nothing at all outside a seat."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspan.hooks import relay
from inspan.hooks.entries import command_line
from inspan.hooks.wire import clear_spool, parse_head, read_spool


@pytest.fixture
def folder() -> Iterator[Path]:
    # The path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="isp-") as made:
        yield Path(made)


def run(
    environment: dict[str, str], payload: bytes = b'{"a": 1}', event: str = "Stop"
) -> subprocess.CompletedProcess[bytes]:
    argv = ["/bin/sh", "-c", command_line(event)]
    return subprocess.run(argv, input=payload, env=environment, capture_output=True, timeout=30, check=False)


def seat(folder: Path) -> dict[str, str]:
    return {
        "INSPAN_HOOKS": str(folder),
        "INSPAN_LAUNCH": "l_1",
        "INSPAN_SEAT": "worker",
        "INSPAN_TOKEN": "secret-of-this-launch",
        "OTHER_TOKEN": "secret-of-somebody-else",
    }


@pytest.mark.requirement("H-G6")
@pytest.mark.parametrize(
    "environment", [{}, {"INSPAN_HOOKS": ""}, {"INSPAN_HOOKS": "HERE"}, {"INSPAN_LAUNCH": "l_1"}]
)
def test_outside_a_seat_it_does_nothing_at_all(environment: dict[str, str], folder: Path) -> None:
    given = {key: value.replace("HERE", str(folder)) for key, value in environment.items()}
    done = run(given, payload=b"x" * 100_000)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(folder.iterdir()) == []


@pytest.mark.requirement("H-G6")
def test_a_relay_or_an_interpreter_that_is_gone_stops_no_harness(folder: Path) -> None:
    command = command_line("Stop")
    for there in (str(Path(relay.__file__).resolve()), sys.executable):
        gone = command.replace(there, str(folder / "gone"))
        assert gone != command
        for environment in ({}, seat(folder)):
            done = subprocess.run(
                ["/bin/sh", "-c", gone],
                input=b"{}",
                env=environment,
                capture_output=True,
                timeout=30,
                check=False,
            )
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_event_reaches_who_listens_with_the_token_and_the_launch(folder: Path) -> None:
    got: list[bytes] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(folder / "hooks.sock"))
        server.listen()

        def take() -> None:
            connection, _ = server.accept()
            with connection:
                data = b""
                while not data.endswith(b'{"a": 1}'):
                    data += connection.recv(65536)
                got.append(data)
                connection.sendall(b"+")

        taking = threading.Thread(target=take)
        taking.start()
        done = run(seat(folder))
        taking.join(timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    line, _, payload = got[0].partition(b"\n")
    head = parse_head(line)
    assert head is not None
    assert (head.launch, head.seat, head.token, head.event) == (
        "l_1",
        "worker",
        "secret-of-this-launch",
        "Stop",
    )
    assert (head.size_bytes, payload) == (8, b'{"a": 1}')
    assert os.getpid() in head.ancestors or sys.platform == "darwin"
    assert not (folder / "hooks.spool").exists()


@pytest.mark.parametrize("listens", ["nobody", "deaf", "hangs up", "no socket"])
def test_where_nobody_takes_it_it_is_left_once_without_any_secret(folder: Path, listens: str) -> None:
    path = folder / "hooks.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        if listens == "no socket":
            path.write_text("a file")
        elif listens != "nobody":
            server.bind(str(path))
            server.listen()
            if listens == "hangs up":
                threading.Thread(target=lambda: server.accept()[0].close(), daemon=True).start()
        done = run(seat(folder))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    spool = folder / "hooks.spool"
    left = read_spool(spool)
    assert [(head.event, head.token, payload) for head, payload in left.events] == [("Stop", "", b'{"a": 1}')]
    assert b"secret" not in spool.read_bytes()
    assert stat.S_IMODE(spool.stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["missing", "a file", "read-only", "spool is a folder", "spool is a link"])
def test_whatever_it_finds_it_ends_well_and_says_nothing(folder: Path, kind: str) -> None:
    target = folder / "launch"
    match kind:
        case "missing":
            pass
        case "a file":
            target.touch()
        case "read-only":
            target.mkdir(mode=0o500)
        case "spool is a folder":
            (target / "hooks.spool").mkdir(parents=True)
        case _:
            target.mkdir()
            (target / "hooks.spool").symlink_to(folder / "elsewhere")
    done = run(seat(target))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not (folder / "elsewhere").exists()


def test_it_ends_well_without_any_input_and_with_strange_arguments(folder: Path) -> None:
    argv = [sys.executable, "-I", "-S", relay.__file__]
    for words in (argv, [*argv, "a\nb"], [*argv, "Stop", "more", "words"]):
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, env=seat(folder), capture_output=True, timeout=30, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    names = [head.event for head, _ in read_spool(folder / "hooks.spool").events]
    assert names == ["", "ab", "Stop"]


def test_a_payload_that_never_ends_does_not_keep_the_harness_waiting(folder: Path) -> None:
    argv = ["/bin/sh", "-c", command_line("Stop")]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, env=seat(folder))
    assert process.stdin is not None
    process.stdin.write(b'{"a": ')
    process.stdin.flush()
    assert process.wait(timeout=30) == 0
    process.stdin.close()
    ((head, payload),) = read_spool(folder / "hooks.spool").events
    assert (head.size_bytes, payload) == (None, None)


def test_a_payload_of_ten_megabytes_is_told_of_and_not_kept(folder: Path) -> None:
    assert run(seat(folder), payload=b"x" * (relay.PAYLOAD_BYTES + 1)).returncode == 0
    assert run(seat(folder), payload=b"x" * (relay.SPOOL_BYTES + 1)).returncode == 0
    left = read_spool(folder / "hooks.spool")
    assert [payload for _, payload in left.events] == [None, None]
    assert left.size_bytes < 1000


def test_the_spool_is_bounded_and_says_when_it_is_full(folder: Path) -> None:
    spool = folder / "hooks.spool"
    spool.write_bytes(b"x" * (relay.SPOOL_BYTES - 10))
    run(seat(folder))
    left = read_spool(spool)
    assert [payload for _, payload in left.events] == [None]
    assert (left.malformed, left.is_full) == (1, True)
    spool.write_bytes(b"x" * (relay.SPOOL_BYTES + relay.SPOOL_SLACK_BYTES))
    before = spool.stat().st_size
    assert run(seat(folder)).returncode == 0
    assert spool.stat().st_size == before


def test_many_at_once_leave_each_one_whole(folder: Path) -> None:
    argv = ["/bin/sh", "-c", command_line("Tool")]
    running = [subprocess.Popen(argv, stdin=subprocess.PIPE, env=seat(folder)) for _ in range(8)]
    for number, process in enumerate(running):
        process.communicate(b"%d" % number * 50_000, timeout=60)
        assert process.returncode == 0
    left = read_spool(folder / "hooks.spool")
    assert left.malformed == 0
    assert sorted(payload[:1] for _, payload in left.events if payload) == [
        b"%d" % number for number in range(8)
    ]
    orders = [head.order for head, _ in left.events]
    assert orders == sorted(orders)


def test_a_spool_is_emptied_only_of_what_was_taken(folder: Path) -> None:
    spool = folder / "hooks.spool"
    assert clear_spool(spool, taken_bytes=0)
    run(seat(folder))
    taken = read_spool(spool).size_bytes
    run(seat(folder), event="Later")
    assert not clear_spool(spool, taken_bytes=taken)
    more = read_spool(spool, begin=taken)
    assert [head.event for head, _ in more.events] == ["Later"]
    assert clear_spool(spool, taken_bytes=taken + more.size_bytes)
    assert spool.stat().st_size == 0


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\0" * 8,
        b"inspan-hook/1\0a\0b\0c\0d\0x\0y\0\0" + b"5",
        b"inspan-hook/1" + b"\0" * 8 + b"-",
        b"GET / HTTP/1.1",
    ],
)
def test_a_head_of_any_other_form_is_none(line: bytes) -> None:
    assert parse_head(line) is None


def test_it_imports_next_to_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", relay.__file__],
        env={},
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}
    assert imported.isdisjoint({"json", "socket", "asyncio", "re", "typing", "pathlib", "subprocess", "enum"})
