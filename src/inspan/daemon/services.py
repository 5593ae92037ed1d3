"""What the routes work with, and the names by which their handlers ask for it."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from litestar.di import NamedDependency, Provide
from litestar.params import PathParameter, QueryParameter, SkipValidation

from inspan.home import Home
from inspan.seats.service import SeatService

from .event_log import EventLog
from .feed import Feed
from .lifetime import Lifetime

__all__ = [
    "NO_SERVICES",
    "DeliveryId",
    "HarnessId",
    "Limit",
    "RequestId",
    "SeatName",
    "Seats",
    "Services",
    "TurnId",
    "With",
]


def _given(value: Any) -> Provide:
    return Provide(lambda: value, sync_to_thread=False)


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the HTTP interface stands on.

    Attributes:
        seats: Every operation on seats.
        log: The log of events.
        feed: Its newest events, for those who watch.
        home: The home.
        lifetime: The daemon's life.
    """

    seats: SeatService
    log: EventLog
    feed: Feed
    home: Home
    lifetime: Lifetime

    def as_dependencies(self) -> dict[str, Provide]:
        """The values that handlers ask for by the names `seats` and `services`."""
        return {"seats": _given(self.seats), "services": _given(self)}


NO_SERVICES = {"seats": _given(None), "services": _given(None)}
"""Dependencies of routes that are only looked at."""

Seats = NamedDependency[SkipValidation[SeatService]]
"""A handler's parameter `seats`."""

With = NamedDependency[SkipValidation[Services]]
"""A handler's parameter `services`."""

SeatName = Annotated[str, PathParameter(description="The seat's name.")]
HarnessId = Annotated[str, PathParameter(description="The harness's id.")]
DeliveryId = Annotated[str, PathParameter(description="The delivery's id.")]
TurnId = Annotated[str, PathParameter(description="The turn's id.")]
RequestId = Annotated[str, PathParameter(description="The permission request's id.")]
Limit = Annotated[int, QueryParameter(ge=1, le=1000, description="At most this many, the newest ones.")]
