"""OpenClaw's tab of apps in a real browser, over the plugin's own routes: what a person sees and does there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from support.apps.bindings import put_programs_on_path
from support.apps.openclaw_host import Host
from support.apps.programs import agent_app, free_port

EVIL = "<b>It's</b>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = next(
        (found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None
    )
    if program is None:
        pytest.fail("There is no chromium here: run `apt-get install --no-install-recommends chromium`.")
    args = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=args)
        yield started
        started.close()


@pytest.fixture
def app(throwaway_home: Path) -> Iterator[Path]:
    folder = throwaway_home / "list"
    made = agent_app(str(folder), "scaffold", "--name", EVIL, "--port", str(free_port()))
    assert made.status == 0, made.err
    yield folder
    agent_app(str(folder), "stop")


@pytest.fixture
def page(browser: Browser, app: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """The tab with one app that does not run. Whatever it complains of fails the test."""
    put_programs_on_path(monkeypatch)
    host = Host({})
    faults: list[str] = []
    window = browser.new_page(viewport={"width": 1200, "height": 800})
    window.set_default_timeout(30_000)
    window.on("pageerror", lambda error: faults.append(str(error)))
    window.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    window.goto(f"http://127.0.0.1:{host.seen['port']}/agent-app/home")
    yield window
    window.close()
    host.close()
    # The app that is shown is paused while its own page still listens to it, which the browser itself writes down.
    assert [one for one in faults if "Failed to load resource" not in one] == []


@pytest.mark.live
@pytest.mark.requirement("P20")
def test_a_person_launches_sees_pauses_and_deletes_an_app_and_asks_for_another(page: Page, app: Path) -> None:
    expect(page.get_by_role("tab", name=EVIL)).to_have_attribute("aria-selected", "true")
    results = Axe().run(page)  # pyright: ignore[reportUnknownMemberType] - its types are not told whole
    found = cast("list[dict[str, Any]]", results.response["violations"])  # pyright: ignore[reportUnknownMemberType]
    assert [one["id"] for one in found] == []
    page.get_by_role("button", name="Launch").click()
    inside = page.frame_locator("#frame")
    expect(inside.get_by_role("heading").first).to_be_visible()
    expect(page.get_by_role("link", name="Open in a window")).to_be_visible()

    page.get_by_label("Ask the agent").fill("Tidy it up.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#messages")).to_contain_text("Tidy it up.")
    expect(page.locator("#messages")).to_contain_text("On it.")

    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("It does not run.")).to_be_visible()
    page.get_by_role("button", name="Delete", exact=True).click()
    assert app.exists()
    page.get_by_role("button", name="Delete it and its records").click()
    expect(page.get_by_role("heading", name="A new app")).to_be_visible()
    assert not app.exists()

    page.get_by_label("Name").fill("Books")
    page.get_by_label("What it is for").fill("Those that I read.")
    page.get_by_role("button", name="Build it").click()
    expect(page.get_by_role("tab", name="Books (being built)")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#messages")).to_contain_text("Those that I read.")
