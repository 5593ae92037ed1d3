"""Hooks of a console, with real ptys, real holders and the real relay: witnesses, turn ends, identity, what is left."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from inspan.hooks.entries import command_line
from inspan.model.delivery import DeliveryState
from inspan.model.events import Envelope, SessionOpened, TurnEnded
from inspan.model.evidence import Source
from inspan.model.hooks import HookSettings, HooksHeard
from inspan.model.permission import NeedsInputKind
from inspan.model.session import Provenance
from inspan.model.turn import TurnOutcome
from inspan.model.turn_events import TurnCorrected
from inspan.model.views import AddSeat, SeatView, SendPrompt
from inspan.seats.core import Seats
from inspan.store import open_store
from support.console_ground import ConsoleGround, ended
from support.hook_ground import HOOKS, SESSION, SILENT_HOOKS, open_hook_ground
from support.seat_ground import until


def on_ground(story: Callable[[ConsoleGround], Awaitable[None]], hooks: HookSettings = HOOKS) -> None:
    """Runs a story on a fresh ground."""

    async def run() -> None:
        async with open_hook_ground(hooks) as ground:
            await story(ground)

    asyncio.run(run())


def is_free(view: SeatView) -> bool:
    return view.console is not None and view.console.can_type and not view.console.typing_block


async def start(ground: ConsoleGround, seats: Seats) -> None:
    await ground.add(seats)
    await seats.start_seat("worker")
    await until(seats, "worker", is_free, timeout_s=40)


async def send(seats: Seats, text: str) -> str:
    return (await seats.send_prompt("worker", SendPrompt(text=text))).id


async def came(is_there: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not is_there():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def events(ground: ConsoleGround) -> list[Envelope]:
    async with open_store(ground.path / "log.db", read_only=True) as store:
        return list(store.events(limit=100_000))


async def heard(seats: Seats) -> HooksHeard:
    console = (await seats.explain_seat("worker")).console
    assert console is not None
    assert console.hooks is not None
    return console.hooks


def environment_of(ground: ConsoleGround) -> dict[str, str]:
    """What the harness's relay finds."""
    pid = int((ground.state / "pid").read_text())
    return {key: value for key, value in psutil.Process(pid).environ().items() if key.startswith("INSPAN_")}


def relay(environment: dict[str, str], event: str, payload: bytes) -> subprocess.CompletedProcess[bytes]:
    """Runs the relay as a harness does, from outside it."""
    argv = ["/bin/sh", "-c", command_line(event)]
    return subprocess.run(argv, input=payload, env=environment, capture_output=True, timeout=30, check=False)


def said(**fields: Any) -> bytes:
    return json.dumps({"session_id": SESSION, **fields}).encode()


@pytest.mark.requirement("L8", "H-A26")
def test_the_harness_s_own_prompt_event_is_the_witness_that_a_prompt_was_started() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            text = "first line\n  second: ünïcode 🛠 e\u0301\tend"
            done = await ended(seats, await send(seats, text))
            assert (done.state, done.turn_outcome) == (DeliveryState.STARTED, TurnOutcome.COMPLETED)
            view = await seats.get_seat("worker")
            assert (view.session.id, view.session.provenance) == (SESSION, Provenance.HOOK)
            log = await events(ground)
            (end,) = [one for one in log if isinstance(one.event, TurnEnded)]
            assert (end.source, end.rule) == (Source.HOOK, "hook.Stop")
            started = [one for one in log if one.type == "delivery_started"]
            assert [one.source for one in started] == [Source.HOOK]
            # Each hook of the harness ended well and said nothing; the last of them may end after its turn did.
            await came(lambda: len(ground.read("ran.jsonl")) == 3)
            ran = ground.read("ran.jsonl")
            assert [one["event"] for one in ran] == ["SessionStart", "UserPromptSubmit", "Stop"]
            assert {(one["status"], one["said"]) for one in ran} == {(0, "")}

    on_ground(story)


