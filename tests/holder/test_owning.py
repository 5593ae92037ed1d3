"""The handshake, the one owner, and what happens to who breaks the protocol."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any

import msgspec
import pytest

from inspan.holder import HolderSpec, LaunchDisk, ProcessIdentity, this_process
from inspan.holder.program import OLDEST_PROTOCOL, PROTOCOL
from inspan.holder.program.frames import FrameDecoder, encode_data, encode_json
from inspan.model.errors import HolderError
from support.holders import COUNTER, NONCE, Launches, connect, identity_of, scenario, script, until


class Raw:
    """A connection below the client: it can say what the client never would."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.decoder = FrameDecoder()

    @classmethod
    async def open(cls, spec: HolderSpec) -> Raw:
        return cls(*await asyncio.open_unix_connection(str(spec.socket)))

    async def answers(self) -> list[dict[str, Any]]:
        """All that comes until the holder closes."""
        found: list[dict[str, Any]] = []
        while True:
            try:
                data = await self.reader.read(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                self.writer.close()
                return found
            found += [json.loads(body) for kind, body in self.decoder.feed(data) if kind == "J"]

    async def answer(self) -> dict[str, Any]:
        """The next message."""
        while True:
            for kind, body in self.decoder.feed(await self.reader.read(65536)):
                if kind == "J":
                    return json.loads(body)

    def send(self, raw: bytes) -> None:
        self.writer.write(raw)

    def hello(self, **changes: Any) -> None:
        owner = msgspec.to_builtins(this_process())
        hello = {"type": "hello", "protocol": PROTOCOL, "nonce": NONCE, "owner": owner}
        self.send(encode_json({**hello, **changes}))

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


async def is_unharmed(spec: HolderSpec) -> None:
    """The harness still answers, to a new owner."""
    async with await connect(spec) as connection:
        chunks = await connection.chunks(connection.welcome.journal.end)
        await connection.write(connection.welcome.accepted_op + 1, b"still there\n")
        _, data = await anext(chunks)
        assert b"still there" in data


async def refusal(spec: HolderSpec, **changes: Any) -> HolderError:
    with pytest.raises(HolderError) as caught:
        await connect(spec, **changes)
    assert caught.value.code == "holder_refused"
    return caught.value


@pytest.mark.requirement("H-H6", "H-N35")
@pytest.mark.parametrize("protocol", [OLDEST_PROTOCOL - 1, PROTOCOL + 1, str(PROTOCOL), None])
@scenario
async def test_another_protocol_version_is_refused_in_the_handshake_and_harms_no_harness(
    launches: Launches, protocol: object
) -> None:
    spec = await launches.start(*script(COUNTER))
    raw = await Raw.open(spec)
    raw.hello(protocol=protocol)
    (answer,) = await raw.answers()
    assert (answer["type"], answer["code"], answer["detail"]) == (
        "refused",
        "version_mismatch",
        {"protocol": PROTOCOL, "oldest": OLDEST_PROTOCOL},
    )
    await is_unharmed(spec)


@pytest.mark.requirement("H-H6")
@scenario
async def test_an_owner_of_the_oldest_version_is_served(launches: Launches) -> None:
    spec = await launches.start(*script(COUNTER))
    raw = await Raw.open(spec)
    raw.hello(protocol=OLDEST_PROTOCOL)
    assert (await raw.answer())["type"] == "welcome"
    raw.send(encode_data(1, b"from before\n") + encode_json({"type": "attach", "id": 1, "from": 0}))
    await until(lambda: LaunchDisk(spec.directory).journal().end == 14, "the harness has answered")
    await raw.close()


@pytest.mark.requirement("H-H6")
@scenario
async def test_a_holder_of_the_oldest_version_is_spoken_to_in_its_own(launches: Launches) -> None:
    spec = launches.spec("cat")
    spec.directory.mkdir(mode=0o700)
    heard: list[dict[str, Any]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await Raw(reader, writer).answer())
        writer.write(encode_json(WELCOME_1))
        await reader.read()
        writer.close()

    record = {"pid": 1, "start_time": "", "protocol": 1, "holder_version": "1.0", "launch": spec.launch}
    record |= {"harness_pid": 1, "harness_start_time": "", "socket": str(spec.socket)}
    path = spec.directory / "holder.json"
    path.write_text(json.dumps(record))
    async with await asyncio.start_unix_server(serve, spec.socket), await connect(spec) as connection:
        assert heard[0]["protocol"] == 1
        assert connection.welcome.terminal is None
        for asked in (connection.type_keys(b"x"), connection.foreground(), connection.resize(80, 24)):
            with pytest.raises(HolderError) as caught:
                await asked
            assert caught.value.detail["reason"] == "no_terminal"
        assert not connection.is_closed
    path.unlink()
    spec.socket.unlink(missing_ok=True)


WELCOME_1 = {
    "type": "welcome",
    "launch": "an-older-launch",
    "protocol": 1,
    "holder_version": "1.0",
    "frame_cap": 33554432,
    "harness": {"pid": 1, "start_time": "", "running": True},
    "exit": None,
    "last_op": 0,
    "last_op_state": "none",
    "op_in_progress": None,
    "accepted_op": 0,
    "stdin_open": True,
    "journal": {"first": 0, "end": 0, "acknowledged": 0},
    "stalled": None,
    "reading": True,
    "stderr_bytes": 0,
}
"""What a holder of version 1 answered; never to be changed."""


@pytest.mark.requirement("H-H1", "L15")
@scenario
async def test_a_wrong_nonce_is_refused_without_being_repeated(launches: Launches) -> None:
    spec = await launches.start(*script(COUNTER))
    error = await refusal(spec, nonce="wrong-nonce")
    assert error.detail["reason"] == "bad_nonce"
    assert "wrong-nonce" not in f"{error} {error.detail} {(spec.directory / 'holder.log').read_text()}"
    await is_unharmed(spec)


@pytest.mark.requirement("H-H3", "H-N34")
@scenario
async def test_a_second_owner_is_refused_while_the_first_lives_and_welcome_after_it_has_left(
    launches: Launches,
) -> None:
    spec = await launches.start(*script(COUNTER))
    async with await connect(spec) as first:
        error = await refusal(spec)
        assert error.detail["reason"] == "owner_alive"
        assert error.detail["pid"] == os.getpid()
        assert (await first.status()).harness.running
    await is_unharmed(spec)


@pytest.mark.requirement("H-H1", "H-N32")
@scenario
async def test_an_owner_must_be_a_process_that_lives(launches: Launches) -> None:
    spec = await launches.start(*script(COUNTER))
    gone = ProcessIdentity(pid=os.getpid(), start_time="another-boot:1")
    assert (await refusal(spec, owner=gone)).detail["reason"] == "owner_invalid"
    await is_unharmed(spec)


OWNER_WITH_CHILD = """
import asyncio, os, sys
from pathlib import Path
from inspan.holder import connect_holder

async def main():
    connection = await connect_holder(Path(sys.argv[1]), nonce=sys.argv[2])
    if os.fork() == 0:  # has the connection open as well
        os.closerange(0, 3)
        while True:
            os.read(int(sys.argv[3]), 1) or os._exit(0)
    print("connected", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.requirement("H-H2")
@scenario
async def test_an_owner_whose_process_is_dead_is_replaced_even_if_its_connection_is_open(
    launches: Launches,
) -> None:
    spec = await launches.start(*script(COUNTER))
    reader, writer = os.pipe()
    owner = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", OWNER_WITH_CHILD, str(spec.directory), spec.nonce, str(reader)),
        stdout=asyncio.subprocess.PIPE,
        pass_fds=[reader],
    )
    os.close(reader)
    try:
        assert owner.stdout is not None
        assert await owner.stdout.readline() == b"connected\n"
        assert (await refusal(spec)).detail["reason"] == "owner_alive"
        owner.send_signal(signal.SIGSTOP)
        assert (await refusal(spec)).detail["reason"] == "owner_alive"
        owner.kill()
        await owner.wait()
        await is_unharmed(spec)
    finally:
        os.close(writer)


BROKEN = {
    "an empty frame": (bytes(4), "frame_malformed"),
    "an unknown kind": (b"\0\0\0\2X!", "frame_malformed"),
    "no JSON": (b"\0\0\0\3J{]", "frame_malformed"),
    "no object": (encode_json([]), "frame_malformed"),  # pyright: ignore[reportArgumentType]
    "deep JSON": (b"\0\1\x86\xa1J" + b"[" * 100_000, "frame_malformed"),
    "a short write": (b"\0\0\0\3D12", "frame_malformed"),
    "a frame over the cap": ((2**24).to_bytes(4, "big") + b"J", "frame_too_large"),
}


@pytest.mark.requirement("H-H5", "H-N36")
@pytest.mark.parametrize("is_owner", [True, False])
@pytest.mark.parametrize("name", BROKEN)
@scenario
async def test_a_broken_frame_from_any_sender_ends_its_connection_and_harms_no_harness(
    launches: Launches, name: str, is_owner: bool
) -> None:
    spec = await launches.start(*script(COUNTER), frame_cap=1024 * 1024)
    raw = await Raw.open(spec)
    if is_owner:
        raw.hello()
        assert (await raw.answer())["type"] == "welcome"
    raw.send(BROKEN[name][0])
    answer = (await raw.answers())[-1]
    expected = BROKEN[name][1] if is_owner or name != "a short write" else "hello_missing"
    assert answer["code"] == expected
    await is_unharmed(spec)


@pytest.mark.parametrize(
    "first", [encode_json({"type": "attach", "id": 1, "from": 0}), encode_data(1, b"x"), encode_json({})]
)
@scenario
async def test_nothing_is_done_before_hello(launches: Launches, first: bytes) -> None:
    spec = await launches.start(*script(COUNTER))
    raw = await Raw.open(spec)
    raw.send(first)
    assert [answer["code"] for answer in await raw.answers()] == ["hello_missing"]
    await is_unharmed(spec)


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"type": "attach", "from": -1}, "request_invalid"),
        ({"type": "attach", "from": True}, "request_invalid"),
        ({"type": "attach", "from": 2**70}, "request_invalid"),
        ({"type": "attach", "from": 1}, "offset_ahead"),
        ({"type": "attach"}, "request_invalid"),
        ({"type": "ack", "offset": 1}, "offset_ahead"),
        ({"type": "signal", "sig": 4000}, "signal_failed"),
        ({"type": "stop", "eof_grace_s": -1, "term_grace_s": 1}, "request_invalid"),
        ({"type": "release"}, "harness_running"),
        ({"type": "keys", "data": ""}, "no_terminal"),
        ({"type": "answer", "offset": 1, "data": ""}, "no_terminal"),
        ({"type": "resize", "columns": 80, "rows": 24}, "no_terminal"),
        ({"type": "foreground"}, "no_terminal"),
        ({"type": "dance"}, "request_unknown"),
        ({"type": "status", "id": "one"}, "request_invalid"),
    ],
)
@scenario
async def test_a_request_that_cannot_be_met_is_answered_and_the_connection_goes_on(
    launches: Launches, request_: dict[str, Any], code: str
) -> None:
    spec = await launches.start(*script(COUNTER))
    raw = await Raw.open(spec)
    raw.hello()
    await raw.answer()
    raw.send(encode_json({"id": 1, **request_}))
    assert (await raw.answer())["code"] == code
    raw.send(encode_json({"type": "status", "id": 2}))
    assert (await raw.answer())["id"] == 2
    await raw.close()


@scenario
async def test_silent_strangers_are_turned_away_and_do_not_keep_the_owner_out(launches: Launches) -> None:
    spec = await launches.start(*script(COUNTER))
    strangers = [await Raw.open(spec) for _ in range(7)]
    await is_unharmed(spec)
    for stranger in strangers:
        assert [answer["code"] for answer in await stranger.answers()] == ["hello_timeout"]


@scenario
async def test_a_holder_that_does_not_answer_is_not_taken_for_dead(launches: Launches) -> None:
    spec = await launches.start(*script(COUNTER))
    os.kill(identity_of(spec).holder.pid, signal.SIGSTOP)
    with pytest.raises(HolderError) as caught:
        await connect(spec, timeout_s=0.2)
    assert caught.value.code == "holder_timeout"
    os.kill(identity_of(spec).holder.pid, signal.SIGCONT)
    await is_unharmed(spec)


@scenario
async def test_a_launch_without_a_holder_is_told_as_lost(launches: Launches) -> None:
    spec = launches.spec("cat")
    with pytest.raises(HolderError) as caught:
        await connect(spec)
    assert (caught.value.code, caught.value.detail["reason"]) == ("holder_lost", "not_started")
    ended = await launches.start("true")
    await until(lambda: not ended.socket.exists(), "the holder leaves by itself")
    with pytest.raises(HolderError) as caught:
        await connect(ended)
    assert (caught.value.code, caught.value.detail["reason"]) == ("holder_lost", "holder_gone")
