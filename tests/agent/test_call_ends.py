"""Whatever becomes of a call, it has one end: a bad result, a cancel at its beginning, a fault of the agent itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.calling import ToolCaller
from inspan.agent.cancelling import CancelSource
from inspan.agent.events import ToolProgressed, ToolStarted
from inspan.agent.permissions.engine import PermissionEngine
from inspan.agent.permissions.values import PermissionMode, PermissionRecord
from inspan.agent.tools.contract import ToolCallContext
from inspan.agent.values import Diff, ImageContent, JsonObject, ToolResult
from support.agent_ground import make_tool
from support.caller_ground import Ground

SECRET = "sk-very-secret"


@pytest.mark.parametrize(
    "result",
    [
        ToolResult(content=None),  # pyright: ignore[reportArgumentType]
        ToolResult(content=(None,)),  # pyright: ignore[reportArgumentType]
        ToolResult(diffs=("a.txt",)),  # pyright: ignore[reportArgumentType]
        ToolResult(diffs=3),  # pyright: ignore[reportArgumentType]
        ToolResult(diffs=(Diff(path="/a", old_text=None, new_text=None),)),  # pyright: ignore[reportArgumentType]
        ToolResult(content=(ImageContent(media_type="image/png", data=b"x"),)),  # pyright: ignore[reportArgumentType]
    ],
)
def test_a_result_that_is_filled_with_something_else_is_an_error_and_the_call_ends(
    result: ToolResult,
) -> None:
    async def work(_: JsonObject, __: ToolCallContext) -> ToolResult:
        return result

    async def story() -> None:
        ground = Ground(make_tool(work=work))
        told = await ground.call()
        assert told.is_error
        assert "no result that can be read" in told.text
        assert ground.outcomes == ["failed"]

    asyncio.run(story())


def test_a_call_that_is_cancelled_while_its_beginning_is_shown_is_not_run() -> None:
    ran: list[str] = []

    async def work(_: JsonObject, __: ToolCallContext) -> ToolResult:
        ran.append("it ran")
        return ToolResult.of_text("done")

    async def story() -> None:
        source = CancelSource()

        class Slow(Ground):
            async def show(self, event: Any) -> None:
                await super().show(event)
                if isinstance(event, ToolStarted):
                    source.cancel()

        ground = Slow(make_tool(work=work))
        assert "not run" in (await ground.call(cancel=source.signal)).text
        assert ground.outcomes == ["cancelled"]
        assert ran == []

    asyncio.run(story())


def test_progress_that_comes_after_a_calls_end_is_not_shown() -> None:
    tells: list[Callable[[str], None]] = []

    async def work(_: JsonObject, ctx: ToolCallContext) -> ToolResult:
        ctx.progress("half way")
        tells.append(ctx.progress)
        return ToolResult.of_text("done")

    async def story() -> None:
        ground = Ground(make_tool(work=work))
        await ground.call()
        tells[0]("too late")
        await asyncio.to_thread(tells[0], "too late")
        await asyncio.sleep(0)
        assert [one.text for one in ground.events if isinstance(one, ToolProgressed)] == ["half way"]

    asyncio.run(story())


def test_a_call_that_fails_in_the_agent_itself_is_an_error_and_ends() -> None:
    def fail(_: PermissionRecord) -> None:
        raise OSError(SECRET)

    async def story() -> None:
        ground = Ground(make_tool())
        ground.caller = ToolCaller(
            tools=ground.registry,
            permissions=PermissionEngine(mode=PermissionMode.BYPASS, record=fail),
            hooks=ground.hooks,
            audit=ground.audit,
            session_id="s_1",
            workspace=Path("/"),
        )
        told = await ground.call()
        assert told.text == "This call failed in the agent itself, with OSError."
        assert ground.outcomes == ["failed"]

    asyncio.run(story())
