"""The plugin for OpenClaw in a stand-in for its host: a real node, its routes over real HTTP, apps that really run."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.apps.bindings import BINDINGS, TOOL_NAMES, put_programs_on_path
from support.apps.openclaw_host import Host
from support.apps.programs import agent_app, free_port


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Host]]:
    put_programs_on_path(monkeypatch)
    hosts: list[Host] = []

    def make(**settings: str) -> Host:
        hosts.append(Host(settings))
        return hosts[-1]

    yield make
    for host in hosts:
        host.close()


@pytest.fixture
def app(throwaway_home: Path) -> Iterator[Path]:
    """An app that nobody has served yet."""
    folder = throwaway_home / "apps" / 'it\'s a "list"'
    made = agent_app(str(folder), "scaffold", "--name", "List", "--port", str(free_port()))
    assert made.status == 0, made.err
    yield folder.resolve()
    agent_app(str(folder), "stop")


@pytest.mark.requirement("P20")
def test_without_a_setting_there_are_commands_and_a_tab_and_no_tools(start: Callable[..., Host]) -> None:
    host = start()
    assert host.seen["tools"] == []
    assert [(one["name"], one["acceptsArgs"]) for one in host.seen["commands"]] == [("agent-app", True)]
    assert "creator" in host.seen["commands"][0]["guidance"][0]
    assert [one["descriptors"][0]["name"] for one in host.seen["clis"]] == ["agent-app"]
    assert [(one["surface"], one["label"], one["path"]) for one in host.seen["descriptors"]] == [
        ("tab", "Agent Apps", "/agent-app/home")
    ]
    assert {one["path"]: one["auth"] for one in host.seen["routes"]} == {
        "/agent-app/home": "gateway",
        "/agent-app/api": "plugin",
    }
    assert host.ask(do="command", args="make a list") == {"continueAgent": True}
    assert "/agent-app" in host.ask(do="command", args=" ")["text"]
    assert "bridge profile: none. openclaw cannot be run once" in host.until_logged()


@pytest.mark.requirement("P20", "P14")
@pytest.mark.parametrize(("setting", "count"), [("basic", 11), ("tasks", 14), ("all", 17), ("nonsense", 0)])
def test_the_setting_says_which_tools_there_are(start: Callable[..., Host], setting: str, count: int) -> None:
    host = start(tools=setting)
    assert len(host.seen["tools"]) == count
    assert set(host.seen["tools"]) <= set(TOOL_NAMES)


@pytest.mark.requirement("P20", "P14")
def test_a_refusal_is_data_and_what_could_not_be_run_is_thrown(
    start: Callable[..., Host], app: Path, throwaway_home: Path
) -> None:
    host = start(tools="all")
    again = host.ask(do="tool", name="agent_app_build", params={"dir": str(app)})["ok"]
    assert again["details"]["code"] == 1
    assert "already" in again["content"][0]["text"]
    assert "not running" in host.ask(do="tool", name="agent_app_describe", params={"dir": str(app)})["thrown"]
    lost = start(tools="all", inspan=str(throwaway_home / "nothing"))
    assert "ENOENT" in lost.ask(do="tool", name="agent_app_describe", params={"dir": "."})["thrown"]


@pytest.mark.requirement("P20")
def test_the_api_answers_a_page_s_token_alone(start: Callable[..., Host]) -> None:
    host = start()
    for token in ("", "0" * 48):
        assert host.api("GET", "/apps", token=token or "x").status == 401
    assert host.request("GET", "/agent-app/api/apps").status == 401
    flight = host.request("OPTIONS", "/agent-app/api/apps")
    assert (flight.status, flight.headers["access-control-allow-origin"]) == (204, "*")
    assert "x-a2app-token" in flight.headers["access-control-allow-headers"]
    token = host.token()
    assert host.api("GET", "/apps", token=token).json == {"apps": [], "builds": []}
    assert token != host.token()
    for method, path in (
        ("GET", "/nothing"),
        ("GET", "/app/serve"),
        ("POST", "/apps"),
        ("GET", "/constructor"),
    ):
        assert host.api(method, path, {} if method == "POST" else None, token=token).status == 404
    assert host.api("POST", "/app/serve", b"[1]", token=token).status == 400
    assert host.api("POST", "/app/serve", b"{", token=token).status == 400
    assert host.api("POST", "/app/serve", b" " * (1024 * 1024 + 1), token=token).status == 413


@pytest.mark.requirement("P20")
def test_the_page_runs_its_own_script_alone(start: Callable[..., Host]) -> None:
    page = start().request("GET", "/agent-app/home")
    nonce = re.search(r"script-src 'nonce-([^']+)'", page.headers["content-security-policy"])
    assert nonce is not None
    assert f'<script nonce="{nonce[1]}">' in page.text
    assert "{{" not in page.text
    assert page.headers["cache-control"] == "no-store"


@pytest.mark.requirement("P20")
def test_an_app_is_launched_paused_and_deleted_from_the_page(start: Callable[..., Host], app: Path) -> None:
    host = start()
    token = host.token()

    def shown() -> list[Any]:
        return host.api("GET", "/apps", token=token).json["apps"]

    assert [(one["name"], one["path"], one["status"]) for one in shown()] == [("List", str(app), "stopped")]
    assert host.api("POST", "/app/serve", {"app": str(app)}, token=token).json["ok"] is True
    (one,) = shown()
    assert one["status"] == "running"
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/?", one["url"])
    assert host.api("POST", "/app/stop", {"app": str(app)}, token=token).json["ok"] is True
    assert shown()[0]["status"] == "stopped"
    stranger = app.with_name("stranger")
    shutil.copytree(app, stranger)
    for path in (str(stranger), f"{app}/", "List", "", None, ["x"]):
        for act in ("serve", "stop", "remove"):
            assert host.api("POST", f"/app/{act}", {"app": path}, token=token).status == 404
    assert host.api("POST", "/app/serve", {"app": str(app)}, token=token).status == 200
    assert host.api("POST", "/app/remove", {"app": str(app)}, token=token).json["ok"] is True
    assert shown() == []
    assert (app.exists(), stranger.exists()) == (False, True)


LOOKS = [("GET", "/apps")]
ACTS = [("POST", "/app/serve"), ("POST", "/app/stop"), ("POST", "/app/remove")]
ASKS = [("GET", "/session?app=x"), ("POST", "/session/send"), ("POST", "/build")]


@pytest.mark.requirement("P20")
@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({"tab": "look"}, LOOKS),
        ({"tab": "nonsense"}, LOOKS),
        ({}, LOOKS + ACTS),
        ({"tab": "apps"}, LOOKS + ACTS),
        ({"tab": "all"}, LOOKS + ACTS + ASKS),
    ],
)
def test_what_is_done_from_the_tab_is_what_the_operator_lets_be_done_there(
    start: Callable[..., Host],
    throwaway_home: Path,
    settings: dict[str, str],
    allowed: list[tuple[str, str]],
) -> None:
    host = start(**settings)
    token = host.token()
    for method, path in LOOKS + ACTS + ASKS:
        answer = host.api(method, path, {"app": "x"} if method == "POST" else None, token=token)
        assert (answer.status != 403) is ((method, path) in allowed), path
        if answer.status == 403:
            assert "openclaw config set plugins.entries.agent-apps.config.tab " in answer.json["error"]
    assert host.ask(do="sent") == []


@pytest.mark.requirement("P20")
def test_an_app_is_asked_for_and_its_session_is_read_and_written(
    start: Callable[..., Host], app: Path, throwaway_home: Path
) -> None:
    host = start(tab="all")
    token = host.token()
    asked = {"name": "My  Books!", "requirement": "Books I read.\nWith stars."}
    built = host.api("POST", "/build", asked, token=token)
    folder = throwaway_home / ".a2app" / "apps" / "my-books"
    assert built.json == {
        "ok": True,
        "runId": "run-1",
        "sessionKey": "subagent:agent-app:my-books",
        "path": str(folder),
    }
    (run,) = host.ask(do="sent")
    assert run["deliver"] is False
    assert "> Books I read.\n> With stars." in run["message"]
    assert "`creator`" in run["message"]
    assert str(folder) in run["message"]
    assert host.api("GET", "/apps", token=token).json["builds"] == [
        {"path": str(folder), "name": asked["name"]}
    ]
    assert host.api("POST", "/build", asked, token=token).status == 409
    said = host.api("GET", f"/session?app={folder}", token=token).json["messages"]
    assert [one["role"] for one in said] == ["user", "assistant"]
    assert said[1]["text"] == "On it."
    to_app = host.api("POST", "/session/send", {"app": str(app), "message": "Tidy up."}, token=token)
    assert to_app.status == 200
    assert host.ask(do="sent")[1]["cwd"] == str(app)
    for body in ({"name": "??", "requirement": "x"}, {"name": "x"}, {}):
        assert host.api("POST", "/build", body, token=token).status == 400
    for body in ({"app": "/etc", "message": "x"}, {"app": str(app), "message": " "}):
        assert host.api("POST", "/session/send", body, token=token).status in (400, 404)
    assert host.api("GET", "/session?app=/etc", token=token).status == 404


@pytest.mark.requirement("P20")
def test_the_manifest_lists_every_tool_the_skills_and_the_settings() -> None:
    folder = BINDINGS / "openclaw"
    manifest = json.loads((folder / "openclaw.plugin.json").read_text())
    package = json.loads((folder / "package.json").read_text())
    assert manifest["contracts"]["tools"] == TOOL_NAMES
    assert manifest["configSchema"]["properties"]["tools"]["default"] == "none"
    assert len(list((folder / manifest["skills"][0]).glob("*/SKILL.md"))) == 6
    assert [(folder / entry).is_file() for entry in package["openclaw"]["extensions"]] == [True]
    assert "dependencies" not in package
    imported = re.findall(r'from "([^"]+)"', (folder / "index.js").read_text())
    assert all(name.startswith("node:") for name in imported), imported
