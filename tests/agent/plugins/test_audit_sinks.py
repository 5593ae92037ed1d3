"""Audit sinks: each has its own order, its own queue, its own copy and its own faults."""

from __future__ import annotations

import asyncio
import gc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import pytest

from inspan.agent.audit.events import AuditEvent, PermissionEvent, ToolExecution
from inspan.agent.audit.sinks import QUEUE_LIMIT, AuditBus, SinkCounts, snapshot
from inspan.agent.permissions.values import Decision, Effect, PermissionMode, PermissionRecord, Rule
from support.runtime_plugins import Context, MadePlugin, open_host

AT = datetime(2026, 1, 2, tzinfo=UTC)


def execution(number: int = 0) -> ToolExecution:
    return ToolExecution(
        at=AT, session_id="s", call_id=str(number), tool="t", owner="o", duration_s=0.5, is_error=False
    )


def permission() -> PermissionEvent:
    return PermissionEvent(
        record=PermissionRecord(
            at=AT,
            session_id="s",
            call_id="c",
            tool="t",
            owner="o",
            mode=PermissionMode.DEFAULT,
            decision=Decision(is_allowed=True, reason="rule"),
            rule=Rule(effect=Effect.ALLOW, tool="t", arguments={"path": "/x"}),
        )
    )


class Keeping:
    """A sink that keeps the events, and may wait before each or raise at some."""

    def __init__(self, *, gate: asyncio.Event | None = None, raises_at: frozenset[str] = frozenset()) -> None:
        self.events: list[AuditEvent] = []
        self._gate = gate
        self._raises_at = raises_at

    async def write(self, event: AuditEvent) -> None:
        if self._gate is not None:
            await self._gate.wait()
        if isinstance(event, ToolExecution) and event.call_id in self._raises_at:
            raise LookupError
        self.events.append(event)

    @property
    def numbers(self) -> list[str]:
        return [event.call_id for event in self.events if isinstance(event, ToolExecution)]


@pytest.mark.requirement("R53", "R76", "R77")
def test_a_slow_and_a_raising_sink_hold_up_nobody_and_each_keeps_its_order() -> None:
    async def scenario() -> None:
        gate = asyncio.Event()
        bus = AuditBus()
        slow, raising, quick = Keeping(gate=gate), Keeping(raises_at=frozenset({"1"})), Keeping()
        for name, sink in (("slow", slow), ("raising", raising), ("quick", quick)):
            bus.add(sink, name)
        for number in range(4):
            bus.publish(execution(number))
        assert quick.events == [], "a sink is never called by the one who publishes"
        assert await bus.drain(0.01) == ("slow",)
        assert quick.numbers == ["0", "1", "2", "3"]
        assert raising.numbers == ["0", "2", "3"]
        assert bus.counts("raising") == SinkCounts(written=3, failed=1)
        assert bus.counts("slow").pending == 4
        gate.set()
        assert await bus.drain(1) == ()
        assert slow.numbers == ["0", "1", "2", "3"]

    asyncio.run(scenario())


@pytest.mark.requirement("R78")
def test_a_thousand_events_wait_for_a_sink_and_what_is_beyond_is_dropped_and_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> tuple[list[str], SinkCounts, SinkCounts]:
        gate = asyncio.Event()
        bus = AuditBus()
        slow, quick = Keeping(gate=gate), Keeping()
        leave = bus.add(slow, "slow")
        for number in range(QUEUE_LIMIT + 25):
            bus.publish(execution(number))
        bus.add(quick, "quick")
        gate.set()
        await bus.drain(5)
        bus.publish(execution(-1))
        await bus.drain(5)
        counts = bus.counts("slow"), bus.counts("quick")
        leave()
        return slow.numbers, *counts

    numbers, slow, quick = asyncio.run(scenario())

    assert QUEUE_LIMIT == 1_000
    assert numbers == [*(str(number) for number in range(1_000)), "-1"]
    assert slow == SinkCounts(written=1_001, dropped=25)
    assert quick == SinkCounts(written=1)
    assert [record.message for record in caplog.records] == [
        "A sink of 'slow' is 1000 events behind; dropped so far: 1.",
        "A sink of 'slow' is 1000 events behind; dropped so far: 10.",
        "A sink of 'slow' was too slow for 25 events in all.",
    ]


@pytest.mark.requirement("R78")
def test_drops_show_in_the_plugins_status(tmp_path: Path) -> None:
    async def scenario() -> tuple[str, ...]:
        gate = asyncio.Event()
        plugin = MadePlugin(id="a", setup=lambda ctx: ctx.audit.register_sink(Keeping(gate=gate)))
        async with open_host(tmp_path, plugin) as ground:
            for number in range(QUEUE_LIMIT + 3):
                ground.services.audit.publish(execution(number))
            warnings = ground.status["a"].warnings
            gate.set()
        return warnings

    assert asyncio.run(scenario()) == ("Its audit sink was too slow: 3 events were dropped.",)