@pytest.mark.parametrize(
    ("word", "outcome", "code"),
    [
        ("rate_limit", TurnOutcome.LIMITED, "limited"),
        ("authentication_failed", TurnOutcome.FAILED, "auth_required"),
        ("overloaded", TurnOutcome.FAILED, "call_failed"),
    ],
)
def test_a_turn_that_ends_in_an_error_ends_with_what_the_hook_says_of_it(
    word: str, outcome: TurnOutcome, code: str
) -> None:
    async def story(ground: ConsoleGround) -> None:
        (ground.state / "script.json").write_text(json.dumps([{"fail": word}]))
        async with ground.seats() as seats:
            await start(ground, seats)
            sent = await send(seats, "go on")
            done = await ended(seats, sent)
            assert (done.state, done.turn_outcome) == (DeliveryState.STARTED, outcome)
            (turn,) = await seats.list_turns("worker")
            assert turn.error is not None
            assert (turn.error.code, word in turn.error.message) == (code, True)

    on_ground(story)


def test_a_later_hook_corrects_an_end_that_was_only_seen() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("quiet Stop")
            await came(lambda: ground.read("done.jsonl"))
            sent = await send(seats, "go on")
            done = await ended(seats, sent)
            # Nothing told this very prompt, so that it stays unconfirmed.
            assert (done.state, done.turn_outcome) == (DeliveryState.RENDERED, TurnOutcome.COMPLETED)
            ground.order('hook StopFailure {"error": "rate_limit", "message": "too many"}')
            async with asyncio.timeout(20):
                while (await seats.get_delivery(sent)).turn_outcome is not TurnOutcome.LIMITED:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            (turn,) = await seats.list_turns("worker")
            assert (turn.outcome, turn.was) == (TurnOutcome.LIMITED, TurnOutcome.COMPLETED)
            assert turn.error is not None
            assert turn.error.code == "limited"
            corrections = [one for one in await events(ground) if isinstance(one.event, TurnCorrected)]
            assert [one.source for one in corrections] == [Source.HOOK]
            # The same again corrects nothing more.
            ground.order('hook StopFailure {"error": "other", "message": "again"}')
            await came(lambda: len(ground.read("done.jsonl")) == 3)
            assert len(await seats.list_turns("worker")) == 1
            assert (await seats.get_delivery(sent)).turn_outcome is TurnOutcome.LIMITED

    on_ground(story, SILENT_HOOKS)


@pytest.mark.requirement("H-C3")
def test_an_approval_hook_is_told_and_permits_no_key_and_a_busy_hook_is_not_safe_to_send() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("hook PermissionRequest {}")
            view = await until(seats, "worker", lambda v: v.status == "needs_input")
            assert view.console is not None
            assert [one.kind for one in view.needs_input] == [NeedsInputKind.PERMISSION]
            assert not view.console.is_drawn
            # No dialog is drawn, so that there is nothing to answer, and nothing is typed.
            assert await seats.list_permissions() == []
            sent = await send(seats, "not now")
            assert (await seats.get_delivery(sent)).state in (DeliveryState.HELD, DeliveryState.QUEUED)
            ground.order("dialog rm -r build", "hook PostToolUse {}")
            view = await until(
                seats,
                "worker",
                lambda v: v.console is not None and v.console.is_drawn and v.status == "needs_input",
            )
            assert ground.read("keys.jsonl") == []
            await seats.withdraw_delivery(sent)

    on_ground(story)


@pytest.mark.requirement("H-C10")
def test_an_old_word_that_it_is_idle_permits_nothing_while_work_is_shown() -> None:
    async def story(ground: ConsoleGround) -> None:
        ground.order("slow 6")
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("hook Stop {}", "quiet UserPromptSubmit", "quiet Stop")
            await came(lambda: [one for one in ground.read("done.jsonl") if one["order"] == "quiet Stop"])

            def is_told_to_be_free(view: SeatView) -> bool:
                return is_free(view) and view.activity.source is Source.HOOK

            await until(seats, "worker", is_told_to_be_free)
            await ground.press(seats, "typed by a person\r")

            def is_held_back(view: SeatView) -> bool:
                return view.console is not None and view.console.typing_block == "running"

            await until(seats, "worker", is_held_back, timeout_s=15)
            sent = await send(seats, "not yet")
            assert (await seats.get_delivery(sent)).state in (DeliveryState.QUEUED, DeliveryState.HELD)
            done = await ended(seats, sent)
            assert done.turn_outcome is TurnOutcome.COMPLETED
            assert [one["met"] for one in ground.read("prompts.jsonl")] == ["composer", "composer"]

    on_ground(story)


