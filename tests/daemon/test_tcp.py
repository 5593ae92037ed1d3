"""TCP: only when asked for, only on the loopback, only with the token, and never for a web page."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import psutil
import pytest

from support.fake_daemon import DEADLINE_S, FakeDaemon, open_fake


def run(test: Any) -> None:
    asyncio.run(asyncio.wait_for(test, DEADLINE_S))


@asynccontextmanager
async def over_tcp() -> AsyncGenerator[tuple[FakeDaemon, httpx.AsyncClient, str]]:
    async with open_fake(tcp=("127.0.0.1", 0)) as fake:
        assert fake.daemon.tcp is not None
        url = f"http://127.0.0.1:{fake.daemon.tcp[1]}"
        async with httpx.AsyncClient(base_url=url, trust_env=False) as http:
            yield fake, http, fake.home.token.read_text(encoding="ascii").strip()


@pytest.mark.requirement("L15")
def test_without_being_asked_it_listens_on_no_port() -> None:
    async def test() -> None:
        async with open_fake() as fake:
            assert not psutil.Process(os.getpid()).net_connections("inet")
            assert not fake.home.token.exists()

    run(test())


@pytest.mark.requirement("L15")
def test_the_token_opens_it() -> None:
    async def test() -> None:
        async with over_tcp() as (_, http, token):
            for host in (None, "localhost", "localhost:1", "[::1]:80"):
                headers = {"Authorization": f"Bearer {token}"} | ({"Host": host} if host else {})
                assert (await http.get("/v1/status", headers=headers)).status_code == 200

    run(test())


@pytest.mark.requirement("L15")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Basic TOKEN"}, 401),
        ({"Authorization": "Bearer TOKEN", "Origin": "http://localhost:3000"}, 403),
        ({"Authorization": "Bearer TOKEN", "Origin": "null"}, 403),
        ({"Authorization": "Bearer TOKEN", "Host": "evil.example"}, 403),
        ({"Authorization": "Bearer TOKEN", "Host": "127.0.0.1.evil.example:80"}, 403),
        ({"Authorization": "Bearer TOKEN", "Host": ""}, 403),
    ],
)
def test_every_other_request_is_refused_on_every_path(headers: dict[str, str], status: int) -> None:
    async def test() -> None:
        async with over_tcp() as (fake, http, token):
            sent = {name: value.replace("TOKEN", token) for name, value in headers.items()}
            for path in ("/v1/status", "/v1/events/stream", "/v1/openapi.json", "/nowhere"):
                response = await http.get(path, headers=sent)
                assert response.status_code == status
                assert response.json()["error"]["code"] == "unauthorized"
                assert token not in response.text
            response = await http.post("/v1/daemon/stop", headers=sent)
            assert response.status_code == status
            assert not fake.daemon.lifetime.is_stopping

    run(test())


def test_the_unix_socket_wants_no_token_while_tcp_does() -> None:
    async def test() -> None:
        async with over_tcp() as (fake, _, _):
            assert (await fake.http.get("/v1/status")).status_code == 200

    run(test())
