"""Consoles that misbehave, through whole seats with real ptys: bounded, honest, and alike after a restart.

`FLOOD_MB` says how much a console writes that does not stop (48 unless set).
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import psutil
import pytest

from inspan.model.console import ConsoleJudged
from inspan.model.console_views import ResizeTerminal
from inspan.model.evidence import Source
from inspan.model.permission import NeedsInputKind
from inspan.model.reports import Reported
from inspan.model.screen_rules import ScreenRule
from inspan.model.views import SeatView
from inspan.seats.core import Seats
from inspan.store import open_store
from inspan.transports.machine import Step
from support.console_ground import CONSOLE_RULES, ConsoleGround, open_console_ground, until_shown
from support.seat_ground import until

FLOOD_MB = int(os.environ.get("FLOOD_MB", "48"))
MEGABYTE = 1024 * 1024

_PROGRAM = Path(__file__).parents[1] / "support" / "console_faults.py"


def on_ground(way: str, number: int, story: Callable[[ConsoleGround], Awaitable[None]]) -> None:
    """Runs a story on a fresh ground whose console misbehaves in one way."""

    async def run() -> None:
        async with open_console_ground() as ground:
            ground.consoles.command = (sys.executable, str(_PROGRAM), str(ground.state), way, str(number))
            await story(ground)

    asyncio.run(run())


async def start(ground: ConsoleGround, seats: Seats) -> None:
    await ground.add(seats)
    await seats.start_seat("worker")


async def verdicts(ground: ConsoleGround) -> list[ConsoleJudged]:
    async with open_store(ground.path / "log.db", read_only=True) as store:
        return [one.event for one in store.events(limit=100_000) if isinstance(one.event, ConsoleJudged)]


def is_ready(view: SeatView) -> bool:
    return view.console is not None and view.console.is_ready


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


@pytest.mark.timeout(max(300, FLOOD_MB))
def test_output_that_does_not_stop_is_followed_to_its_end_with_bounded_memory_and_leaves_no_journal() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            ours = psutil.Process()
            before = ours.memory_info().rss
            await start(ground, seats)
            slow = None
            highest = {"ours": 0, "holder": 0, "journal": 0, "log": 0}
            view = await until(seats, "worker", lambda v: v.launch is not None and v.launch.pid is not None)
            assert view.launch is not None
            holder = psutil.Process(view.launch.pid).parent()
            assert holder is not None
            async with asyncio.timeout(max(100, FLOOD_MB)):
                while not is_ready(view):
                    if slow is None and seats.actor("worker").console is not None:
                        slow = await seats.view_terminal("worker")  # and never reads
                    highest["ours"] = max(highest["ours"], ours.memory_info().rss - before)
                    highest["holder"] = max(highest["holder"], holder.memory_info().rss)
                    highest["journal"] = max(highest["journal"], size_of(ground.launches))
                    await asyncio.sleep(0.02)
                    view = await seats.get_seat("worker")
            highest["log"] = sum(file.stat().st_size for file in ground.path.glob("log.db*"))
            shown = await seats.show_screen("worker")
            print({name: f"{size / MEGABYTE:.1f} MB" for name, size in highest.items()}, shown.offset)
            assert shown.offset >= FLOOD_MB * MEGABYTE
            assert shown.lines[0] == "> type here"
            assert highest["ours"] < 96 * MEGABYTE
            assert highest["holder"] < 32 * MEGABYTE
            assert highest["journal"] < 40 * MEGABYTE  # what is shown is never long behind what is written
            assert highest["log"] < 48 * MEGABYTE
            assert size_of(ground.launches) < 8 * MEGABYTE  # what is in the log is not kept twice
        assert len(await verdicts(ground)) < 100

    on_ground("flood", FLOOD_MB, story)


def test_bytes_without_sense_leave_a_seat_that_works_and_answers_nothing_twice() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            view = await until(seats, "worker", is_ready)
            assert view.activity.value == "idle"
            shown = await seats.show_screen("worker")
            heard, said = ground.keys(), await verdicts(ground)
            assert heard  # it asked who the terminal is, among all else
        async with ground.seats() as seats:
            again = await until_shown(seats, lambda now: now.offset >= shown.offset)
            assert (again.lines, again.cursor) == (shown.lines, shown.cursor)
            explained = await seats.explain_seat("worker")
            assert explained.console is not None
            assert explained.console.discarded_reports > 0
            assert (ground.keys(), await verdicts(ground)) == (heard, said)

    on_ground("noise", 300, story)


@pytest.mark.requirement("L1")
def test_records_by_the_thousand_are_bounded_and_leave_the_root_its_say() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            view = await until(seats, "worker", is_ready)
            assert (view.activity.value, view.activity.source) == ("idle", Source.PROGRAM_STATUS)
            explained = await seats.explain_seat("worker")
            assert explained.console is not None
            assert len(explained.console.records) == 256
            assert explained.console.discarded_reports == 4000
            assert view.needs_input == ()
        assert len(await verdicts(ground)) < 400

    on_ground("records", 4000, story)


@pytest.mark.requirement("H-N10")
def test_text_that_imitates_a_dialog_is_text_wherever_it_stands() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            view = await until(seats, "worker", is_ready)
            assert (view.activity.value, view.needs_input) == ("idle", ())
            shown = await seats.show_screen("worker", scrollback=200)
            assert "Run this command?" in shown.scrollback
            assert "  Run this command?" in shown.lines
            assert shown.lines[-1].endswith("Run this command?")
        assert {one.activity for one in await verdicts(ground)} == {"unknown", "idle"}

    on_ground("imitate", 0, story)


@pytest.mark.requirement("H-A53")
def test_a_rule_that_runs_away_is_left_out_named_and_stops_nobody_else() -> None:
    async def story(ground: ConsoleGround) -> None:
        slow = ScreenRule(name="runs-away", report="running", priority=999, all=("a*a*a*b",))
        ground.consoles.rules = msgspec.structs.replace(CONSOLE_RULES, rules=(slow, *CONSOLE_RULES.rules))
        async with ground.seats() as seats:
            await start(ground, seats)
            view = await until(seats, "worker", is_ready)
            assert (view.activity.value, view.activity.rule) == ("idle", "idle")
            explained = await seats.explain_seat("worker")
            assert explained.console is not None
            assert explained.console.suspended == ("runs-away",)

    on_ground("wall", 0, story)


def test_a_terminal_of_one_cell_is_unknown_and_right_again_after() -> None:
    async def story() -> None:
        async with open_console_ground() as ground, ground.seats() as seats:
            await start(ground, seats)
            await until(seats, "worker", is_ready)
            await seats.resize_terminal("worker", ResizeTerminal(columns=1, rows=1))
            view = await until(seats, "worker", lambda v: v.activity.value == "unknown")
            assert view.console is not None
            assert (view.status, view.console.is_ready) == ("unknown", False)
            await seats.resize_terminal("worker", ResizeTerminal(columns=100, rows=30))
            await until(seats, "worker", is_ready)
            await ground.press(seats, "b")
            await until(seats, "worker", lambda v: v.status == "running")

    asyncio.run(story())


@pytest.mark.requirement("H-D29", "H-N27")
def test_a_prompt_line_of_an_earlier_launch_makes_no_later_one_ready() -> None:
    async def story() -> None:
        async with open_console_ground() as ground, ground.seats() as seats:
            await start(ground, seats)
            view = await until(seats, "worker", is_ready)
            first = view.launch and view.launch.id
            await ground.press(seats, "q")
            view = await until(seats, "worker", lambda v: v.status == "exited")
            assert view.console is None
            ground.consoles.words = ("late",)  # it shows nothing before a key comes
            await seats.start_seat("worker")
            view = await until(seats, "worker", lambda v: v.console is not None)
            second = view.launch and view.launch.id
            assert second != first
            pid = view.launch and view.launch.pid
            async with asyncio.timeout(20):  # until it reads keys: what comes before is lost
                while (ground.state / "pid").read_text() != str(pid):  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.01)
            view = await seats.get_seat("worker")
            assert view.console is not None
            assert (view.status, view.activity.value, view.console.is_ready) == ("starting", "unknown", False)
            await ground.press(seats, "i")
            await until(seats, "worker", is_ready)
            async with open_store(ground.path / "log.db", read_only=True) as store:
                ready = [
                    one.launch
                    for one in store.events(limit=10_000)
                    if isinstance(one.event, ConsoleJudged) and one.event.is_ready
                ]
            assert ready == [first, second]

    asyncio.run(story())


def test_a_look_whose_console_goes_away_meanwhile_is_in_the_log_and_known_here() -> None:
    async def story() -> None:
        async with open_console_ground() as ground, ground.seats() as seats:
            await start(ground, seats)
            await until(seats, "worker", is_ready)
            actor = seats.actor("worker")
            link = actor.link
            assert link is not None
            seen = ConsoleJudged(activity="needs_input", kind=NeedsInputKind.QUESTION, evidence="made up")
            step = Step(reports=(Reported(body=seen, source=Source.SCREEN, rule="made-up"),), changed=True)
            look = asyncio.create_task(actor.speak(link, lambda: step))
            await asyncio.sleep(0)
            await asyncio.sleep(0)  # it is on its way to the log
            look.cancel()
            with pytest.raises(asyncio.CancelledError):
                await look
            view = await until(seats, "worker", lambda v: v.status == "needs_input")
            # A look of its own may have said by now what is really there; this one was known in between.
            assert view.activity.rule == "made-up"

    asyncio.run(story())