@pytest.mark.requirement("H-D4", "L7")
def test_a_nested_run_overwrites_neither_the_identity_nor_the_turn() -> None:
    async def story(ground: ConsoleGround) -> None:
        ground.order("slow 30")
        async with ground.seats() as seats:
            await start(ground, seats)
            sent = await send(seats, "work long")
            await until(seats, "worker", lambda v: v.in_flight is not None and v.in_flight.state == "started")
            other = json.dumps({"session_id": "another", "source": "startup"})
            # Another session in the seat's own environment, from the harness's place and from further below it.
            ground.order(f"hook SessionStart {other}", f"nest SessionStart {other}")
            ground.order('hook Stop {"session_id": "another"}', f'nest Stop {{"session_id": "{SESSION}"}}')
            await came(lambda: sum(one["event"] == "Stop" for one in ground.read("ran.jsonl")) == 2)
            view = await seats.get_seat("worker")
            assert view.session.id == SESSION
            assert view.in_flight is not None
            assert (await heard(seats)).dropped == {"other_session": 4}
            # Another session that the harness itself says took the place of this one is the seat's from then on.
            ground.order('hook SessionStart {"session_id": "after-clear", "source": "clear"}')
            await until(seats, "worker", lambda v: v.session.id == "after-clear")
            opened = [one.event for one in await events(ground) if isinstance(one.event, SessionOpened)]
            assert [one.reference.id for one in opened] == [SESSION, "after-clear"]
            await seats.cancel_turn("worker")
            assert (await ended(seats, sent)).turn_outcome is TurnOutcome.CANCELLED

    on_ground(story)


def test_what_a_helper_of_the_session_says_is_not_of_the_session() -> None:
    async def story(ground: ConsoleGround) -> None:
        ground.order("slow 30")
        async with ground.seats() as seats:
            await start(ground, seats)
            await send(seats, "work long")
            await until(seats, "worker", lambda v: v.in_flight is not None and v.in_flight.state == "started")
            ground.order('hook Stop {"agent_id": "helper-1"}')
            await came(lambda: [one for one in ground.read("ran.jsonl") if one["event"] == "Stop"])
            assert (await heard(seats)).dropped == {"helper": 1}
            assert (await seats.get_seat("worker")).in_flight is not None
            await seats.cancel_turn("worker")

    on_ground(story)


def test_events_of_another_launch_another_seat_without_a_token_or_malformed_count_for_nothing() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            right = environment_of(ground)
            assert set(right) == {"INSPAN_SEAT", "INSPAN_LAUNCH", "INSPAN_TOKEN", "INSPAN_HOOKS"}
            wrong = [
                {**right, "INSPAN_LAUNCH": "l_0000000000000000000"},
                {**right, "INSPAN_SEAT": "other"},
                {**right, "INSPAN_TOKEN": "x"},
                {key: value for key, value in right.items() if key != "INSPAN_TOKEN"},
            ]
            for environment in wrong:
                done = await asyncio.to_thread(relay, environment, "UserPromptSubmit", said(prompt="x"))
                assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
            for payload in (b"", b"not json", b"[1, 2]", b'{"a":' * 5000, b"\xff\xfe"):
                done = await asyncio.to_thread(relay, right, "UserPromptSubmit", payload)
                assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
            large = said(prompt="x", rest="y" * (11 * 1024 * 1024))
            done = await asyncio.to_thread(relay, right, "UserPromptSubmit", large)
            assert (done.returncode, done.stdout) == (0, b"")
            assert (await asyncio.to_thread(relay, right, "Unheard", said())).returncode == 0
            reader, writer = await asyncio.open_unix_connection(Path(right["INSPAN_HOOKS"]) / "hooks.sock")
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert await reader.read() in (b"", b"+")
            writer.close()
            got = await heard(seats)
            assert got.dropped == {
                "other_launch": 1,
                "no_token": 3,
                "not_json": 5,
                "too_large": 1,
                "unknown_event": 1,
                "malformed": 1,
            }
            assert got.heard == 1, "the one of its start"
            assert is_free(await seats.get_seat("worker"))
            # One that is just small enough is read.
            large = said(prompt="x", rest="y" * (10 * 1024 * 1024 - 200))
            await asyncio.to_thread(relay, right, "PostToolUse", large)
            assert (await heard(seats)).heard == 2
            socket = Path(right["INSPAN_HOOKS"]) / "hooks.sock"
            assert socket.stat().st_mode & 0o777 == 0o600
            assert socket.parent.stat().st_mode & 0o777 == 0o700

    on_ground(story)


