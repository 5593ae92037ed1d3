"""The part of the scripted service that is about requests: what was asked of it, and one request that answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from inspan.model.errors import UsageError
from inspan.model.request_views import HandOffRequest, HandoffView, RequestView
from inspan.model.turn import TurnOutcome

__all__ = ["FakeRequests"]

_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class FakeRequests:
    """Requests in memory. It fulfils `RequestService`.

    Attributes:
        requests: The requests, by id; a test puts them there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requests: dict[str, RequestView] = {}

    async def list_requests(self, *, include_settled: bool = False) -> Sequence[RequestView]:
        return [one for one in self.requests.values() if include_settled or one.status != "settled"]

    async def get_request(self, request: str) -> RequestView:
        if request not in self.requests:
            raise UsageError(f"There is no request {request!r}.", code="unknown_request")
        return self.requests[request]

    async def hand_off_request(self, request: str, wanted: HandOffRequest) -> RequestView:
        known = await self.get_request(request)
        handoff = HandoffView(
            from_seat="first",
            from_delivery="d1",
            to_seat=wanted.seat,
            delivery=f"{wanted.text} {wanted.cancel}",
            declared_at=_AT,
        )
        self.requests[request] = msgspec.structs.replace(known, handoffs=(*known.handoffs, handoff))
        return self.requests[request]

    async def settle_request(self, request: str) -> RequestView:
        known = await self.get_request(request)
        self.requests[request] = msgspec.structs.replace(
            known, status="settled", outcome=TurnOutcome.CANCELLED
        )
        return self.requests[request]
