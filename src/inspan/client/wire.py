"""Requests over the daemon's socket, and the one place where what can go wrong with them becomes our errors."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from typing import Any, TypeVar, cast
from urllib.parse import quote

import httpx
import msgspec

from inspan.home import Home
from inspan.model.errors import HostError, InspanError, UsageError, error_from_wire

from .autostart import unreachable

__all__ = ["CALL_TIMEOUT_S", "Wire", "not_understood", "segment"]

CALL_TIMEOUT_S = 60.0
"""How long an answer may take; to stop every harness in its steps, or to check a large log, takes longest."""

_STREAM_SILENCE_S = 45.0
"""A stream that says nothing for three heartbeats is dead."""

_CONNECT_TIMEOUT_S = 5.0

T = TypeVar("T")


class Wire:
    """HTTP to one daemon. Opens a connection when it needs one, and keeps some for the next request."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.is_closed = False
        self._streams: set[httpx.Response] = set()
        self._http = httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(
                uds=str(home.socket), limits=httpx.Limits(max_connections=None, max_keepalive_connections=8)
            ),
            base_url="http://inspan",
            timeout=httpx.Timeout(CALL_TIMEOUT_S, connect=_CONNECT_TIMEOUT_S),
            trust_env=False,
        )

    async def close(self) -> None:
        """Ends every request and stream. Twice is safe."""
        self.is_closed = True
        for response in tuple(self._streams):
            await response.aclose()
        await self._http.aclose()

    async def call(
        self,
        method: str,
        path: str,
        answer: type[T],
        *,
        body: msgspec.Struct | None = None,
        params: Mapping[str, str | int | bool | None] | None = None,
        timeout_s: float = CALL_TIMEOUT_S,
    ) -> T:
        """One request, and its answer as an `answer`.

        Raises:
            InspanError: What the daemon answered; or `daemon_unreachable`, `daemon_version`.
        """
        with self.faults():
            response = await self._http.request(
                method,
                path,
                content=None if body is None else msgspec.json.encode(body),
                headers=_JSON if body is not None else None,
                params=_given(params),
                timeout=httpx.Timeout(timeout_s, connect=_CONNECT_TIMEOUT_S),
            )
        if response.is_error:
            raise _error_of(response)
        try:
            return msgspec.json.decode(response.content, type=answer)
        except msgspec.MsgspecError as error:
            raise not_understood(str(error)) from error

    async def send(
        self, path: str, *, content: bytes | msgspec.Struct, headers: Mapping[str, str] | None = None
    ) -> None:
        """Posts bytes, or a value as JSON, where nothing is answered. Raises as `call` does."""
        is_raw = isinstance(content, bytes)
        kind = "application/octet-stream" if is_raw else "application/json"
        with self.faults():
            response = await self._http.post(
                path,
                content=content if is_raw else msgspec.json.encode(content),
                headers={"Content-Type": kind, **(headers or {})},
            )
        if response.is_error:
            raise _error_of(response)

    @contextlib.asynccontextmanager
    async def stream(
        self, path: str, *, params: Mapping[str, str | int | bool | None], last_id: int | None
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        """An answer without an end, in pieces as they come. Raises as `call` does, while it is read too."""
        headers = {} if last_id is None else {"Last-Event-ID": str(last_id)}
        with self.faults():
            async with self.open(
                path, params=params, headers=headers, silence_s=_STREAM_SILENCE_S
            ) as response:
                yield response.aiter_raw()

    @contextlib.asynccontextmanager
    async def open(
        self,
        path: str,
        *,
        params: Mapping[str, str | int | bool | None],
        headers: Mapping[str, str] | None = None,
        silence_s: float | None = None,
    ) -> AsyncGenerator[httpx.Response]:
        """An answer whose body is read as it comes; whoever reads it does so inside `faults`.

        Args:
            path: The path.
            params: The query; what is `None` is left out.
            headers: Headers of the request.
            silence_s: How long it may say nothing; for ever where `None`.

        Raises:
            InspanError: As `call` does, for the head of the answer.
        """
        timeout = httpx.Timeout(CALL_TIMEOUT_S, connect=_CONNECT_TIMEOUT_S, read=silence_s)
        request = self._http.build_request(
            "GET", path, params=_given(params), headers=dict(headers or {}), timeout=timeout
        )
        with self.faults():
            response = await self._http.send(request, stream=True)
        self._streams.add(response)
        try:
            if response.is_error:
                with self.faults():
                    await response.aread()
                raise _error_of(response)
            yield response
        finally:
            self._streams.discard(response)
            await response.aclose()

    @contextlib.contextmanager
    def faults(self) -> Generator[None]:
        """Inside the block, what can go wrong with a request becomes an error of ours."""
        try:
            yield
        except (httpx.HTTPError, httpx.StreamError, RuntimeError) as error:
            # httpx says with a bare RuntimeError that it was closed.
            if (
                isinstance(error, RuntimeError)
                and not isinstance(error, httpx.StreamError)
                and not self.is_closed
            ):
                raise
            reason = "this client was closed" if self.is_closed else f"{_reason(error)}"
            raise unreachable(self.home, reason) from error


_JSON = {"Content-Type": "application/json"}


def segment(value: str, noun: str) -> str:
    """`value` as one segment of a path.

    Raises:
        UsageError: `invalid_argument`: it is empty, or means another place.
    """
    if value in ("", ".", ".."):
        raise UsageError(f"{value!r} cannot name a {noun}.", hint=f"Name the {noun}.")
    return quote(value, safe="")


def not_understood(reason: str) -> HostError:
    """The error for an answer that is not in our language: the daemon is of another version."""
    return HostError(
        f"The daemon's answer cannot be understood: {reason}.",
        code="daemon_version",
        hint="Stop it with `inspan daemon stop`; the next call starts the version that is installed.",
        retry_safe=False,
    )


def _given(params: Mapping[str, str | int | bool | None] | None) -> dict[str, str | int | bool]:
    return {name: value for name, value in (params or {}).items() if value is not None}


def _reason(error: Exception) -> str:
    match error:
        case httpx.ConnectError() | httpx.ConnectTimeout():
            return "nothing listens on its socket"
        case httpx.TimeoutException():
            return "it did not answer in time"
        case _:
            return "the connection ended before the answer"


def _error_of(response: httpx.Response) -> InspanError:
    try:
        value: object = response.json()
    except ValueError:
        value = None
    error = cast("dict[str, Any]", value).get("error") if isinstance(value, dict) else None
    if not isinstance(error, dict):
        return not_understood(f"status {response.status_code} without an error of ours")
    return error_from_wire(cast("dict[str, Any]", error))
