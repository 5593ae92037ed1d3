"""Real consoles as seats, only watched by Inspan and typed into by the test: honest states from start to exit."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from inspan.model.console_views import ScreenView
from inspan.model.evidence import Source
from inspan.model.permission import NeedsInputKind
from inspan.model.views import SeatView
from inspan.seats.core import Seats
from support.live.console_seats import ENTER, SEAT, ConsoleSeats, run_inside
from support.live.console_walks import WALKS, Walk, find_lies, find_repeats
from support.live.netns import Namespace
from support.live.target import ReadyTarget, open_target

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]  # the first of them may have to install it

SLOW = "SLOW [words=30] [interval=0.1] the word quota is no limit"
SHELL = "TOOLSHELL [cmd=echo yes > allowed.txt] [escalate=1]"


@pytest.fixture
def walk(request: pytest.FixtureRequest) -> Walk:
    return WALKS[request.param]


@pytest.fixture
def ready(walk: Walk, namespace: Namespace) -> Iterator[ReadyTarget]:
    """The harness in an arena of its own; what it asked for was scripted."""
    with open_target(walk.target, namespace) as made:
        yield made
        assert made.arena.model.unscripted() == []


def each(*names: str, on_request: tuple[str, ...] = ()) -> pytest.MarkDecorator:
    more = [pytest.param(name, marks=pytest.mark.opt_in("INSPAN_LIVE_ALL")) for name in on_request]
    return pytest.mark.parametrize("walk", [*names, *more], indirect=True)


@pytest.mark.requirement("H-C14", "H-N54", "H-N12", "H-N13", "H-C19", "DEC7", "L3")
@each("codex", "opencode", "pi", on_request=("gemini", "qwen"))
def test_a_console_is_seen_as_it_is_through_all_its_states_and_a_restart(
    walk: Walk, ready: ReadyTarget
) -> None:
    ground = ConsoleSeats(ready)

    async def story() -> None:
        async with ground.open() as seats:
            await ground.add(seats, walk.posture)
            await seats.start_seat(SEAT)
            await _until_ready(ground, seats)
            await ground.ask(seats, SLOW)
            view = await ground.until(seats, lambda v: v.status == "running", "running")
            assert view.console is not None
            assert view.console.error is None
            pid = view.launch and view.launch.pid
        async with ground.open() as seats:
            view = await seats.get_seat(SEAT)
            assert (view.status, view.launch and view.launch.pid) == ("running", pid)
            view = await ground.until(seats, lambda v: v.status == "idle", "idle")
            assert view.activity.source in walk.witnesses
            assert view.console is not None
            assert view.console.error is None
            shown = await _ask_and_wait(ground, seats) if walk.asks else None
        if walk.asks:
            async with ground.open() as seats:
                assert shown is not None
                await _answer_after_restart(ground, seats, shown)
        async with ground.open() as seats:
            await _meet_errors(ground, seats, walk)
            await _leave(ground, seats, walk)
        said = await ground.verdicts()
        told = "\n".join(map(str, said))
        assert find_lies(said, ground.arena.model.lines()) == [], told
        assert find_repeats(said) == [], told
        assert walk.witnesses & {one.source for one in said if one.judged.activity == "running"}, told

    run_inside(ready.arena.namespace, story)


@pytest.mark.requirement("H-C17")
@each("codex", "pi")
def test_a_console_killed_in_mid_turn_is_gone_and_never_idle(walk: Walk, ready: ReadyTarget) -> None:
    ground = ConsoleSeats(ready)

    async def story() -> None:
        async with ground.open() as seats:
            await ground.add(seats, walk.posture)
            await seats.start_seat(SEAT)
            await _until_ready(ground, seats)
            await ground.ask(seats, "HANG please")
            await ground.until(seats, lambda v: v.status == "running", "running")
            await _kill(ground, seats)
        said = await ground.verdicts()
        assert said[-1].judged.activity == "running", "\n".join(map(str, said))

    run_inside(ready.arena.namespace, story)


async def _until_ready(ground: ConsoleSeats, seats: Seats) -> None:
    """The launch comes to its prompt line, which counts once it has stood for a while; nothing is asked meanwhile."""
    seen: list[SeatView] = []

    def is_ready(view: SeatView) -> bool:
        seen.append(view)
        return view.console is not None and view.console.is_ready

    view = await ground.until(seats, is_ready, "ready")
    assert (view.status, view.launch and view.launch.status) == ("idle", "ready")
    assert seen[0].status == "starting"
    # Some turn a spinner while they start, and redraw without a prompt line.
    assert {one.status for one in seen} <= {"starting", "idle", "running", "unknown"}


async def _ask_and_wait(ground: ConsoleSeats, seats: Seats) -> ScreenView:
    await ground.ask(seats, SHELL)

    def is_drawn(view: SeatView) -> bool:
        return view.status == "needs_input" and view.console is not None and view.console.is_drawn

    view = await ground.until(seats, is_drawn, "a drawn dialog")
    (need,) = view.needs_input
    assert need.kind is NeedsInputKind.PERMISSION
    assert view.activity.source is Source.SCREEN
    assert not (ground.arena.workspace / "allowed.txt").exists()
    return await seats.show_screen(SEAT)


async def _answer_after_restart(ground: ConsoleSeats, seats: Seats, shown: ScreenView) -> None:
    """The dialog still stands for a daemon that comes back, which says nothing again; then a person answers it."""
    before = await ground.verdicts()
    await ground.until(seats, lambda v: v.console is not None and v.console.is_drawn, "the dialog again")
    await ground.until_shown(seats, lambda now: now.offset >= shown.offset)
    explained = await seats.explain_seat(SEAT)
    assert explained.console is not None
    assert explained.console.claims[0].says == "needs_input"
    assert explained.console.claims[0].outcome == "believed"
    assert await ground.verdicts() == before
    assert before[-1].judged.activity == "needs_input"
    await ground.press(seats, ENTER)
    await ground.until(seats, lambda v: v.status == "idle", "idle")
    assert (ground.arena.workspace / "allowed.txt").read_text() == "yes\n"


async def _meet_errors(ground: ConsoleSeats, seats: Seats, walk: Walk) -> None:
    def is_limited(view: SeatView) -> bool:
        error = view.console and view.console.error
        return view.status == walk.limit and error is not None and error.code == "limited"

    await ground.ask(seats, "QUOTA please")
    view = await ground.until(seats, is_limited, "limited")
    assert view.console is not None
    assert view.console.error is not None
    assert "quota" in view.console.error.message.lower() or walk.limit == "needs_input"
    if walk.limit == "needs_input":
        assert [need.kind for need in view.needs_input] == [NeedsInputKind.LIMIT]
    if walk.limit == "running":
        assert "retrying" in view.console.signs
        return  # it would try again for minutes, and gives the prompt back where it is interrupted
    for key in walk.after_limit:
        await ground.press_until(seats, key, lambda v: v.status == "idle", "idle after the limit")

    def has_no_key(view: SeatView) -> bool:
        error = view.console and view.console.error
        return view.status == "idle" and error is not None and error.code == "auth_required"

    await ground.ask(seats, "AUTHFAIL please")
    await ground.until(seats, has_no_key, "refused for its key")
    await ground.ask(seats, "PLAIN again")
    await ground.until(
        seats,
        lambda v: v.status == "idle" and v.console is not None and v.console.error is None,
        "idle without an error",
    )


async def _leave(ground: ConsoleSeats, seats: Seats, walk: Walk) -> None:
    if walk.leave is None:
        await _kill(ground, seats)
        return
    view = await ground.press_until(seats, walk.leave, lambda v: v.status == "exited", "exited")
    assert view.launch is not None
    assert (view.launch.exit_code, view.launch.signal) == (0, None)
    assert (view.activity.value, view.console) == ("unknown", None)


async def _kill(ground: ConsoleSeats, seats: Seats) -> None:
    """Its picture is still there, and so is its last word; that it is gone is what its process tells."""
    view = await seats.get_seat(SEAT)
    assert view.launch is not None
    assert view.launch.pid is not None
    os.killpg(view.launch.pid, signal.SIGKILL)
    view = await ground.until(seats, lambda v: v.status == "exited", "exited")
    assert view.launch is not None
    assert (view.launch.signal, view.launch.reason) == (9, "exit")
    assert (view.activity.value, view.activity.source) == ("unknown", Source.PROCESS)
    assert (view.console, view.needs_input) == (None, ())
