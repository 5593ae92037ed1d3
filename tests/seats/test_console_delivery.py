"""Prompts into consoles with real ptys: typed as a careful person would, held while anything stands in the way."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from inspan.model.capability import Claim, Support
from inspan.model.console import KeysPressed
from inspan.model.console_views import PressKeys
from inspan.model.delivery import DeliveryState, HeldReason
from inspan.model.errors import UsageError
from inspan.model.events import DeliveryQueued, DeliverySending, PermissionAnswered
from inspan.model.permission import NeedsInputKind
from inspan.model.turn import TurnOutcome
from inspan.model.views import AnswerPermission, DeliveryView, SeatView, SendPrompt
from inspan.seats.core import Seats
from inspan.store import open_store
from support.console_ground import ConsoleGround, ended, open_console_ground
from support.seat_ground import until
from support.seat_scene import ALL


def on_ground(story: Callable[[ConsoleGround], Awaitable[None]]) -> None:
    """Runs a story on a fresh ground."""

    async def run() -> None:
        async with open_console_ground(composes=True) as ground:
            await story(ground)

    asyncio.run(run())


async def start(ground: ConsoleGround, seats: Seats) -> SeatView:
    await ground.add(seats)
    await seats.start_seat("worker")
    return await until(seats, "worker", is_free, timeout_s=40)


def is_free(view: SeatView) -> bool:
    return view.console is not None and view.console.can_type and not view.console.typing_block


async def send(seats: Seats, text: str, *, now: bool = False, override: str = "") -> DeliveryView:
    return await seats.send_prompt("worker", SendPrompt(text=text, now=now, override=override))


async def came(is_there: Callable[[], object]) -> None:
    """Returns once the program has done something, which sets no event here."""
    async with asyncio.timeout(20):
        while not is_there():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def held(seats: Seats, why: HeldReason) -> SeatView:
    return await until(seats, "worker", lambda v: bool(v.queue) and v.queue[0].held is why, timeout_s=40)


def met(ground: ConsoleGround) -> set[str]:
    """What typed text and Enter met."""
    return {one["met"] for one in ground.read("keys.jsonl") if one["what"] in ("text", "enter")}


@pytest.mark.requirement("H-E1", "L8", "L10")
def test_a_prompt_is_typed_submitted_and_seen_but_never_called_started_without_a_witness() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            text = "first line\n  second: ünïcode 🛠 e\u0301\tend"
            sent = await send(seats, text)
            done = await ended(seats, sent.id)
            assert (done.state, done.turn_outcome) == (DeliveryState.RENDERED, TurnOutcome.COMPLETED)
            assert ground.submitted() == [text]
            # The text and the key that submits it are writes of their own.
            assert [one["what"] for one in ground.read("keys.jsonl")] == ["text", "enter"]

    on_ground(story)


@pytest.mark.requirement("L8")
def test_prompts_that_come_while_it_works_are_queued_and_typed_one_after_the_other() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            ids = [(await send(seats, f"prompt {number}")).id for number in range(3)]
            for one in ids:
                assert (await ended(seats, one)).turn_outcome is TurnOutcome.COMPLETED
            assert ground.submitted() == ["prompt 0", "prompt 1", "prompt 2"]
            assert met(ground) == {"composer"}

    on_ground(story)


@pytest.mark.requirement("H-N3", "H-E8", "L9", "DEC3")
def test_nothing_is_typed_while_a_dialog_is_up_and_the_prompt_follows_its_answer() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("dialog rm -r build")
            await until(seats, "worker", lambda v: v.status == "needs_input")
            sent = await send(seats, "go on")
            view = await held(seats, HeldReason.NEEDS_INPUT)
            assert view.queue[0].state is DeliveryState.HELD
            assert ground.read("keys.jsonl") == []
            (request,) = await seats.list_permissions()
            await seats.answer_permission(request.id, AnswerPermission(decision="allow"))
            assert (await ended(seats, sent.id)).state is DeliveryState.RENDERED
            assert ground.read("answers.jsonl") == [{"asked": "rm -r build", "choice": "Yes"}]
            assert "dialog" not in met(ground) - {"dialog"} | {
                one["met"] for one in ground.read("keys.jsonl") if one["what"] == "text"
            }

    on_ground(story)


@pytest.mark.requirement("L9", "H-C22")
def test_a_person_s_draft_is_neither_erased_nor_submitted() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("draft I was about to")
            await until(
                seats, "worker", lambda v: v.console is not None and v.console.typing_block == "draft"
            )
            sent = await send(seats, "not into that")
            await held(seats, HeldReason.DRAFT)
            with pytest.raises(AssertionError):
                await until(seats, "worker", lambda v: v.in_flight is not None, timeout_s=0.5)
            assert ground.read("keys.jsonl") == []
            ground.order("undraft")
            await ended(seats, sent.id)
            assert ground.submitted() == ["not into that"]

    on_ground(story)


@pytest.mark.requirement("L22", "L9")
def test_nothing_is_typed_into_another_program_that_has_the_terminal() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("front")
            await came(lambda: (ground.state / "front").exists())
            sent = await send(seats, "rm is not for a shell")
            await ended(seats, sent.id)
            assert (ground.state / "front").read_bytes() == b""
            assert ground.submitted() == ["rm is not for a shell"]

    on_ground(story)


@pytest.mark.requirement("L9")
def test_a_person_who_is_typing_holds_what_would_be_typed_by_itself() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            viewer = await seats.view_terminal("worker", writes=True)
            await seats.type_keys("worker", writer=viewer.token, keys=b"\x1b[A")
            sent = await send(seats, "after the person")
            view = await seats.get_seat("worker")
            assert (view.queue[0].held, view.in_flight) == (HeldReason.PERSON_TYPING, None)
            viewer.close()
            await ended(seats, sent.id)
            assert ground.submitted() == ["after the person"]

    on_ground(story)


@pytest.mark.requirement("L21")
@pytest.mark.parametrize(
    "text", ["a\x1b[201~\r", "\x03", "bell \x07", "c1 \x9b31m", "del \x7f", "cr \r", "nul \x00", "\x1b"]
)
def test_a_message_that_could_press_a_key_is_refused(text: str) -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await ground.add(seats)
            with pytest.raises(UsageError) as refused:
                await send(seats, text)
            assert refused.value.code == "message_has_controls"
            assert (await seats.get_seat("worker")).queue == ()

    on_ground(story)


def test_a_large_message_arrives_whole_and_is_one_prompt() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            text = "".join(f"line {number} ünïcode\n" for number in range(50_000)) + "end"
            sent = await send(seats, text)
            await ended(seats, sent.id)
            assert len(text.encode()) > 1_000_000
            assert ground.submitted() == [text]

    on_ground(story)


def test_a_console_that_swallows_the_text_is_told_and_nothing_is_submitted() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("swallow")
            await came(lambda: ground.read("done.jsonl"))
            sent = await send(seats, "into the void")
            done = await ended(seats, sent.id)
            assert (done.state, done.error and done.error.code) == (DeliveryState.FAILED, "typing_swallowed")
            assert ground.submitted() == []
            assert "enter" not in [one["what"] for one in ground.read("keys.jsonl")]

    on_ground(story)


def test_enter_is_pressed_again_where_the_text_still_stands_there_and_no_prompt_is_doubled() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("deaf 1")
            await came(lambda: ground.read("done.jsonl"))
            sent = await send(seats, "press it again")
            assert (await ended(seats, sent.id)).turn_outcome is TurnOutcome.COMPLETED
            assert ground.submitted() == ["press it again"]
            assert [one["what"] for one in ground.read("keys.jsonl")] == ["text", "enter", "enter"]

    on_ground(story)


@pytest.mark.requirement("H-C19", "H-A39")
def test_a_usage_limit_ends_the_turn_as_limited_with_its_reset_time() -> None:
    async def story(ground: ConsoleGround) -> None:
        (ground.state / "script.json").write_text('[{"limit": true}]')
        async with ground.seats() as seats:
            await start(ground, seats)
            sent = await send(seats, "too much")
            done = await ended(seats, sent.id)
            assert done.turn_outcome is TurnOutcome.LIMITED
            view = await seats.get_seat("worker")
            assert view.last_turn is not None
            assert view.last_turn.error is not None
            assert view.last_turn.error.code == "limited"
            assert "3pm" in view.last_turn.error.message
            # What stands on the screen from before says nothing of the next turn.
            again = await ended(seats, (await send(seats, "once more")).id)
            assert again.turn_outcome is TurnOutcome.COMPLETED

    on_ground(story)


def test_a_turn_is_interrupted_once_and_ends_as_cancelled() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("slow 60")
            sent = await send(seats, "long work")
            await until(seats, "worker", lambda v: v.status == "running")
            await seats.cancel_turn("worker")
            done = await ended(seats, sent.id)
            assert done.turn_outcome is TurnOutcome.CANCELLED
            assert [one["what"] for one in ground.read("keys.jsonl")].count("escape") == 1

    on_ground(story)


@pytest.mark.requirement("L11", "H-F7")
@pytest.mark.parametrize(("decision", "choice"), [("allow", "Yes"), ("deny", "No")])
def test_a_dialog_in_a_turn_is_answered_by_what_it_asks_and_its_turn_goes_on(
    decision: str, choice: str
) -> None:
    async def story(ground: ConsoleGround) -> None:
        (ground.state / "script.json").write_text('[{"ask": "rm -r build", "work_s": 0.2}]')
        async with ground.seats() as seats:
            await start(ground, seats)
            sent = await send(seats, "clean up")
            view = await until(seats, "worker", lambda v: v.status == "needs_input")
            assert [(one.kind, one.summary) for one in view.needs_input] == [
                (NeedsInputKind.PERMISSION, "rm -r build")
            ]
            (request,) = await seats.list_permissions()
            answer = msgspec.convert({"decision": decision}, AnswerPermission)
            await seats.answer_permission(request.id, answer)
            assert (await ended(seats, sent.id)).turn_outcome is TurnOutcome.COMPLETED
            assert ground.read("answers.jsonl") == [{"asked": "rm -r build", "choice": choice}]

    on_ground(story)


@pytest.mark.requirement("L11")
def test_an_answer_to_a_dialog_that_has_become_another_presses_nothing() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("dialog ls")
            await until(seats, "worker", lambda v: v.status == "needs_input")
            (first,) = await seats.list_permissions()
            os.kill(int((ground.state / "pid").read_text()), signal.SIGSTOP)
            ground.order("dialog rm -rf /")
            try:
                await seats.answer_permission(first.id, AnswerPermission(decision="deny"))
            finally:
                os.kill(int((ground.state / "pid").read_text()), signal.SIGCONT)
            await until(
                seats,
                "worker",
                lambda v: [one.summary for one in v.needs_input] == ["rm -rf /"],
                timeout_s=40,
            )
            confirmed = [one for one in ground.read("answers.jsonl") if one["asked"] == "rm -rf /"]
            assert confirmed == []

    on_ground(story)


@pytest.mark.requirement("H-F7")
def test_a_dialog_is_reported_where_it_cannot_be_answered_and_says_so() -> None:
    async def story(ground: ConsoleGround) -> None:
        no = Claim(support=Support.UNSUPPORTED, note="Answer it at the console.")
        ground.consoles.capabilities = msgspec.structs.replace(ALL, permission_answer=no)
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("dialog ls")
            await until(seats, "worker", lambda v: v.status == "needs_input")
            (request,) = await seats.list_permissions()
            with pytest.raises(UsageError) as refused:
                await seats.answer_permission(request.id, AnswerPermission(decision="allow"))
            assert (refused.value.code, refused.value.hint) == (
                "unsupported_capability",
                "Answer it at the console.",
            )
            assert ground.read("keys.jsonl") == []

    on_ground(story)


@pytest.mark.requirement("DEC3")
def test_an_override_is_recorded_before_anything_is_typed() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("dialog stuck")
            await until(seats, "worker", lambda v: v.status == "needs_input")
            await send(seats, "typed all the same", override="the dialog takes free text")
            await came(lambda: ground.read("keys.jsonl"))
            async with open_store(ground.path / "log.db", read_only=True) as store:
                told = [
                    one.event
                    for one in store.events(limit=1000)
                    if isinstance(one.event, DeliveryQueued | DeliverySending)
                ]
            assert isinstance(told[0], DeliveryQueued)
            assert told[0].override == "the dialog takes free text"
            ground.order("undialog")

    on_ground(story)


@pytest.mark.requirement("L8", "L13")
@pytest.mark.parametrize("phase", ["typing", "working", "asking"])
def test_a_daemon_that_ends_in_the_middle_is_followed_by_one_that_goes_on_and_nothing_is_doubled(
    phase: str,
) -> None:
    async def story(ground: ConsoleGround) -> None:
        script = '[{"ask": "ls", "work_s": 0.2}]' if phase == "asking" else '[{"work_s": 2}]'
        (ground.state / "script.json").write_text(script)
        async with ground.seats() as seats:
            await start(ground, seats)
            sent = await send(seats, "carry on")
            if phase == "typing":
                await came(lambda: ground.read("keys.jsonl"))
            else:
                status = "running" if phase == "working" else "needs_input"
                await until(seats, "worker", lambda v: v.status == status)
        async with ground.seats() as seats:
            if phase == "asking":
                await until(seats, "worker", lambda v: v.status == "needs_input")
                (request,) = await seats.list_permissions()
                await seats.answer_permission(request.id, AnswerPermission(decision="allow"))
            done = await ended(seats, sent.id)
            assert done.turn_outcome is TurnOutcome.COMPLETED
            assert ground.submitted() == ["carry on"]
            assert met(ground) <= {"composer", "dialog"}
        async with open_store(ground.path / "log.db", read_only=True) as store:
            answers = [
                one.event for one in store.events(limit=1000) if isinstance(one.event, PermissionAnswered)
            ]
        assert len(answers) == (1 if phase == "asking" else 0)

    on_ground(story)


def test_a_harness_that_dies_before_the_text_was_submitted_leaves_the_prompt_in_the_queue() -> None:
    async def story(ground: ConsoleGround) -> None:
        typing = ground.consoles.typing
        assert typing is not None
        ground.consoles.typing = msgspec.structs.replace(typing, submit_delay_s=10.0)
        async with ground.seats() as seats:
            await start(ground, seats)
            sent = await send(seats, "never submitted")
            await came(lambda: ground.read("keys.jsonl"))
            os.kill(int((ground.state / "pid").read_text()), signal.SIGKILL)
            await until(seats, "worker", lambda v: v.launch is not None and v.launch.status == "ended")
            found = await seats.get_delivery(sent.id)
            assert (found.state, found.held) == (DeliveryState.HELD, HeldReason.HARNESS_EXITED)
            assert ground.submitted() == []

    on_ground(story)


def test_a_harness_that_dies_after_the_submission_leaves_the_prompt_unknown() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("slow 60")
            sent = await send(seats, "was it taken")
            await until(seats, "worker", lambda v: v.status == "running")
            os.kill(int((ground.state / "pid").read_text()), signal.SIGKILL)
            await until(seats, "worker", lambda v: v.launch is not None and v.launch.status == "ended")
            found = await seats.get_delivery(sent.id)
            assert found.state is DeliveryState.UNKNOWN

    on_ground(story)


@pytest.mark.requirement("L9")
def test_an_operator_s_keys_are_recorded_with_their_reason_and_pressed_whatever_is_seen() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("dialog stuck")
            await until(seats, "worker", lambda v: v.status == "needs_input")
            await seats.press_keys("worker", PressKeys(keys=("down", "down", "enter"), reason="it hangs"))
            await came(lambda: ground.read("answers.jsonl"))
            assert ground.read("answers.jsonl") == [{"asked": "stuck", "choice": "No"}]
            async with open_store(ground.path / "log.db", read_only=True) as store:
                told = [one.event for one in store.events(limit=1000) if isinstance(one.event, KeysPressed)]
            assert told == [KeysPressed(keys=("down", "down", "enter"), reason="it hangs")]

    on_ground(story)


def test_text_for_a_console_that_works_is_typed_at_once_only_where_the_console_takes_it() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            with pytest.raises(UsageError) as refused:
                await send(seats, "steer", now=True)
            assert refused.value.code == "unsupported_capability"

    on_ground(story)
