"""Native inboxes, behind their flag: a prompt that the harness's own program hands over, at most once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from inspan.model.delivery import DeliveryState
from inspan.model.inbox import Inbox
from inspan.model.plan import LaunchPlan, LaunchRequest
from inspan.model.turn import TurnOutcome
from inspan.model.views import DeliveryView, SeatView, SendPrompt
from inspan.seats.core import Seats
from inspan.seats.inboxes import INBOX_VARIABLE
from inspan.store import open_store
from inspan.transports.terminal import typist
from support import scripted_inbox
from support.console_ground import ConsoleGround, ended, open_console_ground
from support.seat_ground import until

PROGRAM = Path(scripted_inbox.__file__)


def on_ground(story: Callable[[ConsoleGround], Awaitable[None]], *, timeout_s: float = 30) -> None:
    """Runs a story on a fresh ground whose console has an inbox and a session of a known id."""

    async def run() -> None:
        async with open_console_ground(composes=True) as ground:
            ground.consoles.program_file = PROGRAM
            args = (str(PROGRAM), "post", str(ground.state), "{session}", "{prompt}")
            plan = ground.consoles.plan

            async def plan_with_inbox(request: LaunchRequest) -> LaunchPlan:
                made = await plan(request)
                terminal = msgspec.structs.replace(
                    made.settings.terminal, inbox=Inbox(args=args, timeout_s=timeout_s)
                )
                settings = msgspec.structs.replace(made.settings, terminal=terminal, session_id="s-1")
                return msgspec.structs.replace(made, settings=settings, environment={"INBOX_MARK": "its own"})

            ground.consoles.plan = plan_with_inbox
            await story(ground)

    asyncio.run(run())


def is_free(view: SeatView) -> bool:
    return view.console is not None and view.session.open and not view.console.typing_block


async def start(ground: ConsoleGround, seats: Seats) -> None:
    await ground.add(seats)
    await seats.start_seat("worker")
    await until(seats, "worker", is_free, timeout_s=40)


async def sent(seats: Seats, text: str) -> DeliveryView:
    return await ended(seats, (await seats.send_prompt("worker", SendPrompt(text=text))).id)


@pytest.mark.requirement("L19")
def test_a_prompt_goes_into_the_inbox_of_its_session_and_no_key_is_pressed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(INBOX_VARIABLE, "1")

    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            delivery = await sent(seats, "two\nlines --with {session}")
            assert delivery.turn_outcome is TurnOutcome.COMPLETED
            assert (await sent(seats, "another")).turn_outcome is TurnOutcome.COMPLETED
        assert ground.read("inbox.jsonl") == [
            {"session": "s-1", "text": "two\nlines --with {session}", "mark": "its own"},
            {"session": "s-1", "text": "another", "mark": "its own"},
        ]
        assert ground.submitted() == ["two\nlines --with {session}", "another"]
        assert ground.read("keys.jsonl") == []
        async with open_store(ground.path / "log.db", read_only=True) as store:
            types = [one.type for one in store.events(limit=1000) if one.type.startswith("delivery_")]
        # The harness's own API took it, and work was seen; nobody witnessed that it was this prompt's.
        assert types[:5] == [
            "delivery_queued",
            "delivery_sending",
            "delivery_sent",
            "delivery_accepted",
            "delivery_queued",
        ]

    on_ground(story)


@pytest.mark.requirement("L19")
@pytest.mark.parametrize("way", ["off", "refuse"])
def test_without_the_flag_and_where_the_inbox_refuses_it_a_prompt_is_typed(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(INBOX_VARIABLE, "0" if way == "off" else "1")

    async def story(ground: ConsoleGround) -> None:
        (ground.state / "inbox_way").write_text(way if way == "refuse" else "")
        async with ground.seats() as seats:
            await start(ground, seats)
            assert (await sent(seats, "go on")).turn_outcome is TurnOutcome.COMPLETED
        assert ground.read("inbox.jsonl") == []
        assert ground.submitted() == ["go on"]
        assert {key["met"] for key in ground.read("keys.jsonl")} == {"composer"}

    on_ground(story)


@pytest.mark.requirement("L19")
def test_an_inbox_that_does_not_say_what_it_did_leaves_a_prompt_unknown_and_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(INBOX_VARIABLE, "1")

    async def story(ground: ConsoleGround) -> None:
        way = ground.state / "inbox_way"
        way.write_text("hang")
        async with ground.seats() as seats:
            await start(ground, seats)
            delivery = await sent(seats, "perhaps")
            assert (delivery.state, delivery.turn_outcome) == (DeliveryState.UNKNOWN, TurnOutcome.LOST)
            way.write_text("")
            await until(seats, "worker", is_free, timeout_s=40)
            assert (await sent(seats, "for sure")).turn_outcome is TurnOutcome.COMPLETED
        assert [one["text"] for one in ground.read("inbox.jsonl")] == ["perhaps", "for sure"]

    on_ground(story, timeout_s=1)


@pytest.mark.requirement("L19")
def test_a_prompt_that_is_cancelled_while_it_lies_in_its_inbox_is_unknown_and_presses_no_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(INBOX_VARIABLE, "1")
    monkeypatch.setattr(typist, "TAKEN_WITHIN_S", 0.5)

    async def story(ground: ConsoleGround) -> None:
        (ground.state / "inbox_way").write_text("keep")
        async with ground.seats() as seats:
            await start(ground, seats)
            delivery = await seats.send_prompt("worker", SendPrompt(text="perhaps"))
            await until(
                seats,
                "worker",
                lambda v: v.in_flight is not None and v.in_flight.state is DeliveryState.ACCEPTED,
                timeout_s=40,
            )
            await seats.cancel_turn("worker")
            found = await ended(seats, delivery.id)
            assert (found.state, found.turn_outcome) == (DeliveryState.UNKNOWN, TurnOutcome.LOST)
            assert ground.read("keys.jsonl") == []
            await until(seats, "worker", lambda v: v.in_flight is None, timeout_s=40)

    on_ground(story)


@pytest.mark.requirement("L19")
def test_a_daemon_that_dies_while_the_inbox_is_asked_does_not_ask_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(INBOX_VARIABLE, "1")

    async def story(ground: ConsoleGround) -> None:
        (ground.state / "inbox_way").write_text("hang")
        async with ground.seats() as seats:
            await start(ground, seats)
            delivery = await seats.send_prompt("worker", SendPrompt(text="perhaps"))
            async with asyncio.timeout(40):
                while not ground.read("inbox.jsonl"):  # noqa: ASYNC110 - the program sets no event here
                    await asyncio.sleep(0.01)
        async with ground.seats() as seats:
            found = await ended(seats, delivery.id)
            assert (found.state, found.turn_outcome) == (DeliveryState.UNKNOWN, TurnOutcome.LOST)
        assert [one["text"] for one in ground.read("inbox.jsonl")] == ["perhaps"]

    on_ground(story)


@pytest.mark.parametrize("args", [("queue",), ("queue", "{session}"), ("queue", "{prompt}")])
def test_an_inbox_names_the_session_and_the_prompt(args: tuple[str, ...]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"args": list(args)}, Inbox)
