"""The person's catalogue of connected services: nothing at the start, an error without a login, two tools with one."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.login import main as login_program
from inspan.agent.plugins.connector_cloud import ConnectorCloud
from inspan.agent.plugins.device_login import DeviceLogin, LoginError, Service
from inspan.agent.plugins.entries import InlinePlugin
from inspan.agent.values import ToolResult
from support.fake_catalogue import FakeCatalogue, serve_catalogue
from support.runtime_plugins import Ground, called, open_host


@pytest.fixture(scope="module")
def served() -> Generator[FakeCatalogue]:
    with serve_catalogue() as catalogue:
        yield catalogue


@pytest.fixture
def catalogue(served: FakeCatalogue) -> FakeCatalogue:
    served.__dict__.update({**FakeCatalogue().__dict__, "address": served.address})
    return served


def cloud(url: str | None) -> InlinePlugin:
    config = None if url is None else {"url": url, "client_id": "inspan-tests"}
    return InlinePlugin(plugin=ConnectorCloud(), config=config)


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def read(self) -> float:
        return self.now


def login_of(catalogue: FakeCatalogue, clock: Clock) -> DeviceLogin:
    service = Service(resource=catalogue.url, client_id="inspan-tests", issuer=catalogue.address, scope="all")
    return DeviceLogin("connector-cloud", service, sleep=clock.sleep, now=clock.read)


async def sign_in(ground: Ground, catalogue: FakeCatalogue, **changes: Any) -> None:
    """Keeps the credential that a sign-in gave."""

    async def tell(_: str) -> None:
        pass

    credential = await login_of(catalogue, Clock()).login(tell)
    kept = {**credential, "expires_at": 9e12, **changes}
    path = ground.services.workspace / "credentials.json"
    await asyncio.to_thread(path.write_text, json.dumps({"connector-cloud": kept}))


async def search(ground: Ground, query: str, **more: Any) -> ToolResult:
    return await called(ground, "connector_search", {"query": query, **more})


async def call(ground: Ground, tool: str, **arguments: Any) -> ToolResult:
    return await called(ground, "connector_call", {"tool": tool, "arguments": arguments})


@pytest.mark.requirement("R100")
@pytest.mark.parametrize("is_configured", [True, False])
def test_it_starts_without_a_network_and_says_in_a_call_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_configured: bool
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)

    async def scenario() -> None:
        async with open_host(
            tmp_path, cloud("https://catalogue.test/mcp" if is_configured else None)
        ) as ground:
            assert ground.status["connector-cloud"].state == "active"
            names = [one.tool.name for one in ground.services.tools.list()]
            assert names == ["connector_search", "connector_call"]
            for result in (await search(ground, "mail"), await call(ground, "mail.send")):
                assert result.is_error
                assert ("Nobody is signed in" if is_configured else "No catalogue") in result.text

    asyncio.run(scenario())


@pytest.mark.requirement("R97", "R100")
def test_signed_in_it_finds_tools_and_calls_them(tmp_path: Path, catalogue: FakeCatalogue) -> None:
    async def scenario() -> None:
        async with open_host(tmp_path, cloud(catalogue.url)) as ground:
            await sign_in(ground, catalogue)
            catalogue.requests.clear()
            found = await search(ground, "send a mail", limit=2)
            assert not found.is_error
            assert found.text.startswith("mail.send: Sends a mail to somebody.\narguments: {")
            assert len(found.text.split("\n\n")) <= 2
            assert len((await search(ground, "tickets")).text.split("\n\n")) == 5
            assert (await search(ground, "submarine")).text == "No tool fits. Try other words."
            sent = await call(ground, "mail.send", to="ann", text="hi")
            assert (sent.text, sent.is_error) == ("sent to ann: hi", False)
            assert set(catalogue.tokens) == {"token-1"}

    asyncio.run(scenario())


@pytest.mark.requirement("R97")
def test_what_does_not_fit_is_not_sent(tmp_path: Path, catalogue: FakeCatalogue) -> None:
    async def scenario() -> None:
        async with open_host(tmp_path, cloud(catalogue.url)) as ground:
            await sign_in(ground, catalogue)
            wrong = await call(ground, "mail.send", to=7)
            assert wrong.is_error
            assert "mail.send" in wrong.text
            unknown = await call(ground, "mail.burn")
            assert unknown.is_error
            assert "no tool 'mail.burn'" in unknown.text

    asyncio.run(scenario())


@pytest.mark.requirement("R98")
def test_the_model_cannot_choose_an_account(tmp_path: Path, catalogue: FakeCatalogue) -> None:
    async def scenario() -> None:
        async with open_host(tmp_path, cloud(catalogue.url)) as ground:
            await sign_in(ground, catalogue)
            catalogue.requests.clear()
            refused = await call(ground, "tracker.tool_1", account_id="somebody-else")
            assert refused.is_error
            assert "account_id" in refused.text
            assert catalogue.requests == []

    asyncio.run(scenario())


@pytest.mark.requirement("R100")
def test_a_service_that_refuses_or_is_gone_is_an_error_of_the_call_and_tells_no_token(
    tmp_path: Path, catalogue: FakeCatalogue, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def scenario(url: str) -> ToolResult:
        async with open_host(tmp_path, cloud(url)) as ground:
            await sign_in(ground, catalogue, resource=url)
            catalogue.good_token = "another"
            return await search(ground, "mail")

    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{unused.getsockname()[1]}/mcp"
        for url in (catalogue.url, gone):
            catalogue.good_token = "token-1"
            result = asyncio.run(scenario(url))
            assert result.is_error
            assert result.text.startswith("The catalogue of connected services could not be used (")
    assert "token-1" not in caplog.text
    assert "refresh-1" not in caplog.text


def test_a_token_is_sent_to_no_other_address_than_the_one_it_was_given_for(
    tmp_path: Path, catalogue: FakeCatalogue
) -> None:
    async def scenario() -> None:
        async with open_host(tmp_path, cloud(catalogue.url)) as ground:
            await sign_in(ground, catalogue, resource="https://earlier.test/mcp")
            catalogue.tokens.clear()
            assert "Nobody is signed in" in (await search(ground, "mail")).text
            assert catalogue.tokens == []

    asyncio.run(scenario())


@pytest.mark.requirement("R50", "R99", "R100")
def test_a_person_signs_in_by_a_code_while_it_asks_at_the_pace_it_is_told(catalogue: FakeCatalogue) -> None:
    async def scenario() -> tuple[list[str], Any, list[float]]:
        said: list[str] = []

        async def tell(text: str) -> None:
            said.append(text)

        clock = Clock()
        catalogue.polls = ["authorization_pending", "slow_down", "authorization_pending"]
        credential = await login_of(catalogue, clock).login(tell)
        return said, credential, clock.slept

    said, credential, slept = asyncio.run(scenario())

    assert said == [f"Open {catalogue.address}/enter and enter the code ABCD-EFGH."]
    assert slept == [1.0, 1.0, 6.0, 6.0]
    assert credential == {
        "access_token": "token-1",
        "refresh_token": "refresh-1",
        "expires_at": 1_014.0 + 3_600,
        "token_endpoint": f"{catalogue.address}/token",
        "resource": catalogue.url,
    }
    assert catalogue.forms[0] == {"client_id": "inspan-tests", "scope": "all"}
    assert catalogue.forms[-1]["grant_type"] == "urn:ietf:params:oauth:grant-type:device_code"


@pytest.mark.requirement("R50", "R51", "R100")
def test_the_program_signs_in_says_what_there_is_and_signs_out(
    throwaway_home: Path, catalogue: FakeCatalogue, capsys: pytest.CaptureFixture[str]
) -> None:
    home = throwaway_home / "inspan"
    home.mkdir(mode=0o700)
    entry = {"id": "connector-cloud", "config": {"url": catalogue.url, "client_id": "inspan-tests"}}
    (home / "plugins.json").write_text(json.dumps({"runtimePlugins": [entry]}))
    kept = home / "agent" / "credentials.json"

    assert login_program([]) == 0
    assert capsys.readouterr().out == "connector-cloud\n"
    assert login_program(["connector-cloud"]) == 0
    said = capsys.readouterr()
    assert said.out == (
        f"Open {catalogue.address}/enter and enter the code ABCD-EFGH.\nSigned in to connector-cloud.\n"
    )
    assert json.loads(kept.read_text())["connector-cloud"]["access_token"] == "token-1"
    catalogue.polls = ["access_denied"]
    assert login_program(["connector-cloud"]) == 1
    assert (
        capsys.readouterr().err
        == "The sign-in 'connector-cloud' of 'connector-cloud' failed with LoginError.\n"
    )
    assert json.loads(kept.read_text())["connector-cloud"]["access_token"] == "token-1"
    assert login_program(["elsewhere"]) == 1
    assert login_program(["connector-cloud", "--out"]) == 0
    assert json.loads(kept.read_text()) == {}


@pytest.mark.parametrize("poll", ["access_denied", "expired_token", "never"])
def test_a_sign_in_that_is_refused_or_that_nobody_makes_ends(catalogue: FakeCatalogue, poll: str) -> None:
    async def tell(_: str) -> None:
        pass

    catalogue.polls = ["slow_down"] * 500 if poll == "never" else [poll]
    with pytest.raises(LoginError):
        asyncio.run(login_of(catalogue, Clock()).login(tell))


@pytest.mark.requirement("R50")
def test_a_token_is_refreshed_shortly_before_it_ends(catalogue: FakeCatalogue) -> None:
    async def scenario() -> None:
        async def tell(_: str) -> None:
            pass

        clock = Clock()
        login = login_of(catalogue, clock)
        credential = await login.login(tell)
        assert await login.refresh(credential) == credential
        clock.now += 3_590
        catalogue.good_token = "token-2"
        fresh = await login.refresh(credential)
        assert fresh is not None
        assert (fresh["access_token"], fresh["refresh_token"]) == ("token-2", "refresh-1")
        catalogue.refresh_fails = True
        assert await login.refresh({**credential, "expires_at": 0}) is None
        assert await login.refresh({**credential, "expires_at": 0, "refresh_token": ""}) is None
        catalogue.is_overloaded = True
        with pytest.raises(LoginError, match="cannot answer now"):  # the sign-in is still good
            await login.refresh({**credential, "expires_at": 0})

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"url": "https://x.test"},
        {"url": "http://x.test", "client_id": "c"},
        {"url": "https://x.test", "client_id": "c", "issuer": "http://x.test"},
        {"url": "https://x.test", "client_id": ""},
        {"url": "https://x.test", "client_id": "c", "token": "sk"},
        "https://x.test",
    ],
)
def test_a_configuration_that_is_none_is_refused(raw: Any) -> None:
    with pytest.raises(ValueError):
        ConnectorCloud().parse_config(raw)


def test_the_issuer_is_the_catalogues_own_server_unless_it_is_named() -> None:
    plain = ConnectorCloud().parse_config({"url": "https://x.test:8443/a/mcp", "client_id": "c"})
    named = ConnectorCloud().parse_config(
        {"url": "https://x.test", "client_id": "c", "issuer": "https://y.test/t"}
    )

    assert plain is not None
    assert named is not None
    assert (plain.issuer, named.issuer) == ("https://x.test:8443", "https://y.test/t")
