"""The part of the service that is about requests: what somebody wants done, across attempts and seats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from inspan.model.request_views import HandOffRequest, RequestView

__all__ = ["RequestService"]


class RequestService(Protocol):
    """What can be asked of requests. A request is opened by the first prompt that names it."""

    async def list_requests(self, *, include_settled: bool = False) -> Sequence[RequestView]:
        """The open requests, or all of them, in the order in which they were opened."""
        ...

    async def get_request(self, request: str) -> RequestView:
        """One request with all attempts at it. Raises `unknown_request`."""
        ...

    async def hand_off_request(self, request: str, wanted: HandOffRequest) -> RequestView:
        """Has the request go on in another seat: at once, or when the attempt that is under way has ended.

        An attempt that completes settles the request, whatever was declared. Asking for the same again changes
        nothing. Raises `unknown_request`, `request_settled`, `unknown_seat`.
        """
        ...

    async def settle_request(self, request: str) -> RequestView:
        """Closes a request that nobody will go on with; a prompt of it that is held is withdrawn.

        Raises `unknown_request`, `request_open` while an attempt is under way. A settled one stays as it is.
        """
        ...
