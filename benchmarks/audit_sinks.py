"""How many audit events a second reach two sinks, is one lost, and does a slow sink hold the agent's loop up?"""

from __future__ import annotations

import asyncio
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from inspan.agent.audit.events import AuditEvent, ToolExecution
from inspan.agent.audit.sinks import QUEUE_LIMIT, AuditBus
from inspan.agent.plugins.jsonl_sink import JsonlFile, JsonlSink
from inspan.agent.threads import run_in_thread

from .figures import Figure, Target
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS: tuple[str, ...] = ()

_EVENTS = 100_000
_BURST = QUEUE_LIMIT // 2
_AT = datetime(2026, 1, 2, tzinfo=UTC)


class _Counting:
    """A sink that counts, and checks that nothing is missing or out of order."""

    def __init__(self) -> None:
        self.count = 0

    async def write(self, event: AuditEvent, /) -> None:
        assert isinstance(event, ToolExecution)
        assert event.call_id == str(self.count)
        self.count += 1


class _Slow:
    """A sink that takes 20 ms an event, in a thread, as a remote one would."""

    async def write(self, _: AuditEvent, /) -> None:
        await run_in_thread(lambda: time.sleep(0.02), name="slow sink")


def run(scale: Scale) -> list[Figure]:
    """Measures the two sinks, then the loop beside a slow one."""
    events = scale.count(_EVENTS, small=2_000)
    rates: list[float] = []
    lost: list[float] = []
    late: list[float] = []
    with tempfile.TemporaryDirectory(prefix="isp-") as name:
        for number in range(scale.rounds):
            rate, missing = asyncio.run(_through_two(Path(name) / f"{number}.jsonl", events))
            rates.append(rate)
            lost.append(missing)
            late.append(asyncio.run(_lateness_ms(scale.seconds(2.0, small=0.1))))
    return [
        Figure(
            what="Audit events through two sinks, one of which writes them to a file",
            unit="events/s",
            ours=rates,
            note=f"{_EVENTS:,} a round, published in bursts below the limit of a queue.",
        ),
        Figure(
            what=f"Events lost of {_EVENTS:,}, below the limit of a queue",
            unit="events",
            ours=lost,
            target=Target(of="ours", bound="at most", limit=0),
        ),
        Figure(
            what="The longest that the loop was late beside a slow sink whose queue is full",
            unit="ms",
            ours=late,
            target=Target(of="ours", bound="at most", limit=50),
            note="The sink takes 20 ms an event; 1,000 events are published a second, so its queue stays full.",
        ),
    ]


async def _through_two(path: Path, events: int) -> tuple[float, float]:
    bus = AuditBus()
    counting = _Counting()
    writing = JsonlSink(await run_in_thread(lambda: JsonlFile(path), name="open"))
    bus.add(counting, "counting")
    bus.add(writing, "writing")
    began = time.perf_counter()
    for first in range(0, events, _BURST):
        for number in range(first, min(first + _BURST, events)):
            bus.publish(_event(number))
        await bus.drain(60)
    await writing.close()
    taken = time.perf_counter() - began
    written = await run_in_thread(lambda: path.read_bytes().count(b"\n"), name="count")
    return events / taken, float(2 * events - counting.count - written)


async def _lateness_ms(seconds: float) -> float:
    """The longest delay of a task that wants to run every millisecond, while events pour into a slow sink."""
    bus = AuditBus()
    leave = bus.add(_Slow(), "slow")
    for number in range(QUEUE_LIMIT):
        bus.publish(_event(number))
    worst = 0.0
    ends = time.perf_counter() + seconds
    while (now := time.perf_counter()) < ends:
        bus.publish(_event(0))
        await asyncio.sleep(0.001)
        worst = max(worst, time.perf_counter() - now - 0.001)
    leave()
    return worst * 1000


def _event(number: int) -> ToolExecution:
    return ToolExecution(
        at=_AT,
        session_id="s_1",
        call_id=str(number),
        tool="shell",
        owner="builtin",
        duration_s=0.25,
        is_error=False,
    )
