"""Prompts for a console of which nobody can say what it does: typed into a free input line, on the record."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from inspan.model.attention import AttentionRaised
from inspan.model.delivery import DeliveryState, HeldReason
from inspan.model.errors import UsageError
from inspan.model.events import DeliverySending
from inspan.model.permission import NeedsInputKind
from inspan.model.turn import TurnOutcome
from inspan.model.views import AddSeat, AnswerPermission, SeatView, SendPrompt
from inspan.seats.core import Seats
from inspan.store import open_store
from support.console_ground import (
    COMPOSER_RULES,
    COMPOSER_TYPING,
    ConsoleGround,
    ended,
    open_console_ground,
    until_shown,
)
from support.seat_ground import until

DIALOG = "Run this command?"


def on_ground(story: Callable[[ConsoleGround], Awaitable[None]], *, unknown: tuple[str, ...] = ()) -> None:
    """Runs a story on a fresh ground, whose manifest lacks the rules that are named."""

    async def run() -> None:
        async with open_console_ground(composes=True) as ground:
            rules = tuple(rule for rule in COMPOSER_RULES.rules if rule.name not in unknown)
            ground.consoles.rules = msgspec.structs.replace(COMPOSER_RULES, rules=rules)
            await story(ground)

    asyncio.run(run())


def is_ready(view: SeatView) -> bool:
    return view.console is not None and view.console.is_ready


async def start(ground: ConsoleGround, seats: Seats) -> SeatView:
    await ground.add(seats)
    await seats.start_seat("worker")
    return await until(seats, "worker", is_ready, timeout_s=40)


async def typed(seats: Seats) -> SeatView:
    return await until(
        seats,
        "worker",
        lambda v: v.in_flight is not None and v.in_flight.state is DeliveryState.RENDERED,
        timeout_s=40,
    )


async def held(seats: Seats, why: HeldReason) -> SeatView:
    return await until(seats, "worker", lambda v: bool(v.queue) and v.queue[0].held is why, timeout_s=40)


@pytest.mark.requirement("DEC3")
def test_a_prompt_is_typed_into_a_free_input_line_though_nobody_can_say_what_the_console_does() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            view = await start(ground, seats)
            assert view.activity.value == "unknown"
            sent = await seats.send_prompt("worker", SendPrompt(text="go on"))
            view = await typed(seats)
            assert ground.submitted() == ["go on"]
            (note,) = view.attention
            assert (note.code, note.delivery) == ("activity_unknown", sent.id)
            async with open_store(ground.path / "log.db", read_only=True) as store:
                events = [one.event for one in store.events(limit=1000)]
            places = [
                at for at, event in enumerate(events) if isinstance(event, DeliverySending | AttentionRaised)
            ]
            assert len(places) == 2
            # It is on the record before a key is: with the intent, which is before the write.
            assert places[1] == places[0] + 1

    on_ground(story, unknown=("idle", "working"))


@pytest.mark.requirement("DEC3")
def test_nothing_is_typed_where_a_dialog_may_be_up_that_nothing_would_tell() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("dialog rm -r build")
            await until_shown(seats, lambda shown: DIALOG in "\n".join(shown.lines))
            await seats.send_prompt("worker", SendPrompt(text="go on"))
            await held(seats, HeldReason.ACTIVITY_UNKNOWN)
            assert ground.read("keys.jsonl") == []
            ground.order("undialog")
            await typed(seats)
            assert ground.submitted() == ["go on"]
            assert {key["met"] for key in ground.read("keys.jsonl")} <= {"composer", "busy"}

    on_ground(story, unknown=("idle", "working", "dialog.permission"))


def test_a_prompt_that_is_to_be_typed_during_a_turn_still_minds_a_person_s_draft() -> None:
    async def story(ground: ConsoleGround) -> None:
        takes = msgspec.structs.replace(COMPOSER_TYPING, takes_text_while_running=True)
        ground.consoles.typing = takes
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("slow 3600")
            await ground.press(seats, "a person's own prompt")
            await ground.press(seats, "\r")
            await until(seats, "worker", lambda v: v.status == "running", timeout_s=40)
            ground.order("draft I was about to")
            await until_shown(seats, lambda shown: "about to" in "\n".join(shown.lines))
            await seats.send_prompt("worker", SendPrompt(text="steer", now=True))
            await held(seats, HeldReason.DRAFT)
            assert "steer" not in [key["data"] for key in ground.read("keys.jsonl")]
            ground.order("undraft")
            await typed(seats)
            assert ground.submitted() == ["a person's own prompt", "steer"]

    on_ground(story)


def test_a_prompt_that_the_console_would_take_for_its_own_command_is_refused_but_for_an_override() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            for text in ("/quit", " !rm -r build"):
                with pytest.raises(UsageError) as refused:
                    await seats.send_prompt("worker", SendPrompt(text=text))
                assert refused.value.code == "message_is_command"
            assert (await seats.get_seat("worker")).queue == ()
            sent = await seats.send_prompt("worker", SendPrompt(text="/compact", override="it is full"))
            await ended(seats, sent.id)
            assert ground.submitted() == ["/compact"]

    on_ground(story)


@pytest.mark.requirement("L22")
@pytest.mark.parametrize("is_answered_here", [False, True], ids=["a person closes it", "it is answered here"])
def test_a_command_that_opens_a_dialog_is_over_and_what_waits_behind_the_dialog_says_why(
    is_answered_here: bool,
) -> None:
    async def story(ground: ConsoleGround) -> None:
        menu = msgspec.structs.replace(
            COMPOSER_RULES.rules[0],
            kind=NeedsInputKind.QUESTION,
            answers=COMPOSER_RULES.rules[0].answers if is_answered_here else None,
        )
        ground.consoles.rules = msgspec.structs.replace(
            COMPOSER_RULES, rules=(menu, *COMPOSER_RULES.rules[1:])
        )
        (ground.state / "script.json").write_text('[{"ask": "which model", "work_s": 0.01}]')
        async with ground.seats() as seats:
            await start(ground, seats)
            command = await seats.send_prompt("worker", SendPrompt(text="/model", override="another model"))
            after = await seats.send_prompt("worker", SendPrompt(text="go on"))
            done = await ended(seats, command.id)
            assert (done.state, done.turn_outcome) == (DeliveryState.RENDERED, TurnOutcome.COMPLETED)
            view = await held(seats, HeldReason.NEEDS_INPUT)
            assert (view.status, view.in_flight) == ("needs_input", None)
            assert [note.code for note in view.attention] == ["command_opened_dialog"]
            assert "inspan attach worker" in view.queue[0].hint
            assert "inspan attach worker" in (await seats.get_delivery(after.id)).hint
            assert ground.submitted() == ["/model"]
            if is_answered_here:
                view = await until(
                    seats, "worker", lambda v: [one for one in v.needs_input if one.request] != []
                )
                await seats.answer_permission(
                    view.needs_input[0].request or "", AnswerPermission(decision="deny")
                )
            else:
                ground.order("undialog")
            await ended(seats, after.id)
            assert ground.submitted() == ["/model", "go on"]

    on_ground(story)


@pytest.mark.parametrize(
    ("guidance", "code"), [("/quit", "message_is_command"), ("a\x1b[201~", "message_has_controls")]
)
def test_guidance_that_a_console_could_not_be_given_is_refused_before_there_is_a_seat(
    guidance: str, code: str
) -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            with pytest.raises(UsageError) as refused:
                await seats.add_seat(
                    AddSeat(
                        name="worker", harness="made-up", workspace=str(ground.workspace), guidance=guidance
                    )
                )
            assert refused.value.code == code
            assert not await seats.list_seats()

    on_ground(story)
