"""Hooks: who is asked, in which order, and how far a handler's fault reaches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.cancelling import CancelSource
from inspan.agent.hook_events import (
    HOOK_EVENTS,
    VETOABLE,
    HookEvent,
    PostTool,
    PreCompact,
    PreTool,
    SessionEnd,
    SessionStart,
    Stop,
    SubagentStart,
    SubagentStop,
    ToolError,
    TurnEnd,
    TurnStart,
    UserPrompt,
    Veto,
)
from inspan.agent.hooks import HookBus
from inspan.agent.plugins.entries import InlinePlugin
from inspan.agent.values import ToolResult, Usage
from inspan.model.errors import PluginError
from support.runtime_plugins import Context, MadePlugin, open_host

EVENTS: tuple[HookEvent, ...] = (
    SessionStart(session_id="s", is_resumed=False),
    SessionEnd(session_id="s"),
    UserPrompt(session_id="s", text="x"),
    TurnStart(session_id="s", turn=1),
    TurnEnd(session_id="s", turn=1, stop_reason="end_turn", usage=Usage()),
    PreTool(session_id="s", call_id="c", tool="t", arguments={}),
    PostTool(session_id="s", call_id="c", tool="t", result=ToolResult(), duration_s=0.1),
    ToolError(session_id="s", call_id="c", tool="t", exception="E", duration_s=0.1),
    Stop(session_id="s", turn=1),
    SubagentStart(session_id="s", name="n"),
    SubagentStop(session_id="s", name="n", stop_reason="end_turn"),
    PreCompact(session_id="s", input_tokens=1),
)
NAMES = {kind: name for name, kind in HOOK_EVENTS.items()}


def name_of(event: HookEvent) -> str:
    return NAMES[type(event)]


def raising(kind: type[BaseException]) -> Callable[[Any], Any]:
    def handler(_: Any) -> None:
        raise kind

    return handler


async def awaits_forever(_: Any) -> None:
    await asyncio.Event().wait()


async def raises_later(_: Any) -> None:
    await asyncio.sleep(0)
    raise LookupError


async def cancels_itself(_: Any) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


FAULTS: list[Any] = [
    pytest.param(raising(LookupError), "LookupError", id="raises"),
    pytest.param(raising(SystemExit), "SystemExit", id="wants to end the program"),
    pytest.param(raising(asyncio.CancelledError), "CancelledError", id="cancels nobody"),
    pytest.param(raises_later, "LookupError", id="raises later"),
    pytest.param(cancels_itself, "CancelledError", id="cancels itself"),
    pytest.param(awaits_forever, "TimeoutError", id="hangs"),
    pytest.param(str, "TypeError", id="gives something else"),
]


@pytest.mark.requirement("R52", "RD10")
def test_every_event_reaches_its_handlers_in_the_order_in_which_they_came() -> None:
    async def scenario() -> None:
        for event in EVENTS:
            bus = HookBus()
            heard: list[tuple[int, object]] = []

            async def later(value: object, heard: list[Any] = heard) -> None:
                await asyncio.sleep(0)
                heard.append((1, value))

            bus.on(name_of(event), later, "a")
            bus.on(name_of(event), lambda value, heard=heard: heard.append((2, value)), "b")
            for other in HOOK_EVENTS.keys() - {name_of(event)}:
                bus.on(other, raising(AssertionError), "c", is_required=True)

            assert await bus.emit(event) is None
            assert heard == [(1, event), (2, event)]

    asyncio.run(scenario())
    assert {type(event) for event in EVENTS} == set(HOOK_EVENTS.values())


@pytest.mark.requirement("RD1")
@pytest.mark.parametrize(("handler", "fault"), FAULTS)
@pytest.mark.parametrize("is_required", [True, False])
@pytest.mark.parametrize("event", EVENTS, ids=name_of)
def test_a_fault_is_a_veto_only_where_a_required_guard_has_it(
    caplog: pytest.LogCaptureFixture, event: HookEvent, is_required: bool, handler: Any, fault: str
) -> None:
    async def scenario() -> tuple[Veto | None, list[str]]:
        heard: list[str] = []
        bus = HookBus(timeout_s=0.01)
        bus.on(name_of(event), handler, "guard", is_required=is_required)
        bus.on(name_of(event), lambda _: heard.append("next"), "other")
        return await bus.emit(event), heard

    veto, heard = asyncio.run(scenario())

    if is_required and name_of(event) in VETOABLE:
        assert veto == Veto(reason="The guard 'guard' failed, and it is required.")
        assert heard == []
    else:
        assert veto is None
        assert heard == ["next"]
    assert f"A handler of 'guard' for {name_of(event)} failed: {fault}." in caplog.text


@pytest.mark.requirement("R52")
@pytest.mark.parametrize("event", EVENTS, ids=name_of)
def test_only_what_can_be_vetoed_is_and_the_first_veto_counts(event: HookEvent) -> None:
    async def scenario() -> tuple[Veto | None, list[str]]:
        heard: list[str] = []
        bus = HookBus()
        bus.on(name_of(event), lambda _: None, "a")
        bus.on(name_of(event), lambda _: Veto(reason="no"), "b", is_required=True)
        bus.on(name_of(event), lambda _: heard.append("after"), "c")
        return await bus.emit(event), heard

    veto, heard = asyncio.run(scenario())
    if name_of(event) in VETOABLE:
        assert (veto, heard) == (Veto(reason="no"), [])
    else:
        assert (veto, heard) == (None, ["after"])


def test_a_handler_that_swallows_its_cancellation_is_left_behind() -> None:
    async def scenario() -> Veto | None:
        release = asyncio.Event()

        async def deaf(_: Any) -> None:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue

        bus = HookBus(timeout_s=0.01)
        bus.on("stop", deaf, "a", is_required=True)
        veto = await bus.emit(Stop(session_id="s", turn=1))
        release.set()
        return veto

    assert asyncio.run(scenario()) is not None


@pytest.mark.parametrize("name", ["pre_tool", "turn_start"])
def test_a_cancel_lets_go_of_a_handler_that_hangs(name: str) -> None:
    async def scenario() -> Veto | None:
        source = CancelSource()
        bus = HookBus()

        async def hang(_: Any) -> None:
            source.cancel()
            await awaits_forever(_)

        bus.on(name, hang, "a", is_required=True)
        event = next(one for one in EVENTS if name_of(one) == name)
        return await bus.emit(event, source.signal)

    veto = asyncio.run(scenario())
    assert (veto is not None) is (name in VETOABLE)


def test_a_task_that_is_cancelled_while_it_asks_is_cancelled() -> None:
    async def scenario() -> None:
        bus = HookBus()
        began = asyncio.Event()

        async def hang(_: Any) -> None:
            began.set()
            await awaits_forever(_)

        bus.on("stop", hang, "a")
        task = asyncio.create_task(bus.emit(Stop(session_id="s", turn=1)))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())


@pytest.mark.requirement("R84")
def test_a_closed_bus_vetoes_what_can_be_vetoed_since_its_guards_are_going() -> None:
    async def scenario() -> dict[str, bool]:
        bus = HookBus()
        bus.close()
        return {name_of(event): await bus.emit(event) is not None for event in EVENTS}

    assert asyncio.run(scenario()) == {name: name in VETOABLE for name in HOOK_EVENTS}


@pytest.mark.requirement("R52", "R59")
def test_a_plugins_handlers_go_with_it(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        heard: list[str] = []

        def set_up(ctx: Context) -> None:
            ctx.hooks.on("turn_start", lambda _: heard.append("heard"))

        async with open_host(tmp_path, MadePlugin(id="a", setup=set_up)) as ground:
            await ground.services.hooks.emit(TurnStart(session_id="s", turn=1))
        await ground.services.hooks.emit(TurnStart(session_id="s", turn=2))
        return heard

    assert asyncio.run(scenario()) == ["heard"]


@pytest.mark.requirement("RD1")
@pytest.mark.parametrize("is_required", [True, False])
def test_a_plugins_guard_fails_closed_if_the_plugin_is_required(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, is_required: bool
) -> None:
    caplog.set_level(logging.WARNING)

    async def scenario() -> tuple[Veto | None, Any]:
        plugin = MadePlugin(id="a", setup=lambda ctx: ctx.hooks.on("pre_tool", raises_later))
        async with open_host(tmp_path, InlinePlugin(plugin=plugin, required=is_required)) as ground:
            event = PreTool(session_id="s", call_id="c", tool="t", arguments={})
            return await ground.services.hooks.emit(event), ground.status["a"]

    veto, status = asyncio.run(scenario())

    assert (veto is not None) is is_required
    assert status.warnings == ("Its hook for pre_tool failed with LookupError.",)
    assert status.state == "active"


def test_an_unknown_event_and_a_handler_that_cannot_be_called_are_refused() -> None:
    bus = HookBus()

    refused: list[Any] = [("pre-tool", raises_later), ("pre_tool", None)]
    for event, handler in refused:
        with pytest.raises(PluginError) as failure:
            bus.on(event, handler, "a")
        assert failure.value.code == "plugin_contribution_invalid"
