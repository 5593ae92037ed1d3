"""Terminals over HTTP: a screen as text, a stream of bytes for each who looks, and one keyboard."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, NamedTuple

import httpx
import pytest

from inspan.daemon.logs import open_logs
from inspan.daemon.routes.terminals import KEYS_CAP_BYTES
from inspan.model.console_views import PressKeys
from support.fake_daemon import DEADLINE_S, FakeDaemon, open_fake, until
from support.fake_service import HARNESS

WRITER = "Inspan-Writer"


class Attached(NamedTuple):
    """A stream that is open."""

    response: httpx.Response
    pieces: AsyncIterator[bytes]

    @property
    def writer(self) -> dict[str, str]:
        return {WRITER: self.response.headers.get(WRITER, "")}

    async def until(self, text: bytes) -> bytes:
        """Reads on until `text` has come."""
        seen = b""
        while text not in seen:
            seen += await anext(self.pieces)
        return seen


def run(test: Any) -> None:
    asyncio.run(asyncio.wait_for(test, DEADLINE_S))


@contextlib.asynccontextmanager
async def served() -> AsyncGenerator[FakeDaemon]:
    async with open_fake() as fake:
        fake.service.console = "a"
        yield fake


@contextlib.asynccontextmanager
async def attached(fake: FakeDaemon, query: str = "") -> AsyncGenerator[Attached]:
    async with fake.http.stream("GET", f"/v1/seats/a/terminal{query}") as response:
        yield Attached(response, response.aiter_raw())


async def code_of(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def test_a_screen_is_shown_as_text_with_the_lines_above_it() -> None:
    async def test() -> None:
        async with served() as fake:
            shown = (await fake.http.get("/v1/seats/a/screen", params={"scrollback": 2})).json()
            assert (shown["seat"], shown["lines"], shown["title"]) == ("a", ["the screen"], "a title")
            assert shown["scrollback"] == ["above 0", "above 1"]
            assert (await fake.http.get("/v1/seats/a/screen?scrollback=-1")).status_code == 400
            assert await code_of(await fake.http.get("/v1/seats/b/screen")) == (409, "no_terminal")

    run(test())


@pytest.mark.parametrize("query", ["", "?write=true", "?guest=true"])
def test_a_stream_begins_with_the_screen_and_ends_well_as_the_harness_does(query: str) -> None:
    async def test() -> None:
        async with served() as fake, attached(fake, query) as terminal:
            headers = terminal.response.headers
            assert headers["content-type"] == "application/octet-stream"
            assert (headers["inspan-columns"], headers["inspan-rows"]) == ("80", "24")
            assert (WRITER in headers) is ("write" in query)
            assert await terminal.until(b"the screen") == b"the screen"
            fake.service.write(b"and more")
            await terminal.until(b"and more")
            fake.service.write(b"the last")
            fake.service.end_console()
            assert b"".join([piece async for piece in terminal.pieces]) == b"the last"
            assert fake.service.viewers.count == 0

    run(test())


def test_everybody_sees_the_same_and_who_leaves_is_forgotten_and_gives_the_keyboard_back() -> None:
    async def test() -> None:
        async with served() as fake:
            viewers = fake.service.viewers
            async with attached(fake) as one:
                async with attached(fake, "?write=true") as other:
                    assert viewers.count == 2
                    assert viewers.has_writer
                    fake.service.write(b"for both")
                    await one.until(b"for both")
                    await other.until(b"for both")
                await until(lambda: viewers.count == 1)
                assert not viewers.has_writer
                fake.service.write(b"for one")
                await one.until(b"for one")
            await until(lambda: viewers.count == 0)

    run(test())


def test_keys_are_typed_as_they_are_by_who_has_the_keyboard_and_by_nobody_else() -> None:
    async def test() -> None:
        async with served() as fake, attached(fake, "?write=true") as terminal:
            where = "/v1/seats/a/terminal/keys"
            keys = bytes(range(256))
            answer = await fake.http.post(where, content=keys, headers=terminal.writer)
            assert (answer.status_code, answer.content) == (204, b"")
            assert fake.service.typed == keys
            for headers in ({}, {WRITER: ""}, {WRITER: "wrong"}):
                answer = await fake.http.post(where, content=b"x", headers=headers)
                assert await code_of(answer) == (409, "not_the_writer")
            assert fake.service.typed == keys

    run(test())


def test_keys_of_an_operator_need_a_reason_and_names_that_are_keys() -> None:
    async def test() -> None:
        async with served() as fake:
            seat = {"name": "a", "harness": HARNESS, "workspace": "/"}
            assert (await fake.http.post("/v1/seats", json=seat)).status_code == 201
            where = "/v1/seats/a/keys"
            good = {"keys": ["escape", "ctrl-c", "y"], "reason": "it hangs"}
            assert (await fake.http.post(where, json=good)).status_code == 200
            for bad in (
                {**good, "reason": ""},
                {**good, "keys": []},
                {**good, "keys": ["\x1b"]},
                {"keys": ["y"]},
            ):
                answer = await fake.http.post(where, json=bad)
                assert (await code_of(answer))[0] == 400
            assert fake.service.pressed == [PressKeys(keys=("escape", "ctrl-c", "y"), reason="it hangs")]

    run(test())


def test_keys_are_bounded_and_the_refusal_says_how() -> None:
    async def test() -> None:
        async with served() as fake, attached(fake, "?write=true") as terminal:
            where = "/v1/seats/a/terminal/keys"
            most = b"k" * KEYS_CAP_BYTES
            assert (await fake.http.post(where, content=most, headers=terminal.writer)).status_code == 204
            answer = await fake.http.post(where, content=b"k" * 1024 * 1024, headers=terminal.writer)
            assert await code_of(answer) == (413, "body_too_large")
            assert str(KEYS_CAP_BYTES) in answer.json()["error"]["message"]
            assert fake.service.typed == most

    run(test())


def test_a_second_keyboard_is_refused_unless_it_is_taken_over_and_then_the_first_types_no_more() -> None:
    async def test() -> None:
        async with served() as fake, attached(fake, "?write=true") as first:
            refused = await fake.http.get("/v1/seats/a/terminal?write=true")
            assert await code_of(refused) == (409, "writer_exists")
            async with attached(fake, "?steal=true") as second:
                where = "/v1/seats/a/terminal/keys"
                answer = await fake.http.post(where, content=b"1", headers=first.writer)
                assert await code_of(answer) == (409, "not_the_writer")
                await fake.http.post(where, content=b"2", headers=second.writer)
                assert fake.service.typed == b"2"
                fake.service.write(b"still shown")
                await first.until(b"still shown")

    run(test())


def test_a_size_is_set_by_anybody_until_somebody_has_the_keyboard() -> None:
    async def test() -> None:
        async with served() as fake:
            where = "/v1/seats/a/terminal/size"
            assert (await fake.http.post(where, json={"columns": 100, "rows": 30})).status_code == 204
            assert fake.service.size == (100, 30)
            async with attached(fake, "?write=true") as terminal:
                size = {"columns": 60, "rows": 20}
                assert await code_of(await fake.http.post(where, json=size)) == (409, "not_the_writer")
                assert (await fake.http.post(where, json=size, headers=terminal.writer)).status_code == 204
                assert fake.service.size == (60, 20)
            for wrong in ({"columns": 0, "rows": 5}, {"columns": 1001, "rows": 5}, {"columns": 5}, {}):
                assert await code_of(await fake.http.post(where, json=wrong)) == (400, "invalid_argument")

    run(test())


def test_a_guest_is_asked_nothing_and_everybody_else_gets_every_byte() -> None:
    async def test() -> None:
        async with served() as fake, attached(fake) as raw, attached(fake, "?guest=true") as guest:
            fake.service.write(b"\x1b[cask\x1b]7501;?\x1b\\ed.")
            assert (await raw.until(b"ed.")).endswith(b"\x1b[cask\x1b]7501;?\x1b\\ed.")
            assert (await guest.until(b"ed.")).endswith(b"asked.")

    run(test())


def test_a_guest_is_shown_everything_again_when_the_program_comes_back_to_its_main_screen() -> None:
    async def test() -> None:
        async with served() as fake, attached(fake, "?guest=true") as guest:
            await guest.until(b"the screen")
            fake.service.screen = b"the main screen"
            fake.service.write(b"\x1b[?1049hother\x1b[?1049l")
            seen = await guest.until(b"the main screen")
            assert b"1049" not in seen
            assert seen.index(b"other") < seen.index(b"the main screen")

    run(test())


def test_whoever_reads_nothing_keeps_nobody_waiting_and_sees_the_newest_screen_at_last() -> None:
    async def test() -> None:
        async with served() as fake, attached(fake) as slow, attached(fake) as quick:
            for _ in range(64):
                fake.service.write(b"x" * 65536)
                await quick.until(b"x")
            fake.service.screen = b"the newest screen"
            fake.service.write(b"!")
            await slow.until(b"\x1bcthe newest screen")

    run(test())


def test_a_stream_ends_well_as_the_daemon_stops() -> None:
    async def test() -> None:
        async with served() as fake, attached(fake, "?write=true") as terminal:
            await terminal.until(b"the screen")
            stopping = asyncio.create_task(fake.stop())
            assert [piece async for piece in terminal.pieces] == []
            await stopping
            assert fake.service.viewers.count == 0

    run(test())


@pytest.mark.requirement("L15")
def test_over_tcp_a_terminal_wants_the_token_and_no_log_tells_who_may_type() -> None:
    async def test() -> None:
        async with open_fake(tcp=("127.0.0.1", 0)) as fake:
            logs.enter_context(open_logs(fake.home))
            fake.service.console = "a"
            assert fake.daemon.tcp is not None
            async with httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{fake.daemon.tcp[1]}", trust_env=False
            ) as http:
                for method, path in (
                    ("GET", "screen"),
                    ("GET", "terminal?steal=true"),
                    ("POST", "terminal/keys"),
                    ("POST", "terminal/size"),
                ):
                    answer = await http.request(method, f"/v1/seats/a/{path}")
                    assert await code_of(answer) == (401, "unauthorized")
            assert fake.service.viewers.count == 0
            async with attached(fake, "?write=true") as terminal:
                await fake.http.post("/v1/seats/a/terminal/keys", content=b"k", headers=terminal.writer)
                await fake.http.post(
                    "/v1/seats/a/terminal/keys", content=b"k" * 99999, headers=terminal.writer
                )
                token = terminal.writer[WRITER]
            assert token
            logging.getLogger("inspan").info("the end")
            log = fake.home.log_file.read_text(encoding="utf-8")
            assert "the end" in log
            assert token not in log

    with contextlib.ExitStack() as logs:
        run(test())