def test_a_flood_is_taken_and_the_seat_still_answers() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            await start(ground, seats)
            right = environment_of(ground)
            count = 60

            async def one(number: int) -> None:
                path = Path(right["INSPAN_HOOKS"]) / "hooks.sock"
                reader, writer = await asyncio.open_unix_connection(path)
                body = said(tool=number)
                fields = [
                    "inspan-hook/1",
                    right["INSPAN_LAUNCH"],
                    "worker",
                    right["INSPAN_TOKEN"],
                    "PostToolUse",
                ]
                head = [*fields, str(10**18 + number), "0", str(number), str(len(body))]
                writer.write("\0".join(head).encode() + b"\n" + body)
                assert await reader.read() == b"+"
                writer.close()

            await asyncio.gather(*(one(number) for number in range(count)))
            await asyncio.gather(*(one(number) for number in range(count - 10, count)))
            got = await heard(seats)
            assert got.heard == count + 1
            assert got.dropped == {"seen_before": 10}

    on_ground(story)


@pytest.mark.requirement("H-C10", "H-C16")
def test_what_happened_while_no_daemon_ran_is_taken_in_order_and_once() -> None:
    async def story(ground: ConsoleGround) -> None:
        ground.order("slow 1.5")
        async with ground.seats() as seats:
            await start(ground, seats)
            sent = await send(seats, "while I am away")
            await until(seats, "worker", lambda v: v.in_flight is not None and v.in_flight.state == "started")
            right = environment_of(ground)
        spool = Path(right["INSPAN_HOOKS"]) / "hooks.spool"
        assert not (spool.parent / "hooks.sock").exists()
        await came(lambda: [one for one in ground.read("ran.jsonl") if one["event"] == "Stop"])
        assert right["INSPAN_TOKEN"].encode() not in spool.read_bytes()
        async with ground.seats() as seats:
            done = await ended(seats, sent)
            assert (done.state, done.turn_outcome) == (DeliveryState.STARTED, TurnOutcome.COMPLETED)
            await came(lambda: not spool.exists() or not spool.stat().st_size)
        (end,) = [one for one in await events(ground) if isinstance(one.event, TurnEnded)]
        assert end.source is Source.HOOK
        # A claim that was taken is as durable as the log: a daemon that comes back believes it still.
        async with ground.seats() as seats:
            view = await until(seats, "worker", is_free, timeout_s=40)
            assert view.activity.source is Source.HOOK
            assert (await seats.get_delivery(sent)).state is DeliveryState.STARTED

    on_ground(story)


def test_what_was_left_counts_though_the_harness_has_ended_meanwhile() -> None:
    async def story(ground: ConsoleGround) -> None:
        ground.order("slow 1")
        async with ground.seats() as seats:
            await start(ground, seats)
            ground.order("quiet UserPromptSubmit")
            await came(lambda: len(ground.read("done.jsonl")) == 2)
            await send(seats, "go")
            await until(
                seats, "worker", lambda v: v.in_flight is not None and v.in_flight.state == "rendered"
            )
        ground.order('hook SessionStart {"session_id": "the-last", "source": "clear"}')
        await came(lambda: sum(one["event"] == "SessionStart" for one in ground.read("ran.jsonl")) == 2)
        os.kill(int((ground.state / "pid").read_text()), 9)
        async with ground.seats() as seats:
            await until(
                seats,
                "worker",
                lambda v: v.status == "stopped" or v.launch is None or v.launch.status == "ended",
            )
            view = await seats.get_seat("worker")
            assert view.session.id == "the-last"

    on_ground(story)


@pytest.mark.requirement("H-G6")
def test_a_seat_can_do_without_hooks() -> None:
    async def story(ground: ConsoleGround) -> None:
        async with ground.seats() as seats:
            request = AddSeat(
                name="worker",
                harness="made-up",
                workspace=str(ground.workspace),
                environment={"INSPAN_NO_HOOKS": "1"},
            )
            await seats.add_seat(request)
            await seats.start_seat("worker")
            await until(seats, "worker", is_free, timeout_s=40)
            done = await ended(seats, await send(seats, "go on"))
            assert done.state is DeliveryState.RENDERED
            assert ground.read("ran.jsonl") == []
            assert environment_of(ground).keys() & {"INSPAN_HOOKS", "INSPAN_TOKEN"} == set()

    on_ground(story)
