"""The client's calls about requests: what somebody wants done, across attempts and seats."""

from __future__ import annotations

from inspan.model.request_views import HandOffRequest, RequestView

from .wire import Wire, segment

__all__ = ["RequestCalls"]


class RequestCalls:
    """A part of `inspan.client.client.Client`."""

    _wire: Wire

    async def list_requests(self, *, include_settled: bool = False) -> list[RequestView]:
        """The open requests, or all of them, in the order in which they were opened."""
        params = {"all": "true" if include_settled else "false"}
        return await self._wire.call("GET", "/v1/requests", list[RequestView], params=params)

    async def get_request(self, request: str) -> RequestView:
        """One request with all attempts at it. Raises `unknown_request`."""
        return await self._wire.call("GET", _path(request), RequestView)

    async def hand_off_request(
        self, request: str, seat: str, *, text: str = "", cancel: bool = False
    ) -> RequestView:
        """Has a request go on in another seat: at once, or when the attempt that is under way has ended.

        Args:
            request: The request.
            seat: The other seat.
            text: What it is told; the prompt of the attempt before where nothing is given.
            cancel: Ask the attempt that is under way to stop.

        Raises:
            UsageError: `unknown_request`, `request_settled`, `unknown_seat`.
        """
        wanted = HandOffRequest(seat=seat, text=text, cancel=cancel)
        return await self._wire.call("POST", _path(request) + "/handoff", RequestView, body=wanted)

    async def settle_request(self, request: str) -> RequestView:
        """Closes a request that nobody will go on with. Raises `unknown_request`, `request_open`."""
        return await self._wire.call("POST", _path(request) + "/settle", RequestView)


def _path(request: str) -> str:
    return f"/v1/requests/{segment(request, 'request')}"
