"""How sessions begin and end when several want it at once, or somebody is cancelled meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from inspan.agent.engine.contract import StopReason
from inspan.agent.session import SessionLimits
from inspan.agent.tools.contract import ToolCallContext
from inspan.agent.values import JsonObject, ToolResult
from inspan.model.errors import InspanError
from support.agent_ground import QUICK, allow, make_tool, open_agent, script, temporary_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    with temporary_folder() as path:
        yield Path(path)


class Stubborn:
    """A tool that goes on after a cancel, and another one, until it is let go."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.may_end = asyncio.Event()
        self.log: list[str] = []

    async def __call__(self, _: JsonObject, __: ToolCallContext) -> ToolResult:
        self.began.set()
        while not self.may_end.is_set() and len(self.log) < 3:
            try:
                await self.may_end.wait()
            except asyncio.CancelledError:
                self.log.append("cancelled")
        self.log.append("tool ended")
        return ToolResult.of_text("done")


def test_a_session_that_is_resumed_twice_at_once_is_one_session(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            session = await agent.new_session()
            await session.run("hello")
            await session.close()
            first, second = await asyncio.gather(
                agent.resume_session(session.id), agent.resume_session(session.id)
            )
            assert first is second
            assert (await first.run("again")).stop_reason is StopReason.END_TURN

    asyncio.run(story())


def test_a_session_that_is_resumed_while_it_closes_is_opened_anew_and_takes_prompts(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            session = await agent.new_session()
            await session.run("hello")
            closing = asyncio.create_task(session.close())
            await asyncio.sleep(0)
            again = await agent.resume_session(session.id)
            await closing
            assert again is not session
            assert (await again.run("again")).stop_reason is StopReason.END_TURN
            assert len(again.transcript) == 4
            assert agent.sessions == {again.id: again}

    asyncio.run(story())


def test_whoever_closes_a_session_second_waits_for_its_end_too(folder: Path) -> None:
    async def story() -> list[str]:
        stubborn = Stubborn()
        log = stubborn.log
        limits = structs.replace(QUICK, session=SessionLimits(end_s=20.0, calls=QUICK.session.calls))
        tool = make_tool("hang", stubborn, read_only=True)
        async with open_agent(folder, tools=[tool], responder=allow, limits=limits) as agent:
            agent.register.hook("session_end", lambda _: log.append("session ended"))
            session = await agent.new_session()
            turn = session.prompt(script("call hang {}"))
            await stubborn.began.wait()
            first = asyncio.create_task(session.close())
            await asyncio.sleep(0)

            async def close_too() -> None:
                await session.close()
                log.append("closed")

            second = asyncio.create_task(close_too())
            await asyncio.sleep(0)
            assert not second.done()
            stubborn.may_end.set()
            await asyncio.gather(first, second)
            assert (await turn.wait()).stop_reason is StopReason.CANCELLED
        return log

    log = asyncio.run(asyncio.wait_for(story(), 30))
    assert log[-1] == "closed"
    assert "session ended" in log


def test_a_close_that_is_cancelled_lets_go_of_the_session_all_the_same(folder: Path) -> None:
    async def story() -> None:
        stubborn = Stubborn()
        tool = make_tool("hang", stubborn, read_only=True)
        async with open_agent(folder, tools=[tool], responder=allow) as agent:
            session = await agent.new_session()
            turn = session.prompt(script("call hang {}"))
            await stubborn.began.wait()
            closing = asyncio.create_task(session.close())
            await asyncio.sleep(0)
            closing.cancel()
            await asyncio.wait({closing})
            assert closing.cancelled()
            assert agent.sessions == {}
            stubborn.may_end.set()
            assert (await turn.wait()).stop_reason is StopReason.CANCELLED
            again = await agent.resume_session(session.id)
            assert (await again.run("again")).stop_reason is StopReason.END_TURN

    asyncio.run(asyncio.wait_for(story(), 30))


def test_a_session_that_begins_while_its_agent_closes_is_not_left_open(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            beginning = asyncio.create_task(agent.new_session())
            await asyncio.sleep(0)
            await agent.close()
            with pytest.raises(InspanError) as refused:
                await beginning
            assert refused.value.code == "session_closed"
            assert agent.sessions == {}
            (kept,) = agent.list_sessions()
        async with open_agent(folder) as agent:  # nobody has it open
            await agent.resume_session(kept.id)

    asyncio.run(story())


def test_a_listener_that_raises_keeps_no_cancel_from_the_others(folder: Path) -> None:
    async def story() -> None:
        began = asyncio.Event()

        async def work(_: JsonObject, call: ToolCallContext) -> ToolResult:
            def fail() -> None:
                raise ValueError("a secret")

            call.cancel.listen(fail)
            began.set()
            await call.cancel.wait()
            return ToolResult.of_text("done")

        async with open_agent(folder, tools=[make_tool("wait", work)], responder=allow) as agent:
            session = await agent.new_session()
            turn = session.prompt(script("call wait {}"))
            await began.wait()
            session.cancel()
            assert (await turn.wait()).stop_reason is StopReason.CANCELLED
            assert (await session.run("again")).stop_reason is StopReason.END_TURN

    asyncio.run(story())