@pytest.mark.requirement("R76")
def test_what_one_sink_does_to_an_event_no_other_sees() -> None:
    async def scenario() -> list[Any]:
        class Vandal:
            async def write(self, event: AuditEvent) -> None:
                assert isinstance(event, PermissionEvent)
                assert event.record.rule is not None
                event.record.rule.arguments["path"] = "changed"

        bus = AuditBus()
        before, after = Keeping(), Keeping()
        for sink in (before, Vandal(), after):
            bus.add(sink, "o")
        original = permission()
        bus.publish(original)
        await bus.drain(1)
        return [original, *before.events, *after.events]

    assert asyncio.run(scenario()) == [permission()] * 3


MUTABLE = (dict, list, set, bytearray)


def changeable(kind: Any, path: str = "event") -> set[str]:
    """Where something in a value of this type can be changed in place."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        assert kind.__struct_config__.frozen, kind
        return {
            found
            for name, inner in get_type_hints(kind).items()
            for found in changeable(inner, f"{path}.{name}")
        }
    if kind in MUTABLE or get_origin(kind) in MUTABLE:
        return {path}
    return {found for inner in get_args(kind) for found in changeable(inner, path)}


@pytest.mark.requirement("R76")
def test_a_snapshot_copies_all_that_can_be_changed_in_an_event() -> None:
    assert set().union(*(changeable(kind) for kind in get_args(AuditEvent))) == {
        "event.record.rule.arguments"
    }
    original = permission()
    copy = snapshot(original)
    assert copy == original
    assert isinstance(copy, PermissionEvent)
    assert copy.record.rule is not None
    assert original.record.rule is not None
    assert copy.record.rule.arguments is not original.record.rule.arguments


@pytest.mark.requirement("R73")
def test_an_execution_has_no_room_for_arguments_results_or_credentials() -> None:
    assert set(ToolExecution.__struct_fields__) == {
        "at", "session_id", "call_id", "tool", "owner", "duration_s", "is_error", "exception", "subagent",
    }  # fmt: skip


@pytest.mark.requirement("R69", "R79", "RD6")
def test_an_end_writes_out_a_sinks_queue_before_its_disposers_run(tmp_path: Path) -> None:
    async def scenario() -> list[int]:
        sink = Keeping()
        seen: list[int] = []

        def set_up(ctx: Context) -> None:
            ctx.audit.register_sink(sink)
            ctx.on_dispose(lambda: seen.append(len(sink.events)))

        async with open_host(tmp_path, MadePlugin(id="a", setup=set_up)) as ground:
            for number in range(100):
                ground.services.audit.publish(execution(number))
        ground.services.audit.publish(execution())
        return [*seen, len(sink.events)]

    assert asyncio.run(scenario()) == [100, 100]


@pytest.mark.requirement("R79", "R86", "R87")
def test_a_sink_that_hangs_holds_an_end_up_no_longer_than_its_limit(tmp_path: Path) -> None:
    from support.runtime_plugins import QUICK

    async def scenario() -> Any:
        disposed: list[str] = []

        def set_up(ctx: Context) -> None:
            ctx.audit.register_sink(Keeping(gate=asyncio.Event()))
            ctx.on_dispose(lambda: disposed.append("disposed"))

        async with open_host(tmp_path, MadePlugin(id="a", setup=set_up), limits=QUICK) as ground:
            ground.services.audit.publish(execution())
        return disposed, ground.status["a"]

    disposed, status = asyncio.run(scenario())

    assert disposed == ["disposed"]
    assert (status.state, status.phase, status.error) == ("stopped", "drain", "TimeoutError")


def test_a_loop_that_ends_does_not_wait_for_a_sink_that_hangs() -> None:
    async def scenario() -> None:
        bus = AuditBus()
        bus.add(Keeping(gate=asyncio.Event()), "a")
        for number in range(3):
            bus.publish(execution(number))
        await asyncio.sleep(0)

    asyncio.run(scenario())
    gc.collect()


@pytest.mark.requirement("R80")
def test_a_bus_that_is_switched_off_tells_nobody() -> None:
    async def scenario() -> list[AuditEvent]:
        bus = AuditBus(is_enabled=False)
        sink = Keeping()
        bus.add(sink, "a")
        bus.publish(execution())
        await bus.drain(1)
        return sink.events

    assert asyncio.run(scenario()) == []
