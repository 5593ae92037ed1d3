"""What does a step of the own agent cost, a request and a call, beyond one of the model library alone?"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from inspan.agent import Agent
from inspan.agent.cancelling import CancelSignal
from inspan.agent.conversation import AssistantMessage, CallPart
from inspan.agent.engine.contract import StopReason
from inspan.agent.models.contract import ModelDefinition, ModelEvent, ModelRequest, PartDone, TextDelta
from inspan.agent.permissions.values import PermissionMode
from inspan.agent.tools.contract import Tool, ToolCallContext
from inspan.agent.values import JsonObject, ToolCall, ToolResult

from .figures import Figure, Target
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS: tuple[str, ...] = ()

_STEPS = 40  # the library stops by itself at fifty requests


def run(scale: Scale) -> list[Figure]:
    """Measures both in turns, a whole turn of many steps each."""
    steps = scale.count(_STEPS, small=3)
    kept: list[float] = []
    memory: list[float] = []
    peer: list[float] = []
    with tempfile.TemporaryDirectory(prefix="isp-") as folder:
        for _ in range(scale.rounds):
            kept.append(asyncio.run(_ours(Path(folder), steps, is_ephemeral=False)))
            memory.append(asyncio.run(_ours(Path(folder), steps, is_ephemeral=True)))
            peer.append(asyncio.run(_peer(steps)))
    note = "Each step: a request, arguments checked, permission, hooks, audit, and its records."
    return [
        Figure(
            what="a step, beyond one of pydantic-ai, kept on disk",
            unit="ms",
            ours=[max(0.0, one - two) for one, two in zip(kept, peer, strict=True)],
            target=Target(of="ours", bound="at most", limit=2),
            note=f"{note} The call is synced to the disk before it runs.",
        ),
        Figure(
            what="a step, kept on disk",
            unit="ms",
            ours=kept,
            peer=peer,
            peer_name="pydantic-ai with its function model",
        ),
        Figure(
            what="a step, in memory",
            unit="ms",
            ours=memory,
            peer=peer,
            peer_name="pydantic-ai with its function model",
        ),
    ]


class _Stepping:
    """A provider that calls a tool so many times, then says a word."""

    id = "stepping"

    def __init__(self, steps: int) -> None:
        self._steps = steps

    async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
        """Answers one request."""
        del cancel
        done = sum(isinstance(message, AssistantMessage) for message in request.messages)
        if done >= self._steps:
            yield TextDelta(text="done")
            return
        call = ToolCall(id=f"c{done}", tool="count", arguments={"number": done})
        yield PartDone(part=CallPart(call=call))


async def _ours(folder: Path, steps: int, *, is_ephemeral: bool) -> float:
    async def count(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
        del ctx
        return ToolResult.of_text(f"counted {arguments['number']}")

    tool = Tool(
        name="count",
        description="Counts.",
        input_schema={
            "type": "object",
            "properties": {"number": {"type": "integer"}},
            "required": ["number"],
        },
        execute=count,
    )
    async with Agent.create(
        workspace=folder,
        home=folder / "home",
        model="stepping:m",
        models=[(_Stepping(steps), [ModelDefinition(id="m")])],
        tools=[tool],
        permission_mode=PermissionMode.BYPASS,
        is_ephemeral=is_ephemeral,
        environment={},
    ) as agent:
        session = await agent.new_session()
        began = time.perf_counter()
        ended = await session.run("count")
        passed_s = time.perf_counter() - began
    assert ended.stop_reason is StopReason.END_TURN
    assert ended.usage.requests == steps + 1
    return passed_s * 1000 / steps


async def _peer(steps: int) -> float:
    from pydantic_ai import Agent as Bare
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

    async def answer(
        messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        del info
        done = sum(isinstance(message, ModelResponse) for message in messages)
        if done >= steps:
            yield "done"
            return
        yield {0: DeltaToolCall(name="count", json_args=f'{{"number": {done}}}', tool_call_id=f"c{done}")}

    async def count(number: int) -> str:
        """Counts."""
        return f"counted {number}"

    bare: Bare[None, str] = Bare(FunctionModel(stream_function=answer), tools=[count])
    began = time.perf_counter()
    seen = 0
    async with bare.run_stream_events("count") as events:
        async for _ in events:
            seen += 1
    passed_s = time.perf_counter() - began
    assert seen > steps
    return passed_s * 1000 / steps
