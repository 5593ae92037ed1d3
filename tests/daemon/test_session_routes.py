"""Sessions and questions over HTTP and through the library."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from inspan.model.errors import UsageError
from inspan.model.question import QuestionAction
from inspan.model.session_views import AnswerQuestion, QuestionView
from support.fake_daemon import DEADLINE_S, open_fake, workspace
from support.fake_service import HARNESS

QUESTION = QuestionView(id="q_1", seat="a", message="Which?", opened_at=datetime(2026, 11, 30, tzinfo=UTC))


def run(test: Any) -> None:
    asyncio.run(asyncio.wait_for(test, DEADLINE_S))


def test_a_conversation_is_forked_set_up_and_listed(throwaway_home: Path) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            client = fake.client
            await client.add_seat("a", harness=HARNESS, workspace=workspace(throwaway_home))
            assert (await client.fork_seat("a", "b")).name == "b"
            assert [seat.name for seat in await client.list_seats()] == ["a", "b"]
            await client.configure_seat("a", session_mode="plan", model="m", options={"x": "1"}, reset=True)
            (wanted,) = fake.service.configured
            assert (wanted.session_mode, wanted.model, wanted.options, wanted.reset) == (
                "plan",
                "m",
                {"x": "1"},
                True,
            )
            page = await client.list_sessions("a", page="7", workspace="/v")
            assert (page.sessions[0].id, page.sessions[0].workspace) == ("after 7", "/v")
            deleted = await client.delete_session("a", "agent/one two")
            assert deleted.session == "agent/one two"
            assert (await client.start_seat("a", session="s")).launch is not None

    run(test())


def test_a_question_is_answered_once(throwaway_home: Path) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            client = fake.client
            await client.add_seat("a", harness=HARNESS, workspace=workspace(throwaway_home))
            fake.service.questions.append(QUESTION)
            assert await client.list_questions(seat="a") == [QUESTION]
            assert await client.list_questions(seat="b") == []
            assert await client.get_question("q_1") == QUESTION
            answer = AnswerQuestion(action="accept", fields={"x": 1})
            answered = await client.answer_question("q_1", answer)
            assert (answered.action, answered.content) == (QuestionAction.ACCEPT, {"x": 1})
            with pytest.raises(UsageError) as again:
                await client.answer_question("q_1", answer)
            assert again.value.code == "unknown_question"

    run(test())


def test_a_wrong_request_names_the_place(throwaway_home: Path) -> None:
    async def test() -> None:
        async with open_fake() as fake:
            for path, body in (
                ("/v1/seats/a/settings", {"options": {"x": 1}}),
                ("/v1/seats/a/fork", {}),
                ("/v1/questions/q_1/answer", {"action": "maybe"}),
                ("/v1/seats/a/sessions/delete", {"session": "x", "more": 1}),
            ):
                response = await fake.http.post(path, json=body)
                assert response.status_code == 400, path
                assert response.json()["error"]["detail"]["problems"], path

    run(test())
