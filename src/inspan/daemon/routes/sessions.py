"""Sessions: forks, settings of the open one, the harness's own list, and questions that a harness asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from litestar import get, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from inspan.daemon.services import SeatName, Seats
from inspan.model.session_views import (
    AnswerQuestion,
    ConfigureSeat,
    DeletedSession,
    DeleteSession,
    ForkSeat,
    QuestionView,
    SessionsView,
)
from inspan.model.views import SeatView

__all__ = ["SESSION_ROUTES"]

QuestionId = Annotated[str, PathParameter(description="The question's id.")]


@post(
    "/v1/seats/{name:str}/fork",
    operation_id="fork_seat",
    tags=["sessions"],
    summary="Fork a seat's conversation",
    status_code=201,
)
async def fork_seat(seats: Seats, name: SeatName, data: JSONBody[ForkSeat]) -> SeatView:
    """Makes a seat like this one. Its first launch begins with a fork of this one's conversation."""
    return await seats.fork_seat(name, data)


@post(
    "/v1/seats/{name:str}/settings",
    operation_id="configure_seat",
    tags=["sessions"],
    summary="Set a mode, a model or options",
    status_code=200,
)
async def configure_seat(seats: Seats, name: SeatName, data: JSONBody[ConfigureSeat]) -> SeatView:
    """Asks for settings of the open session. What is in force afterwards is what the harness says itself."""
    return await seats.configure_seat(name, data)


@get(
    "/v1/seats/{name:str}/sessions",
    operation_id="list_sessions",
    tags=["sessions"],
    summary="List the harness's sessions",
)
async def list_sessions(
    seats: Seats,
    name: SeatName,
    page: Annotated[str | None, QueryParameter(description="The page, as the one before named it.")] = None,
    workspace: Annotated[
        str | None, QueryParameter(description="Only those of this folder, where the harness heeds that.")
    ] = None,
) -> SessionsView:
    """A page of the sessions that the seat's running harness keeps."""
    return await seats.list_sessions(name, page=page, workspace=workspace)


@post(
    "/v1/seats/{name:str}/sessions/delete",
    operation_id="delete_session",
    tags=["sessions"],
    summary="Delete a session",
    status_code=200,
)
async def delete_session(seats: Seats, name: SeatName, data: JSONBody[DeleteSession]) -> DeletedSession:
    """Has the seat's running harness delete a session that no seat holds on to."""
    return await seats.delete_session(name, data)


@get("/v1/questions", operation_id="list_questions", tags=["questions"], summary="List questions")
async def list_questions(
    seats: Seats,
    seat: Annotated[str | None, QueryParameter(description="Only those of this seat.")] = None,
) -> Sequence[QuestionView]:
    """The open questions, the oldest first."""
    return await seats.list_questions(seat=seat)


@get(
    "/v1/questions/{question_id:str}",
    operation_id="get_question",
    tags=["questions"],
    summary="Show a question",
)
async def get_question(seats: Seats, question_id: QuestionId) -> QuestionView:
    """One open question, with its form."""
    return await seats.get_question(question_id)


@post(
    "/v1/questions/{question_id:str}/answer",
    operation_id="answer_question",
    tags=["questions"],
    summary="Answer a question",
    status_code=200,
)
async def answer_question(
    seats: Seats, question_id: QuestionId, data: JSONBody[AnswerQuestion]
) -> QuestionView:
    """Fills the form of an open question in, or declines it, once."""
    return await seats.answer_question(question_id, data)


SESSION_ROUTES = (
    fork_seat,
    configure_seat,
    list_sessions,
    delete_session,
    list_questions,
    get_question,
    answer_question,
)
"""The routes of this module."""
