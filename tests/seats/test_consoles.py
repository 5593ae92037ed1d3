"""Seats that are seen through a console, with real ptys: honest states, one answer a question, across restarts."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable

import msgspec
import psutil
import pytest

from inspan.model.capability import Claim, Support
from inspan.model.console import ConsoleJudged, ConsoleOpened
from inspan.model.console_views import ResizeTerminal
from inspan.model.errors import UsageError
from inspan.model.evidence import Source
from inspan.model.permission import AnsweredBy, Decision, NeedsInputKind
from inspan.model.session import ResumeOutcome
from inspan.model.views import AddSeat, SeatView, SendPrompt
from inspan.seats import running
from inspan.seats.consoles import LiveConsole
from inspan.seats.core import Seats
from inspan.store import open_store
from inspan.transports.machine import Step
from inspan.transports.terminal.machine import TerminalMachine
from inspan.transports.terminal.opening import load_engine
from support.console_ground import ConsoleGround, open_console_ground, until_shown
from support.seat_ground import is_gone, until
from support.seat_scene import ALL


def on_ground(story: Callable[[ConsoleGround], Awaitable[None]]) -> None:
    """Runs a story on a fresh ground."""

    async def run() -> None:
        async with open_console_ground() as ground:
            await story(ground)

    asyncio.run(run())


async def start(ground: ConsoleGround, seats: Seats) -> None:
    await ground.add(seats)
    await seats.start_seat("worker")


async def judged(ground: ConsoleGround) -> list[ConsoleJudged]:
    async with open_store(ground.path / "log.db", read_only=True) as store:
        return [one.event for one in store.events(limit=100_000) if isinstance(one.event, ConsoleJudged)]


def is_ready(view: SeatView) -> bool:
    return view.console is not None and view.console.is_ready


@pytest.mark.requirement("H-C14", "H-N54", "H-D29", "L3")
def test_a_console_that_has_nothing_but_a_screen_is_seen_in_all_its_states() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            view = await until(seats, "worker", is_ready)
            assert (view.status, view.launch and view.launch.status) == ("idle", "ready")
            await ground.press(seats, "b")
            view = await until(seats, "worker", lambda v: v.status == "running")
            assert (view.activity.source, view.activity.rule) == (Source.SCREEN, "working")
            await ground.press(seats, "p")
            view = await until(seats, "worker", lambda v: v.status == "needs_input")
            assert [(one.kind, one.source) for one in view.needs_input] == [
                (NeedsInputKind.PERMISSION, Source.SCREEN)
            ]
            await ground.press(seats, "l")
            view = await until(seats, "worker", lambda v: v.status == "idle")
            assert view.console is not None
            assert view.console.error is not None
            assert (view.console.error.code, view.console.error.resets) == ("limited", "3pm")
            await ground.press(seats, "q")
            view = await until(seats, "worker", lambda v: v.status == "exited")
            assert view.launch is not None
            assert (view.launch.exit_code, view.launch.stderr_tail) == (0, "goodbye")
            assert (view.activity.value, view.console) == ("unknown", None)

    on_ground(story)


@pytest.mark.requirement("H-C21", "DEC7", "H-N13")
def test_a_gate_before_the_session_needs_a_person_and_is_no_start_that_hangs() -> None:
    async def story(ground: ConsoleGround) -> None:
        ground.consoles.words = ("trust",)
        async with ground.seats() as seats:
            await start(ground, seats)
            view = await until(seats, "worker", lambda v: v.status == "needs_input")
            assert view.console is not None
            assert (view.console.gate, view.console.is_ready) == ("trust", False)
            assert view.needs_input[0].kind is NeedsInputKind.TRUST
            assert view.launch is not None
            assert view.launch.status == "connecting"
            await ground.press(seats, "i")
            assert (await until(seats, "worker", is_ready)).status == "idle"
            await ground.press(seats, "t")
            again = await until(seats, "worker", lambda v: v.status == "needs_input")
            assert again.console is not None
            assert (again.console.gate, again.console.is_ready) == ("trust", False)

    on_ground(story)


def test_a_daemon_that_comes_back_to_a_console_loads_its_emulator_beside_its_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_loop: list[bool] = []

    def load() -> None:
        on_loop.append(threading.current_thread() is threading.main_thread())
        load_engine()

    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            await until(seats, "worker", is_ready)
        monkeypatch.setattr(running, "load_engine", load)
        async with ground.seats() as seats:
            assert on_loop == [False]
            await until(seats, "worker", is_ready)

    on_ground(story)


def test_a_console_that_never_becomes_ready_is_left_alone_and_called_unknown() -> None:
    async def story(ground: ConsoleGround) -> None:
        ground.consoles.words = ("late",)
        async with ground.seats() as seats:
            await start(ground, seats)
            view = await until(seats, "worker", lambda v: v.console is not None)
            assert (view.status, view.activity.value) == ("starting", "unknown")
            # The mode's time limit for a session is 0.2 s; it is no limit for a person who signs in.
            await asyncio.sleep(0.5)
            view = await seats.get_seat("worker")
            assert (view.status, view.launch and view.launch.status) == ("starting", "connecting")
            await ground.press(seats, "i")
            await until(seats, "worker", is_ready)

    on_ground(story)


@pytest.mark.parametrize(
    "end", [RuntimeError("a fault of ours"), asyncio.CancelledError()], ids=["fault", "cancel"]
)
def test_a_launch_that_nobody_looks_at_any_more_is_taken_up_again(
    monkeypatch: pytest.MonkeyPatch, end: BaseException
) -> None:
    whole = LiveConsole.watch
    ends = [end]

    async def watch(console: LiveConsole) -> None:
        if ends:
            raise ends.pop()
        await whole(console)

    monkeypatch.setattr(LiveConsole, "watch", watch)

    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            view = await until(seats, "worker", is_ready)
            assert (view.problem, ends) == (None, [])

    on_ground(story)


@pytest.mark.requirement("H-C17", "H-H9")
def test_a_program_that_is_no_harness_is_held_watched_and_unknown() -> None:
    async def story(ground: ConsoleGround) -> None:
        ground.consoles.command = ("/bin/cat",)
        async with ground.seats() as seats:
            await start(ground, seats)
            await until(seats, "worker", lambda v: v.console is not None)
            await ground.press(seats, "hello\r")
            await until_shown(seats, lambda shown: shown.lines[:2] == ("hello", "hello"))
            view = await seats.get_seat("worker")
            assert view.activity.value == "unknown"
            explained = await seats.explain_seat("worker")
            assert explained.console is not None
            foreground = explained.console.foreground
            assert (foreground.is_harness, foreground.name, foreground.pid) == (
                True,
                "cat",
                view.launch and view.launch.pid,
            )

    on_ground(story)


@pytest.mark.requirement("H-C17", "H-A48")
def test_another_program_in_front_hides_what_the_harness_does() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            await until(seats, "worker", is_ready)
            await ground.press(seats, "z")
            view = await until(seats, "worker", lambda v: v.activity.rule == "terminal.foreground")
            assert (view.activity.value, view.activity.source) == ("unknown", Source.PROCESS)
            assert view.console is not None
            assert (view.console.is_ready, view.console.readiness) == (False, "sleep has the terminal")
            view = await until(seats, "worker", is_ready)
            assert view.activity.value == "idle"

    on_ground(story)


def test_what_the_program_says_of_itself_is_believed_before_the_screen() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            await until(seats, "worker", is_ready)
            await ground.press(seats, "w")
            view = await until(seats, "worker", lambda v: v.status == "running")
            assert view.activity.source is Source.PROGRAM_STATUS
            await ground.press(seats, "k")
            view = await until(seats, "worker", lambda v: v.status == "needs_input")
            assert view.console is not None
            assert (view.needs_input[0].kind, view.console.is_drawn) == (NeedsInputKind.PERMISSION, False)
            await ground.press(seats, "p")
            view = await until(seats, "worker", lambda v: v.console is not None and v.console.is_drawn)
            await ground.press(seats, "ie")
            view = await until(seats, "worker", lambda v: v.status == "idle")
            assert view.console is not None
            assert view.console.error is not None
            assert view.console.error.message == "it broke"
            assert view.activity.source is Source.PROGRAM_STATUS
            await ground.press(seats, "c")
            view = await until(seats, "worker", lambda v: v.activity.source is Source.SCREEN)
            assert view.status == "idle"

    on_ground(story)


@pytest.mark.requirement("H-A28", "H-A29", "H-C6")
def test_work_that_is_seen_without_a_sight_of_questions_is_unknown_but_a_question_that_is_seen_counts() -> (
    None
):
    async def story(ground: ConsoleGround) -> None:
        blind = Claim(support=Support.UNSUPPORTED)
        ground.consoles.capabilities = msgspec.structs.replace(ALL, permission_report=blind)
        async with ground.seats() as seats:
            await start(ground, seats)
            await until(seats, "worker", is_ready)
            await ground.press(seats, "b")
            view = await until(seats, "worker", lambda v: v.activity.rule == "working")
            assert (view.status, view.activity.value) == ("unknown", "unknown")
            await ground.press(seats, "p")
            assert (await until(seats, "worker", lambda v: v.status == "needs_input")).needs_input
            await ground.press(seats, "w")
            await ground.press(seats, "i")
            view = await until(seats, "worker", lambda v: v.status == "running")
            assert view.activity.source is Source.PROGRAM_STATUS

    on_ground(story)


def test_the_terminal_answers_each_question_once_and_status_before_attributes() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            await until(seats, "worker", is_ready)
            await ground.press(seats, "a")
            await until_shown(seats, lambda shown: shown.lines[0].startswith("answers"))
        # A daemon that comes back feeds the same bytes again, and must not answer them again.
        async with ground.seats() as seats:
            await until(seats, "worker", is_ready)
            shown = await until_shown(seats, lambda shown: shown.lines[0].startswith("answers"))
            said = shown.lines[0].removeprefix("answers ")
            assert said.startswith("^[]7501;?^[\\^[[")
            assert said.count("7501") == 1
            assert said.endswith("c")
            assert ground.keys() == b"a"

    on_ground(story)


@pytest.mark.requirement("H-N27")
def test_a_daemon_that_comes_back_rebuilds_the_screen_and_says_nothing_twice() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            await until(seats, "worker", is_ready)
            # A megabyte makes checkpoints, so that the journal alone does not hold the screen any more.
            await ground.press(seats, "n")
            await until_shown(seats, lambda shown: shown.lines[0] == "flooded", timeout_s=40)
            await ground.press(seats, "b")
            view = await until(seats, "worker", lambda v: v.status == "running")
            before, pid = await judged(ground), view.launch and view.launch.pid
            shown = await seats.show_screen("worker", scrollback=10)
            state = seats.actor("worker").link
            assert state is not None
            assert state.offset > 0
        async with ground.seats() as seats:
            again = await until_shown(seats, lambda now: now.offset >= shown.offset)
            assert (again.lines, again.cursor, again.columns) == (shown.lines, shown.cursor, shown.columns)
            view = await until(seats, "worker", lambda v: v.status == "running")
            assert view.launch is not None
            assert view.launch.pid == pid
            assert await judged(ground) == before
            await ground.press(seats, "i")
            await until(seats, "worker", lambda v: v.status == "idle")

    on_ground(story)


def test_work_that_ends_while_no_daemon_lives_is_seen_by_the_next_one() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            await until(seats, "worker", is_ready)
            await ground.press(seats, "b")
            view = await until(seats, "worker", lambda v: v.status == "running")
            assert view.launch is not None
            pid = view.launch.pid
            assert pid is not None
        os.kill(pid, signal.SIGWINCH)  # it draws its prompt line again, and nobody looks on
        async with ground.seats() as seats:
            view = await until(seats, "worker", lambda v: v.status == "idle")
            assert view.activity.rule == "idle"

    on_ground(story)


def test_a_resize_reaches_the_program_and_holds_after_a_restart() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            await until(seats, "worker", is_ready)
            for columns, rows in ((1, 1), (132, 50)):
                await seats.resize_terminal("worker", ResizeTerminal(columns=columns, rows=rows))
                await until_shown(seats, lambda now, size=(columns, rows): (now.columns, now.rows) == size)
            await until_shown(seats, lambda now: now.lines[0] == "size 132x50")
        async with ground.seats() as seats:
            shown = await until_shown(seats, lambda now: now.lines[0] == "size 132x50")
            assert (shown.columns, shown.rows) == (132, 50)

    on_ground(story)


def test_several_look_on_and_one_has_the_keyboard() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            await until(seats, "worker", is_ready)
            first = await seats.view_terminal("worker", writes=True)
            onlooker = await seats.view_terminal("worker")
            assert b"type here" in (await onlooker.read() or b"")
            with pytest.raises(UsageError) as refused:
                await seats.view_terminal("worker", writes=True)
            assert refused.value.code == "writer_exists"
            second = await seats.view_terminal("worker", writes=True, takes_over=True)
            assert first.was_replaced
            for token in (first.token, onlooker.token, "guessed"):
                with pytest.raises(UsageError) as refused:
                    await seats.type_keys("worker", writer=token, keys=b"q")
                assert refused.value.code == "not_the_writer"
            with pytest.raises(UsageError) as refused:
                await seats.resize_terminal("worker", ResizeTerminal(columns=90, rows=20))
            assert refused.value.code == "not_the_writer"
            view = await seats.get_seat("worker")
            assert view.console is not None
            assert (view.console.viewers, view.console.has_writer) == (3, True)
            await seats.type_keys("worker", writer=second.token, keys=b"b")
            drawn = b""
            async with asyncio.timeout(20):
                while b"Working" not in drawn:
                    drawn += await onlooker.read() or b""
            assert ground.keys() == b"b"
            second.close()
            view = await seats.get_seat("worker")
            assert view.console is not None
            assert (view.console.viewers, view.console.has_writer) == (2, False)
            await ground.press(seats, "q")
            async with asyncio.timeout(20):
                while await onlooker.read() is not None:
                    pass

    on_ground(story)


def test_a_viewer_that_falls_far_behind_is_shown_the_newest_screen() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            await until(seats, "worker", is_ready)
            slow = await seats.view_terminal("worker")
            await ground.press(seats, "n")
            await until_shown(seats, lambda shown: shown.lines[0] == "flooded", timeout_s=40)
            piece = await slow.read() or b""
            assert piece.startswith(b"\x1bc")
            assert b"flooded" in piece
            assert len(piece) < 600_000

    on_ground(story)


def test_no_prompt_is_taken_for_a_console_that_is_only_watched() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            await until(seats, "worker", is_ready)
            with pytest.raises(UsageError) as refused:
                await seats.send_prompt("worker", SendPrompt(text="hello"))
            assert refused.value.code == "delivery_unsupported"
            assert ground.keys() == b""

    on_ground(story)


def test_a_seat_without_a_terminal_says_so() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            with pytest.raises(UsageError) as refused:
                await seats.show_screen("worker")
            assert refused.value.code == "no_terminal"

    on_ground(story)


def test_the_terminal_s_identity_and_the_rules_origin_are_kept_with_the_launch() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            await until(seats, "worker", is_ready)
            async with open_store(ground.path / "log.db", read_only=True) as store:
                opened = [
                    one.event for one in store.events(limit=1000) if isinstance(one.event, ConsoleOpened)
                ]
            assert [(one.columns, one.rows, one.rules_source) for one in opened] == [
                (100, 30, "scripted_console.py")
            ]
            assert opened[0].identity["program_status"] == "answered"
            environ = psutil.Process(int((ground.state / "pid").read_text())).environ()
            assert (environ["TERM"], environ["COLORTERM"]) == ("xterm-256color", "truecolor")
            assert "TMUX" not in environ

    on_ground(story)


@pytest.mark.requirement("H-H9")
def test_a_stop_ends_the_program_and_its_terminal() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            view = await until(seats, "worker", is_ready)
            assert view.launch is not None
            pid = view.launch.pid
            assert pid is not None
            # Nothing stands in front of it: what was started is the program itself.
            assert psutil.Process(pid).cmdline()[1].endswith("scripted_console.py")
            await seats.stop_seat("worker")
            view = await until(seats, "worker", lambda v: v.status == "stopped")
            assert is_gone(pid)
            with pytest.raises(UsageError):
                await seats.show_screen("worker")

    on_ground(story)


@pytest.mark.parametrize(("allowed", "shown"), [(True, None), (False, None), (True, "/another/place")])
def test_trust_is_answered_by_itself_only_where_it_was_allowed_and_for_this_very_workspace(
    allowed: bool,
    shown: str | None,
) -> None:
    async def story(ground: ConsoleGround) -> None:
        ground.consoles.words = ("trust",)
        environment = {} if shown is None else {"SHOWN_PATH": shown}
        async with ground.seats() as seats:
            await seats.add_seat(
                AddSeat(
                    name="worker",
                    harness="made-up",
                    workspace=str(ground.workspace),
                    trusts_workspace=allowed,
                    environment=environment,
                )
            )
            await seats.start_seat("worker")
            if allowed and shown is None:
                await until(seats, "worker", is_ready)
                assert ground.keys() == b"\r"
                # Once a launch: a console that asks again wants a person.
                await ground.press(seats, "t")
                view = await until(seats, "worker", lambda v: v.status == "needs_input")
                assert view.needs_input[0].kind is NeedsInputKind.TRUST
                assert ground.keys() == b"\rt"
                answered = [one for one in await seats.list_permissions(include_closed=True) if one.decision]
                assert [(one.by, one.decision) for one in answered] == [(AnsweredBy.POLICY, Decision.ALLOW)]
            else:
                view = await until(seats, "worker", lambda v: v.status == "needs_input")
                (request,) = await seats.list_permissions()
                assert request.decision is None
                assert ground.keys() == b""

    on_ground(story)


def test_a_fault_of_ours_in_a_look_is_shown_and_the_next_look_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = TerminalMachine.look
    faults = 1

    def look(machine: TerminalMachine) -> Step:
        nonlocal faults
        if faults and any("Working" in line for line in machine.show_screen(seat="").lines):
            faults -= 1
            raise RuntimeError("a fault of ours")
        return whole(machine)

    monkeypatch.setattr(TerminalMachine, "look", look)

    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            await until(seats, "worker", is_ready)
            await ground.press(seats, "b")
            view = await until(seats, "worker", lambda v: v.problem is not None)
            assert (view.status, view.problem and view.problem.code) == ("unknown", "internal")
            view = await until(seats, "worker", lambda v: v.problem is None)
            view = await until(seats, "worker", lambda v: v.status == "running")

    on_ground(story)


@pytest.mark.requirement("H-C14", "L7")
def test_a_conversation_that_is_resumed_in_a_console_is_open_once_its_prompt_line_is_seen_and_no_sooner() -> (
    None
):
    async def story(ground: ConsoleGround) -> None:
        ground.consoles.words = ("trust",)
        async with ground.seats() as seats:
            await ground.add(seats)
            await seats.start_seat("worker", session="s-1")
            view = await until(seats, "worker", lambda v: v.status == "needs_input")
            assert (view.session.open, view.session.resume_outcome) == (False, None)
            await ground.press(seats, "i")
            view = await until(seats, "worker", is_ready)
            assert (view.session.open, view.session.id) == (True, "s-1")
            assert view.session.resume_outcome is ResumeOutcome.RESUMED
            await seats.stop_seat("worker")
            await until(seats, "worker", lambda v: v.status == "stopped")
            await seats.start_seat("worker")
            await until(seats, "worker", lambda v: v.status == "needs_input")
            assert list(await seats.list_permissions())
            await ground.press(seats, "i")
            view = await until(seats, "worker", is_ready)
            assert (view.session.id, view.launch and view.launch.attempt) == ("s-1", "resume")

    on_ground(story)
