"""Events: the log as a list, and as a stream that does not end."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

from litestar import get
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import HeaderParameter, QueryParameter
from litestar.types import ASGIApp

from inspan.daemon.redaction import without_secrets
from inspan.daemon.services import Services, With
from inspan.daemon.stream import EventStream
from inspan.model.errors import UsageError
from inspan.model.events import EVENT_VERSIONS, Envelope

__all__ = ["EVENT_ROUTES"]


@get("/v1/events", operation_id="list_events", tags=["events"], summary="List events")
async def list_events(
    services: With,
    after: Annotated[int, QueryParameter(ge=0, description="Begin behind this position.")] = 0,
    seat: Annotated[str | None, QueryParameter(description="Only events of this seat.")] = None,
    types: Annotated[
        str | None, QueryParameter(description="Only events of these types, with commas between them.")
    ] = None,
    limit: Annotated[
        int, QueryParameter(ge=1, le=1000, description="At most this many, the oldest ones.")
    ] = 1000,
) -> list[Envelope]:
    """Events in the order of the log."""
    _check_place(services, after)
    found = services.log.events(after=after, seat=seat, types=_types(types), limit=limit)
    return [without_secrets(envelope) for envelope in found]


@get(
    "/v1/events/stream",
    operation_id="stream_events",
    tags=["events"],
    summary="Stream events",
    responses={
        200: ResponseSpec(
            data_container=str, media_type="text/event-stream", description="Events.", generate_examples=False
        )
    },
)
async def stream_events(
    services: With,
    seat: Annotated[str | None, QueryParameter(description="Only events of this seat.")] = None,
    after: Annotated[
        int | None,
        QueryParameter(ge=0, description="Begin behind this position; without it, behind the newest event."),
    ] = None,
    types: Annotated[
        str | None, QueryParameter(description="Only events of these types, with commas between them.")
    ] = None,
    last_event_id: Annotated[
        int | None,
        HeaderParameter(
            name="Last-Event-ID", ge=0, description="Where the client was; it prevails over `after`."
        ),
    ] = None,
) -> ASGIApp:
    """Server-sent events: `id` is the position, `event` the type, `data` the envelope in one line of JSON.

    The stream begins with a frame that only names its place. A comment and the place come every 15 seconds; a
    stream of some events only names its place once more when it has caught up with the log.
    A client that reads too slowly gets `event: cut` and is disconnected; one that is connected when the daemon
    stops gets `event: bye`. Both say in `data` where to resume, which is also the last `id`.
    """
    place = last_event_id if last_event_id is not None else after
    if place is None:
        place = services.log.last_position()
    _check_place(services, place)
    return EventStream(services.feed, after=place, seat=seat, types=_types(types))


EVENT_ROUTES = (list_events, stream_events)
"""The routes of this module."""


def _types(text: str | None) -> frozenset[str] | None:
    if text is None:
        return None
    names = [name for name in text.split(",") if name]
    if unknown := [name for name in names if name not in EVENT_VERSIONS]:
        near = get_close_matches(unknown[0], EVENT_VERSIONS, n=3)
        raise UsageError(
            f"{unknown[0]!r} is not a type of event."
            + (f" Did you mean {' or '.join(map(repr, near))}?" if near else ""),
            hint=f"Types are: {', '.join(sorted(EVENT_VERSIONS))}.",
            detail={"unknown": unknown},
        )
    return frozenset(names)


def _check_place(services: Services, position: int) -> None:
    newest = services.log.last_position()
    if position > newest:
        raise UsageError(
            f"Position {position} is ahead of the log, whose newest event is {newest}.",
            code="position_ahead",
            hint="It belongs to the log of another home. Begin again without it.",
            detail={"position": position, "last_position": newest},
        )
