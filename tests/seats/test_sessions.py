"""Whole seats and their sessions: forks, settings, lists, chosen sessions, forms, retries."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from inspan.model.capability import Capabilities, Claim, Support
from inspan.model.content import MessageChunk
from inspan.model.errors import HarnessError, InspanError, PluginError, UsageError
from inspan.model.manifest import AcpSettings
from inspan.model.permission import AnsweredBy, NeedsInputKind
from inspan.model.posture import Posture, Unattended
from inspan.model.retrying import RetryNotification
from inspan.model.session import Provenance, ResumeOutcome
from inspan.model.session_events import QuestionAnswered
from inspan.model.session_views import AnswerQuestion, ConfigureSeat, DeleteSession, ForkSeat
from inspan.model.turn import TurnOutcome
from inspan.model.views import AddSeat, SeatView, SendPrompt
from inspan.seats import session_calls
from inspan.seats.core import Seats
from inspan.store import open_store
from support.seat_ground import Ground, finished, open_ground, until
from support.seat_scene import ALL, claims

AGENT = Path(__file__).parents[1] / "support" / "scripted_sessions.py"

Story = Callable[[Ground, Seats], Awaitable[None]]


def play(story: Story, *, capabilities: Capabilities = ALL, script: dict[str, Any] | None = None) -> None:
    """Runs a story on a fresh ground with the scripted harness of many sessions."""

    async def run() -> None:
        async with open_ground(capabilities) as ground:
            ground.harnesses.agent = AGENT
            if script is not None:
                (ground.state / "script.json").write_text(json.dumps(script))
            async with ground.seats() as seats:
                await ground.add(seats)
                await story(ground, seats)

    asyncio.run(run())


def calls(ground: Ground, method: str) -> list[dict[str, Any]]:
    lines = (ground.state / "calls.jsonl").read_text().splitlines()
    return [one["params"] for one in map(json.loads, lines) if one["method"] == method]


async def idle(seats: Seats, name: str = "worker") -> SeatView:
    await seats.start_seat(name)
    return await until(seats, name, lambda view: view.status == "idle")


def session_of(view: SeatView) -> str:
    assert view.session.id is not None
    return view.session.id


# Forks


def test_a_fork_is_a_seat_with_a_conversation_of_its_own_and_the_parent_keeps_its_own() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        parent = session_of(await idle(seats))
        made = await seats.fork_seat("worker", ForkSeat(name="branch"))
        assert (made.status, made.session.id, made.session.forks) == ("stopped", None, "worker")

        forked = await finished(seats, "branch", "hello")

        assert forked.launch is not None
        assert forked.launch.attempt == "fork"
        assert session_of(forked) != parent
        assert forked.session.provenance is Provenance.REPORTED
        assert [one["sessionId"] for one in calls(ground, "session/fork")] == [parent]
        assert session_of(await seats.get_seat("worker")) == parent
        await seats.stop_seat("branch")
        await until(seats, "branch", lambda view: view.status == "stopped")
        resumed = await idle(seats, "branch")
        assert resumed.launch is not None
        assert (resumed.launch.attempt, session_of(resumed)) == ("resume", session_of(forked))

    play(story)


@pytest.mark.requirement("H-N2")
@pytest.mark.parametrize("support", [Support.UNSUPPORTED, Support.UNKNOWN])
def test_a_mode_that_is_not_known_to_fork_refuses_and_makes_no_seat(support: Support) -> None:
    async def story(_: Ground, seats: Seats) -> None:
        await idle(seats)
        with pytest.raises(PluginError) as refusal:
            await seats.fork_seat("worker", ForkSeat(name="branch"))
        assert refusal.value.code == "unsupported_capability"
        assert [seat.name for seat in await seats.list_seats()] == ["worker"]

    play(story, capabilities=claims(fork=Claim(support=support)))


def test_a_seat_without_a_conversation_cannot_be_forked() -> None:
    async def story(_: Ground, seats: Seats) -> None:
        with pytest.raises(UsageError) as refusal:
            await seats.fork_seat("worker", ForkSeat(name="branch"))
        assert refusal.value.code == "session_missing"

    play(story)


@pytest.mark.requirement("H-D16")
@pytest.mark.parametrize(
    ("script", "code"),
    [({"offers": ["resume"]}, "unsupported_capability"), ({"fork_same": True}, "protocol_fault")],
)
def test_a_fork_that_fails_stays_with_its_seat_and_never_captures_the_parent(
    script: dict[str, Any], code: str
) -> None:
    async def story(_: Ground, seats: Seats) -> None:
        parent = session_of(await idle(seats))
        await seats.fork_seat("worker", ForkSeat(name="branch"))
        await seats.send_prompt("branch", SendPrompt(text="hello"))
        failed = await until(seats, "branch", lambda view: view.status == "held")

        assert failed.session.id is None
        assert failed.launch is not None
        assert failed.launch.error is not None
        assert failed.launch.error.code == code
        await seats.send_prompt("branch", SendPrompt(text="again"))
        waiting = await seats.get_seat("branch")
        assert waiting.status == "held"  # never a silent fresh start in the place of the fork
        assert session_of(await seats.get_seat("worker")) == parent
        assert (await seats.get_seat("worker")).status == "idle"

    play(story, script=script)


# Settings


@pytest.mark.requirement("H-A45", "H-N48", "H-A22", "H-A43")
def test_a_model_that_was_asked_for_is_in_force_once_the_harness_shows_it() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        before = await idle(seats)
        assert before.session.config == {"model": "small", "fast": False}

        after = await seats.configure_seat(
            "worker", ConfigureSeat(model="large", session_mode="plan", options={"fast": "true"})
        )

        assert {one.name: (one.wanted, one.effective, one.status) for one in after.session.settings} == {
            "model": ("large", "large", "effective"),
            "session mode": ("plan", "plan", "effective"),
            "fast": ("true", "true", "effective"),
        }
        values = {one["configId"]: one["value"] for one in calls(ground, "session/set_config_option")}
        assert values == {"model": "large", "fast": True}

    play(story)


@pytest.mark.requirement("H-C11", "H-N48")
def test_what_the_harness_accepts_without_showing_it_is_unknown() -> None:
    async def story(_: Ground, seats: Seats) -> None:
        await idle(seats)

        view = await seats.configure_seat("worker", ConfigureSeat(session_mode="plan"))

        (setting,) = view.session.settings
        assert (setting.status, setting.effective, view.session.mode) == ("accepted", None, None)
        explained = await seats.explain_seat("worker")
        assert any("did not say what is in force" in note for note in explained.notes)
        await seats.configure_seat("worker", ConfigureSeat(options={"model": "hidden"}))
        view = await seats.get_seat("worker")
        assert [one.effective for one in view.session.settings] == [None, None]

    play(story, script={"hide": ["plan", "hidden"]})


def test_a_mode_that_the_harness_leaves_by_itself_is_shown_as_another_than_was_asked_for() -> None:
    async def story(_: Ground, seats: Seats) -> None:
        await idle(seats)
        await seats.configure_seat("worker", ConfigureSeat(session_mode="plan"))

        view = await finished(seats, "worker", "mode ask")

        (setting,) = view.session.settings
        assert (setting.status, setting.wanted, setting.effective) == ("differs", "plan", "ask")

    play(story)


@pytest.mark.parametrize(
    ("wanted", "code", "offered"),
    [
        (ConfigureSeat(session_mode="yolo"), "option_unknown", "ask, plan"),
        (ConfigureSeat(options={"speed": "9"}), "option_unknown", "model, fast"),
        (ConfigureSeat(options={"model": "huge"}), "option_unknown", "small, large"),
        (ConfigureSeat(model="huge"), "option_unknown", "small, large"),
        (ConfigureSeat(options={"fast": "maybe"}), "option_unknown", "true, false"),
    ],
)
def test_what_the_session_does_not_offer_is_refused_with_what_it_offers(
    wanted: ConfigureSeat, code: str, offered: str
) -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        await idle(seats)
        with pytest.raises(InspanError) as refusal:
            await seats.configure_seat("worker", wanted)
        assert refusal.value.code == code
        assert offered in refusal.value.hint
        assert calls(ground, "session/set_config_option") == []

    play(story)


def test_a_setting_that_the_harness_refuses_keeps_its_error_and_the_seat_works_on() -> None:
    async def story(_: Ground, seats: Seats) -> None:
        await idle(seats)
        view = await seats.configure_seat("worker", ConfigureSeat(model="broken"))
        (setting,) = view.session.settings
        assert (setting.status, setting.effective) == ("refused", "small")
        assert setting.error is not None
        assert setting.error.message == "that model is broken"
        after = await finished(seats, "worker", "hello")
        assert after.last_turn is not None
        assert after.last_turn.outcome is TurnOutcome.COMPLETED

    play(story)


@pytest.mark.requirement("H-A43")
def test_a_session_without_modes_and_options_says_when_a_new_one_is_needed() -> None:
    async def story(_: Ground, seats: Seats) -> None:
        await idle(seats)
        with pytest.raises(PluginError) as model:
            await seats.configure_seat("worker", ConfigureSeat(model="large"))
        assert (model.value.code, "--model" in model.value.hint) == ("unsupported_capability", True)
        for wanted in (ConfigureSeat(session_mode="plan"), ConfigureSeat(options={"x": "1"})):
            with pytest.raises(UsageError) as refusal:
                await seats.configure_seat("worker", wanted)
            assert (refusal.value.code, "at all" in refusal.value.hint) == ("option_unknown", True)

    play(story, script={"plain": True})


def test_a_seat_that_does_not_run_has_no_settings_to_change() -> None:
    async def story(_: Ground, seats: Seats) -> None:
        with pytest.raises(UsageError) as refusal:
            await seats.configure_seat("worker", ConfigureSeat(session_mode="plan"))
        assert refusal.value.code == "seat_not_running"

    play(story)


def test_what_was_asked_for_is_set_again_before_the_next_launch_is_ready_until_it_is_forgotten() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        await idle(seats)
        await seats.configure_seat("worker", ConfigureSeat(model="large"))
        await seats.stop_seat("worker")
        await until(seats, "worker", lambda view: view.status == "stopped")

        view = await idle(seats)

        assert [one.status for one in view.session.settings] == ["effective"]
        assert len(calls(ground, "session/set_config_option")) == 2
        view = await seats.configure_seat("worker", ConfigureSeat(reset=True))
        assert view.session.settings == ()
        await seats.stop_seat("worker")
        await until(seats, "worker", lambda view: view.status == "stopped")
        await idle(seats)
        assert len(calls(ground, "session/set_config_option")) == 2

    play(story)


# Lists, deletion, closing


@pytest.mark.requirement("H-B31")
def test_sessions_are_listed_page_by_page_and_deleted() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        own = session_of(await idle(seats))
        for number in (1, 2):
            (ground.state / f"s-0-{number}").write_text("/elsewhere")
        first = await seats.list_sessions("worker")
        assert (len(first.sessions), first.next_page) == (2, "2")
        second = await seats.list_sessions("worker", page=first.next_page)
        listed = {one.id: one.workspace for one in (*first.sessions, *second.sessions)}
        assert listed == {"s-0-1": "/elsewhere", "s-0-2": "/elsewhere", own: str(ground.workspace)}
        here = await seats.list_sessions("worker", workspace=str(ground.workspace))
        assert [one.id for one in here.sessions] == [own]

        deleted = await seats.delete_session("worker", DeleteSession(session="s-0-1"))

        assert deleted.session == "s-0-1"
        assert not (ground.state / "s-0-1").exists()
        with pytest.raises(HarnessError) as unknown:
            await seats.delete_session("worker", DeleteSession(session="s-0-1"))
        assert "no session s-0-1" in unknown.value.message
        with pytest.raises(UsageError) as open_one:
            await seats.delete_session("worker", DeleteSession(session=own))
        assert open_one.value.code == "session_in_use"

    play(story, script={"page": 2})


def test_a_session_that_another_seat_holds_on_to_is_not_deleted() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        await idle(seats)
        await ground.add(seats, "other")
        held = session_of(await idle(seats, "other"))
        with pytest.raises(UsageError) as refusal:
            await seats.delete_session("worker", DeleteSession(session=held))
        assert refusal.value.code == "session_in_use"

    play(story)


def test_a_harness_that_does_not_list_or_delete_says_so_and_one_that_does_not_run_is_named() -> None:
    async def story(_: Ground, seats: Seats) -> None:
        with pytest.raises(UsageError) as stopped:
            await seats.list_sessions("worker")
        assert stopped.value.code == "seat_not_running"
        await idle(seats)
        for call in (
            seats.list_sessions("worker"),
            seats.delete_session("worker", DeleteSession(session="x")),
        ):
            with pytest.raises(PluginError) as refusal:
                await call
            assert refusal.value.code == "unsupported_capability"

    play(story, script={"offers": ["resume"]})


def test_a_list_that_is_never_answered_is_given_up_and_the_harness_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session_calls, "_CALL_TIMEOUT_S", 0.1)

    async def story(ground: Ground, seats: Seats) -> None:
        await idle(seats)
        with pytest.raises(HarnessError) as late:
            await seats.list_sessions("worker")
        assert late.value.code == "call_timeout"
        async with asyncio.timeout(10):
            while not calls(ground, "$/cancel_request"):  # noqa: ASYNC110 - another process's file
                await asyncio.sleep(0.01)
        after = await finished(seats, "worker", "hello")
        assert after.status == "idle"

    play(story, script={"mute": ["session/list"]})


@pytest.mark.parametrize("script", [{}, {"mute": ["session/close"]}])
def test_a_clean_stop_closes_the_session_where_offered_and_never_waits_long(script: dict[str, Any]) -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        own = session_of(await idle(seats))
        await seats.stop_seat("worker")
        view = await until(seats, "worker", lambda view: view.status == "stopped")

        assert [one["sessionId"] for one in calls(ground, "session/close")] == [own]
        assert view.launch is not None
        assert (view.launch.reason, session_of(view)) == ("stopped", own)
        assert (await idle(seats)).session.resume_outcome is ResumeOutcome.RESUMED

    play(story, script=script)


# Chosen sessions


def test_a_chosen_session_becomes_the_seat_s_own_once_it_is_open() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        (ground.state / "s-0-1").write_text(str(ground.workspace))
        await seats.start_seat("worker", session="s-0-1")
        view = await until(seats, "worker", lambda view: view.status == "idle")

        assert (session_of(view), view.session.provenance) == ("s-0-1", Provenance.CHOSEN)
        assert view.session.resume_outcome is ResumeOutcome.RESUMED

    play(story)


@pytest.mark.requirement("H-N25", "H-D13")
def test_a_chosen_session_of_another_workspace_is_refused_and_the_seat_keeps_its_own() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        own = session_of(await idle(seats))
        await seats.stop_seat("worker")
        await until(seats, "worker", lambda view: view.status == "stopped")
        (ground.state / "s-0-1").write_text("/elsewhere")
        await seats.start_seat("worker", session="s-0-1")
        view = await until(seats, "worker", lambda view: view.status == "failed")

        assert view.launch is not None
        assert view.launch.error is not None
        assert view.launch.error.code == "session_of_other_workspace"
        assert view.session.resume_outcome is ResumeOutcome.REFUSED
        assert session_of(view) == own
        assert len(calls(ground, "session/resume")) == 0

    play(story)


@pytest.mark.requirement("H-N25", "H-D13", "L7")
def test_a_session_that_is_active_in_another_seat_is_refused() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        own = session_of(await idle(seats))
        await ground.add(seats, "other")
        with pytest.raises(UsageError) as refusal:
            await seats.start_seat("other", session=own)
        assert refusal.value.code == "session_in_use"
        assert (await seats.get_seat("other")).launch is None

        await seats.stop_seat("worker")
        await until(seats, "worker", lambda view: view.status == "stopped")
        await seats.start_seat("other", session=own)
        await until(seats, "other", lambda view: view.status == "idle")
        await seats.send_prompt("worker", SendPrompt(text="hello"))
        view = await until(seats, "worker", lambda view: view.status == "held")
        assert view.launch is not None
        assert view.launch.error is not None
        assert view.launch.error.code == "session_in_use"

    play(story)


@pytest.mark.requirement("H-D19")
def test_an_unknown_session_is_missing_and_nothing_is_begun_in_its_place() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        await seats.start_seat("worker", session="s-9-9")
        view = await until(seats, "worker", lambda view: view.status == "failed")

        assert view.session.resume_outcome is ResumeOutcome.MISSING
        assert view.session.id is None
        await seats.send_prompt("worker", SendPrompt(text="hello"))
        assert (await seats.get_seat("worker")).status == "held"
        assert calls(ground, "session/new") == []
        with pytest.raises(UsageError):
            await seats.start_seat("worker", session="", fresh=False)
        with pytest.raises(UsageError):
            await seats.start_seat("worker", session="s-9-9", fresh=True)

    play(story)


def test_a_seat_that_runs_stays_with_its_conversation() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        (ground.state / "s-0-1").write_text(str(ground.workspace))
        await idle(seats)
        with pytest.raises(UsageError) as refusal:
            await seats.start_seat("worker", session="s-0-1")
        assert refusal.value.code == "seat_running"

    play(story)


# Forms


async def said(ground: Ground) -> list[str]:
    async with open_store(ground.path / "log.db") as store:
        return [e.event.text for e in store.events(limit=100_000) if isinstance(e.event, MessageChunk)]


def test_a_form_waits_for_a_person_and_its_answer_reaches_the_harness() -> None:
    async def story(_: Ground, seats: Seats) -> None:
        await seats.send_prompt("worker", SendPrompt(text="form"))
        view = await until(seats, "worker", lambda view: view.status == "needs_input")
        (need,) = view.needs_input
        assert (need.kind, need.summary) == (NeedsInputKind.QUESTION, "Which branch?")
        assert (view.activity.value, view.activity.rule) == ("waiting", "question.open")
        (question,) = await seats.list_questions(seat="worker")
        assert question.id == need.request
        for fields, fault in (
            ({"branch": "other"}, "main, next"),
            ({"nope": "1"}, "branch, count"),
            ({"count": "2"}, "one of: main, next"),
            ({"branch": "main", "count": "2.5"}, "integer"),
        ):
            with pytest.raises(UsageError) as refusal:
                await seats.answer_question(question.id, AnswerQuestion(action="accept", fields=fields))
            assert (refusal.value.code, fault in refusal.value.hint) == ("answer_invalid", True)
        with pytest.raises(UsageError) as stranger:
            await seats.answer_question(question.id, AnswerQuestion(action="decline", seat="other"))
        assert stranger.value.code == "question_of_other_seat"

        answered = await seats.answer_question(
            question.id, AnswerQuestion(action="accept", fields={"branch": "next", "count": "2"})
        )

        assert answered.content == {"branch": "next", "count": 2}
        done = await until(seats, "worker", lambda view: view.last_turn is not None)
        assert done.last_turn is not None
        assert done.last_turn.outcome is TurnOutcome.COMPLETED
        with pytest.raises(UsageError) as closed:
            await seats.answer_question(question.id, AnswerQuestion(action="decline"))
        assert closed.value.code == "unknown_question"

    async def run() -> None:
        async with open_ground() as ground:
            ground.harnesses.agent = AGENT
            async with ground.seats() as seats:
                await ground.add(seats)
                await story(ground, seats)
            answer = {"action": "accept", "content": {"branch": "next", "count": 2}}
            assert [json.loads(one) for one in await said(ground)] == [answer]

    asyncio.run(run())


@pytest.mark.parametrize("unattended", [Unattended.REJECT, Unattended.ALLOW_ONCE, Unattended.ALLOW_ALWAYS])
def test_a_posture_that_leaves_nothing_to_a_person_declines_forms_and_the_log_says_so(
    unattended: Unattended,
) -> None:
    async def run() -> None:
        async with open_ground() as ground:
            ground.harnesses.agent = AGENT
            async with ground.seats() as seats:
                await ground.add(seats, posture=Posture(unattended=unattended))
                await finished(seats, "worker", "form")
            async with open_store(ground.path / "log.db") as store:
                (answer,) = [
                    e.event for e in store.events(limit=1000) if isinstance(e.event, QuestionAnswered)
                ]
            assert (answer.action, answer.by) == ("decline", AnsweredBy.POSTURE)
            assert [json.loads(one) for one in await said(ground)] == [{"action": "decline"}]

    asyncio.run(run())


def test_a_form_expires_and_a_cancel_cancels_it() -> None:
    async def run() -> None:
        async with open_ground() as ground:
            ground.harnesses.agent = AGENT
            async with ground.seats() as seats:
                await ground.add(seats, posture=Posture(permission_timeout_s=0.1))
                await finished(seats, "worker", "form")
                await seats.add_seat(
                    AddSeat(name="other", harness="made-up", workspace=str(ground.workspace))
                )
                await seats.send_prompt("other", SendPrompt(text="form"))
                await until(seats, "other", lambda view: view.status == "needs_input")
                await seats.cancel_turn("other")
                view = await until(seats, "other", lambda view: view.last_turn is not None)
                assert view.last_turn is not None
                assert view.last_turn.outcome is TurnOutcome.CANCELLED
            assert [json.loads(one)["action"] for one in await said(ground)] == ["decline", "cancel"]

    asyncio.run(run())


def test_a_form_outlives_the_daemon_and_ends_with_the_harness() -> None:
    async def run() -> None:
        async with open_ground() as ground:
            ground.harnesses.agent = AGENT
            async with ground.seats() as seats:
                await ground.add(seats)
                await seats.send_prompt("worker", SendPrompt(text="form"))
                await until(seats, "worker", lambda view: view.status == "needs_input")
            async with ground.seats() as seats:
                (question,) = await seats.list_questions()
                await seats.answer_question(question.id, AnswerQuestion(action="decline"))
                await until(seats, "worker", lambda view: view.last_turn is not None)
                await seats.send_prompt("worker", SendPrompt(text="form"))
                await until(seats, "worker", lambda view: view.status == "needs_input")
                await seats.stop_seat("worker")
                view = await until(seats, "worker", lambda view: view.status == "stopped")
                assert view.needs_input == ()
                assert await seats.list_questions() == []

    asyncio.run(run())


# Retries


def test_an_announced_retry_is_shown_until_the_turn_ends() -> None:
    async def story(ground: Ground, seats: Seats) -> None:
        await seats.send_prompt("worker", SendPrompt(text="retry"))
        view = await until(seats, "worker", lambda view: "try again" in view.activity.why)
        assert view.status == "running"
        await seats.cancel_turn("worker")
        view = await until(seats, "worker", lambda view: view.last_turn is not None)
        assert "try again" not in view.activity.why

    async def run() -> None:
        async with open_ground() as ground:
            ground.harnesses.agent = AGENT
            rule = RetryNotification(method="_x/retrying", reason=("category", "detail"), delay_ms="ms")
            ground.harnesses.acp = AcpSettings(retry_notifications=(rule,))
            async with ground.seats() as seats:
                await ground.add(seats)
                await story(ground, seats)

    asyncio.run(run())
