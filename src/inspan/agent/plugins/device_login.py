"""Signs a person in by the OAuth 2.0 device grant: they open an address elsewhere and type a short code.

Source: RFC 8628 (the grant), RFC 8414 (where a server says its endpoints), RFC 6749 section 6 (refreshing).
"""

from __future__ import annotations

import asyncio
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from inspan.agent.plugins.mcp_connector import is_safe_address
from inspan.agent.values import JsonObject

__all__ = ["DeviceLogin", "LoginError", "Service"]

_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_TIMEOUT_S = 30.0
_TOO_MANY = 429
_EARLY_S = 60.0
_DEFAULT_INTERVAL_S = 5.0
_SLOWER_S = 5.0
_LONGEST_WAIT_S = 1800.0


class LoginError(Exception):
    """The sign-in did not come about."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """What is signed in to.

    Attributes:
        resource: The address that the token is for. It is sent to no other one.
        client_id: Who asks, as the service knows it.
        issuer: Who signs in; where its endpoints are said.
        scope: What for; empty leaves it to the service.
    """

    resource: str
    client_id: str
    issuer: str
    scope: str = ""


class DeviceLogin:
    """A way to sign in. Fulfils `AuthProvider`.

    Args:
        id: Names it.
        service: What is signed in to; None if nobody configured it.
        sleep: Waits between two questions; for tests.
        now: The time in seconds since 1970; for tests.
    """

    def __init__(
        self,
        id: str,
        service: Service | None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.id = id
        self._service = service
        self._sleep = sleep
        self._now = now

    async def login(self, tell: Callable[[str], Awaitable[None]], /) -> JsonObject:
        """Signs in, and returns the token with when it ends and what it is for.

        Raises:
            LoginError: Nothing is configured, the service refused, or nobody came in time.
            httpx.HTTPError: The service could not be reached.
        """
        service = self._configured()
        endpoints = await _find_endpoints(service)
        asked = {"client_id": service.client_id} | ({"scope": service.scope} if service.scope else {})
        _, device = await _post(endpoints.device, asked)
        code, user_code, address = (
            _text(device, key) for key in ("device_code", "user_code", "verification_uri")
        )
        await tell(
            f"Open {_text(device, 'verification_uri_complete', address)} and enter the code {user_code}."
        )
        interval_s = _number(device, "interval", _DEFAULT_INTERVAL_S)
        ends_at = self._now() + min(_number(device, "expires_in", _LONGEST_WAIT_S), _LONGEST_WAIT_S)
        form = {"grant_type": _GRANT, "device_code": code, "client_id": service.client_id}
        while self._now() < ends_at:
            await self._sleep(interval_s)
            is_ok, answer = await _post(endpoints.token, form, may_fail=True)
            if is_ok:
                return self._credential(answer, service, endpoints.token, refresh_token="")
            match answer.get("error"):
                case "authorization_pending":
                    continue
                case "slow_down":
                    interval_s += _SLOWER_S
                case _:
                    raise LoginError("the service refused")
        raise LoginError("nobody signed in in time")

    async def refresh(self, credential: JsonObject, /) -> JsonObject | None:
        """The same credential while its token is good, a fresh one after, None if it is of no use any more.

        Raises:
            LoginError: The service cannot answer now.
            httpx.HTTPError: It could not be reached.
        """
        service = self._service
        if service is None or credential.get("resource") != service.resource:
            return None
        if self._now() < _number(credential, "expires_at", 0.0) - _EARLY_S:
            return credential
        token, endpoint = credential.get("refresh_token"), credential.get("token_endpoint")
        if not isinstance(token, str) or not token or not isinstance(endpoint, str):
            return None
        form = {"grant_type": "refresh_token", "refresh_token": token, "client_id": service.client_id}
        is_ok, answer = await _post(endpoint, form, may_fail=True)
        return self._credential(answer, service, endpoint, refresh_token=token) if is_ok else None

    def _configured(self) -> Service:
        if self._service is None:
            raise LoginError("no service is configured")
        return self._service

    def _credential(
        self, answer: JsonObject, service: Service, endpoint: str, *, refresh_token: str
    ) -> JsonObject:
        return {
            "access_token": _text(answer, "access_token"),
            "refresh_token": _text(answer, "refresh_token", refresh_token),
            "expires_at": self._now() + _number(answer, "expires_in", 3600.0),
            "token_endpoint": endpoint,
            "resource": service.resource,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class _Endpoints:
    device: str
    token: str


async def _find_endpoints(service: Service) -> _Endpoints:
    """Where the issuer says that its endpoints are. Only it is believed, and only about safe addresses."""
    parts = urllib.parse.urlsplit(service.issuer)
    # The well-known part comes between the host and the issuer's own path (RFC 8414, section 3).
    path = "/.well-known/oauth-authorization-server" + parts.path.rstrip("/")
    answer = await _exchange("GET", urllib.parse.urlunsplit((parts.scheme, parts.netloc, path, "", "")))
    if answer[1].get("issuer", "").rstrip("/") != service.issuer.rstrip("/") or not answer[0]:
        raise LoginError("the issuer does not say its endpoints")
    endpoints = _Endpoints(
        device=_text(answer[1], "device_authorization_endpoint"), token=_text(answer[1], "token_endpoint")
    )
    if not is_safe_address(endpoints.device) or not is_safe_address(endpoints.token):
        raise LoginError("an endpoint is neither https nor on this machine")
    return endpoints


async def _post(url: str, form: Mapping[str, str], *, may_fail: bool = False) -> tuple[bool, JsonObject]:
    is_ok, answer = await _exchange("POST", url, form)
    if not is_ok and not may_fail:
        raise LoginError("the service refused")
    return is_ok, answer


async def _exchange(
    method: str, url: str, form: Mapping[str, str] | None = None
) -> tuple[bool, dict[str, Any]]:
    import httpx

    async with httpx.AsyncClient(timeout=_TIMEOUT_S, headers={"Accept": "application/json"}) as http:
        response = await http.request(method, url, data=form)
    if response.is_server_error or response.status_code == _TOO_MANY:
        raise LoginError("the service cannot answer now")  # which says nothing of what it was asked
    try:
        answer = response.json()
    except ValueError:
        answer = None
    return response.is_success, cast(dict[str, Any], answer) if isinstance(answer, dict) else {}


def _text(answer: JsonObject, key: str, default: str | None = None) -> str:
    value = answer.get(key) or default
    if not isinstance(value, str):
        raise LoginError("the service's answer lacks a part")
    return value


def _number(answer: JsonObject, key: str, default: float) -> float:
    value = answer.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return default
    return max(0.0, float(value))
