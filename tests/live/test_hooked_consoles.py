"""Real consoles whose own hooks tell Inspan: a prompt's witness, its turn's end, its session, in the sealed namespace."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from inspan.model.delivery import DeliveryState
from inspan.model.events import DeliveryStarted, TurnEnded
from inspan.model.evidence import Source
from inspan.model.hooks import HooksHeard
from inspan.model.session import Provenance
from inspan.model.turn import TurnOutcome
from inspan.model.views import AddSeat, DeliveryView, SeatView, SendPrompt
from inspan.seats.core import Seats
from inspan.store import open_store
from support.live import claude, codex, copilot, gemini, qwen
from support.live.console_seats import ENTER, SEAT, ConsoleSeats, run_inside
from support.live.netns import Namespace
from support.live.target import ReadyTarget, Target, open_target

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]  # the first of them may have to install it

TARGETS = {
    "codex": codex.TARGET,
    "gemini": gemini.TARGET,
    "qwen": qwen.TARGET,
    "claude-code": claude.CONSOLE,
    "copilot": copilot.TARGET,
}
ENDS_BY_HOOK = {"qwen", "claude-code", "copilot"}
PROPRIETARY = pytest.mark.opt_in("INSPAN_LIVE_PROPRIETARY")


@pytest.fixture
def target(request: pytest.FixtureRequest) -> Target:
    return TARGETS[request.param]


@pytest.fixture
def ready(target: Target, namespace: Namespace) -> Iterator[ReadyTarget]:
    """The harness in an arena of its own; what it asked for was scripted."""
    with open_target(target, namespace) as made:
        yield made
        assert made.arena.model.unscripted() == []


@pytest.mark.requirement("H-A26", "L7")
@pytest.mark.parametrize(
    "target",
    [
        "codex",
        "gemini",
        "qwen",
        pytest.param("claude-code", marks=PROPRIETARY),
        pytest.param("copilot", marks=PROPRIETARY),
    ],
    indirect=True,
)
def test_the_harness_s_own_hook_is_the_witness_of_a_prompt_that_was_typed(
    target: Target, ready: ReadyTarget
) -> None:
    ground = ConsoleSeats(ready)

    async def story() -> None:
        async with ground.open() as seats:
            request = AddSeat(
                name=SEAT,
                harness=ready.harness,
                mode="terminal",
                workspace=str(ground.arena.workspace),
                trusts_workspace=True,
            )
            await seats.add_seat(request)
            installed = await seats.install_hooks(SEAT)
            assert installed.is_told
            await seats.start_seat(SEAT)
            if any(place.needs for place in installed.places):
                await _trust_hooks(ground, seats)
            await ground.until(seats, _is_free, "free")
            first = await _ended(seats, "SLOW [words=10] [interval=0.1] and a second word")
            assert (first.state, first.turn_outcome) == (DeliveryState.STARTED, TurnOutcome.COMPLETED)
            view = await seats.get_seat(SEAT)
            assert view.session is not None
            assert view.session.id
            assert view.session.provenance in (Provenance.HOOK, Provenance.CHOSEN)
        # What happens while no daemon runs is left by the relay, and taken afterwards.
        async with ground.open() as seats:
            await ground.until(seats, _is_free, "free")
            sent = await seats.send_prompt(
                SEAT, SendPrompt(text="SLOW [words=40] [interval=0.1] while nobody looks")
            )
            await ground.until(
                seats,
                lambda v: v.in_flight is not None and v.in_flight.state is DeliveryState.STARTED,
                "started",
            )
        async with ground.open() as seats:
            done = await _until_ended(seats, sent.id)
            assert (done.state, done.turn_outcome) == (DeliveryState.STARTED, TurnOutcome.COMPLETED)
            heard = await _heard(seats)
            assert heard.dropped.keys() <= {"unknown_event"}, heard
        async with open_store(ground.home.database, read_only=True) as store:
            log = list(store.events(limit=100_000))
        started = [one.source for one in log if isinstance(one.event, DeliveryStarted)]
        assert started == [Source.HOOK, Source.HOOK]
        if ready.harness in ENDS_BY_HOOK:
            assert [one.source for one in log if isinstance(one.event, TurnEnded)] == [Source.HOOK] * 2

    run_inside(ready.arena.namespace, story)


async def _trust_hooks(ground: ConsoleSeats, seats: Seats) -> None:
    """Answers, as a person does, whether hooks that are new are to be trusted."""
    await ground.until(seats, lambda v: v.status == "needs_input", "the question")
    await ground.until_shown(seats, lambda now: any("Hooks need review" in line for line in now.lines))
    await ground.press(seats, b"2")
    await ground.until_shown(seats, lambda now: any("\u203a 2. Trust all" in line for line in now.lines))
    await ground.press(seats, ENTER)


def _is_free(view: SeatView) -> bool:
    return view.console is not None and view.console.can_type and not view.console.typing_block


async def _ended(seats: Seats, text: str) -> DeliveryView:
    sent = await seats.send_prompt(SEAT, SendPrompt(text=text))
    return await _until_ended(seats, sent.id)


async def _until_ended(seats: Seats, delivery: str) -> DeliveryView:
    async with asyncio.timeout(90):
        while (found := await seats.get_delivery(delivery)).turn_outcome is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return found


async def _heard(seats: Seats) -> HooksHeard:
    console = (await seats.explain_seat(SEAT)).console
    assert console is not None
    assert console.hooks is not None
    return console.hooks
