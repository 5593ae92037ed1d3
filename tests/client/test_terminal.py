"""A terminal, from a program: what draws it, the keyboard, and who has it."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from inspan.client.terminal import Terminal
from inspan.model.errors import HostError, UsageError
from support.fake_daemon import DEADLINE_S, FakeDaemon, open_fake, until


def run(test: Any) -> None:
    asyncio.run(asyncio.wait_for(test, DEADLINE_S))


@contextlib.asynccontextmanager
async def served() -> AsyncGenerator[FakeDaemon]:
    async with open_fake() as fake:
        fake.service.console = "a"
        yield fake


async def read_until(terminal: Terminal, text: bytes) -> bytes:
    seen = b""
    async for piece in terminal:
        seen += piece
        if text in seen:
            break
    return seen


def test_a_screen_is_a_typed_view() -> None:
    async def test() -> None:
        async with served() as fake:
            shown = await fake.client.screen("a", scrollback=1)
            assert (shown.columns, shown.lines, shown.cursor.column) == (80, ("the screen",), 3)
            assert shown.scrollback == ("above 0",)
            with pytest.raises(UsageError) as caught:
                await fake.client.screen("b")
            assert caught.value.code == "no_terminal"

    run(test())


def test_a_terminal_is_read_typed_into_and_resized_until_its_harness_ends() -> None:
    async def test() -> None:
        async with served() as fake:
            async with fake.client.terminal("a", write=True) as terminal:
                assert (terminal.columns, terminal.rows, terminal.has_keyboard) == (80, 24, True)
                assert await read_until(terminal, b"screen") == b"the screen"
                keys = bytes(range(256)) * 800
                await terminal.keys(keys)
                assert fake.service.typed == keys
                await terminal.resize(100, 30)
                assert fake.service.size == (100, 30)
                fake.service.end_console()
                async for _ in terminal:
                    pass
            await until(lambda: fake.service.viewers.count == 0)

    run(test())


def test_who_looks_on_types_nothing_and_who_was_replaced_types_no_more() -> None:
    async def test() -> None:
        async with served() as fake, fake.client.terminal("a") as looking:
            assert not looking.has_keyboard
            async with fake.client.terminal("a", write=True) as first:
                with pytest.raises(UsageError) as caught:
                    async with fake.client.terminal("a", write=True):
                        pass
                assert caught.value.code == "writer_exists"
                async with fake.client.terminal("a", write=True, steal=True) as second:
                    await second.keys(b"2")
                    for other in (looking, first):
                        with pytest.raises(UsageError) as caught:
                            await other.keys(b"1")
                        assert caught.value.code == "not_the_writer"
                        with pytest.raises(UsageError):
                            await other.resize(10, 10)
            assert fake.service.typed == b"2"
            with pytest.raises(UsageError):
                async with fake.client.terminal("a", steal=True):
                    pass

    run(test())


def test_a_daemon_that_is_gone_is_an_error_and_what_the_program_raises_comes_out_as_it_is() -> None:
    async def test() -> None:
        async with served() as fake:
            with pytest.raises(ZeroDivisionError):
                async with fake.client.terminal("a"):
                    raise ZeroDivisionError
            async with fake.client.terminal("a", guest=True) as terminal:
                await read_until(terminal, b"screen")
                await fake.client.close()
                with pytest.raises(HostError) as caught:
                    await read_until(terminal, b"never")
                assert caught.value.code == "daemon_unreachable"

    run(test())
