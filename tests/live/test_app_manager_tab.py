"""OpenClaw's tab of apps in a real browser, over the plugin's own routes: what a person sees and does there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route, expect

from support.apps.bindings import put_programs_on_path
from support.apps.openclaw_host import Host
from support.apps.programs import agent_app, free_port
from support.live.browser import Gate, open_window

API = "**/agent-app/api"
EVIL = "<b>It's</b>"


@pytest.fixture
def app(throwaway_home: Path) -> Iterator[Path]:
    folder = throwaway_home / "list"
    made = agent_app(str(folder), "scaffold", "--name", EVIL, "--port", str(free_port()))
    assert made.status == 0, made.err
    yield folder
    agent_app(str(folder), "stop")


@pytest.fixture
def level() -> str:
    """What the operator lets be done from the tab."""
    return "all"


@pytest.fixture
def page(browser: Browser, app: Path, level: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """The tab with one app that does not run. Whatever it complains of fails the test."""
    put_programs_on_path(monkeypatch)
    host = Host({"tab": level})
    try:
        with open_window(browser, f"http://127.0.0.1:{host.seen['port']}/agent-app/home") as window:
            yield window
    finally:
        host.close()


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


@pytest.fixture
def other(app: Path) -> Iterator[Path]:
    """A second app, which the tab shows as "Other"."""
    folder = app.with_name("other")
    made = agent_app(str(folder), "scaffold", "--name", "Other", "--port", str(free_port()))
    assert made.status == 0, made.err
    yield folder
    agent_app(str(folder), "stop")


def choose(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()
    expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")


def fill_in_a_new_app(page: Page, name: str) -> None:
    choose(page, "+ New app")
    page.get_by_label("Name").fill(name)
    page.get_by_label("What it is for").fill("Those that I read.")


@pytest.mark.live
@pytest.mark.requirement("P20")
@pytest.mark.parametrize("level", ["look", "apps"])
def test_what_the_operator_does_not_let_be_done_from_the_tab_is_not_offered_there(
    page: Page, level: str
) -> None:
    expect(page.get_by_role("heading", name="stopped")).to_be_visible()
    count = 1 if level == "apps" else 0
    for name in ("Launch", "Delete"):
        expect(page.get_by_role("button", name=name)).to_have_count(count)
    expect(page.get_by_label("Ask the agent")).to_be_hidden()
    page.get_by_role("tab", name="+ New app").click()
    expect(page.get_by_text("Ask the agent for one in a chat")).to_be_visible()
    expect(page.get_by_label("What it is for")).to_be_hidden()


@pytest.mark.live
@pytest.mark.requirement("P20")
def test_a_list_of_apps_that_comes_late_undoes_nothing_that_was_seen_since(page: Page) -> None:
    expect(page.get_by_role("tab", name=EVIL)).to_be_visible()
    gate = Gate(page, f"{API}/apps")
    gate.wait_for_one()
    gate.open()
    page.get_by_role("button", name="Launch").click()
    expect(page.get_by_role("button", name="Pause")).to_be_enabled()
    gate.close()
    gate.let_go()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator("#frame")).to_be_visible()


@pytest.mark.live
@pytest.mark.requirement("P20")
def test_the_session_of_one_app_is_never_seen_beside_another(page: Page, other: Path) -> None:
    choose(page, "Other")
    page.get_by_label("Ask the agent").fill("Tidy it up.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#messages")).to_contain_text("On it.")
    gate = Gate(page, f"{API}/session?*")
    choose(page, EVIL)
    gate.wait_for_one()
    expect(page.locator("#messages")).to_be_empty()
    choose(page, "Other")
    gate.open()
    gate.let_go()
    expect(page.get_by_role("tab", name="Other")).to_have_attribute("aria-selected", "true")


@pytest.mark.live
@pytest.mark.requirement("P20")
def test_what_is_typed_is_about_one_app_and_no_late_answer_takes_it(page: Page, other: Path) -> None:
    box, send = page.get_by_label("Ask the agent"), page.get_by_role("button", name="Send")
    choose(page, "Other")
    gate = Gate(page, f"{API}/session/send")
    box.fill("Tidy it up.")
    send.click()
    gate.wait_for_one()
    box.fill("half a thought")
    gate.let_go()
    expect(send).to_be_enabled()
    expect(page.locator("#messages")).to_contain_text("Tidy it up.")
    expect(box).to_have_value("half a thought")
    choose(page, EVIL)
    expect(box).to_have_value("")
    choose(page, "Other")
    expect(box).to_have_value("half a thought")
    send.click()
    gate.wait_for_one()
    choose(page, EVIL)
    box.fill("for this one")
    gate.let_go()
    expect(send).to_be_enabled()
    expect(box).to_have_value("for this one")
    choose(page, "Other")
    expect(box).to_have_value("")


@pytest.mark.live
@pytest.mark.requirement("P20")
def test_nobody_is_led_away_by_an_app_that_was_asked_for(page: Page) -> None:
    gate = Gate(page, f"{API}/build")
    fill_in_a_new_app(page, "Books")
    page.get_by_role("button", name="Build it").click()
    gate.wait_for_one()
    page.get_by_label("Name").fill("Films")
    gate.let_go()
    expect(page.get_by_role("tab", name="Books (being built)")).to_have_attribute("aria-selected", "false")
    expect(page.get_by_label("Name")).to_have_value("Films")
    page.get_by_role("button", name="Build it").click()
    gate.wait_for_one()
    choose(page, EVIL)
    gate.let_go()
    expect(page.get_by_role("tab", name="Films (being built)")).to_have_attribute("aria-selected", "false")
    expect(page.get_by_role("tab", name=EVIL)).to_have_attribute("aria-selected", "true")
    choose(page, "+ New app")
    expect(page.get_by_label("Name")).to_have_value("")


@pytest.mark.live
@pytest.mark.requirement("P20")
def test_an_app_that_went_away_leaves_no_other_in_its_place(page: Page, other: Path) -> None:
    choose(page, "Other")
    page.get_by_label("Ask the agent").fill("half a thought")
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("button", name="Delete it and its records")).to_be_visible()
    assert agent_app(str(other), "forget").status == 0
    expect(page.get_by_role("tab", name="Other")).to_be_hidden()
    expect(page.get_by_text("This app is not there any more.")).to_be_visible()
    expect(page.get_by_role("button", name="Delete")).to_be_hidden()
    choose(page, EVIL)
    expect(page.get_by_role("button", name="Delete", exact=True)).to_be_visible()
    expect(page.get_by_label("Ask the agent")).to_have_value("")


@pytest.mark.live
@pytest.mark.requirement("P20")
def test_news_takes_neither_the_keyboard_nor_what_is_read(page: Page, app: Path) -> None:
    page.get_by_label("Ask the agent").fill("Tidy it up.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#messages p")).to_have_count(2)
    first = page.locator("#messages p").first.element_handle()
    page.get_by_role("tab", name="+ New app").focus()
    made = agent_app(str(app.with_name("more")), "scaffold", "--name", "More", "--port", str(free_port()))
    assert made.status == 0, made.err
    expect(page.get_by_role("tab", name="More")).to_be_visible()
    expect(page.get_by_role("tab", name="+ New app")).to_be_focused()
    page.get_by_label("Ask the agent").fill("And once more.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#messages p")).to_have_count(4)
    assert first.evaluate("(one) => one.isConnected")


@pytest.mark.live
@pytest.mark.requirement("P20")
def test_an_app_that_is_too_busy_to_answer_keeps_what_is_typed_in_its_page(page: Page) -> None:
    page.get_by_role("button", name="Launch").click()
    inside = page.frame_locator("#frame")
    inside.get_by_role("button", name="New", exact=True).click()
    typed = inside.locator("main form").locator("input, textarea").first
    typed.fill("half a thought")

    def tell(route: Route) -> None:
        answer = route.fetch()
        found = answer.json()
        found["apps"] = [{**one, "status": "unreachable", "url": None} for one in found["apps"]]
        route.fulfill(response=answer, json=found)

    page.route(f"{API}/apps", tell)
    expect(page.get_by_role("heading", name="unreachable")).to_be_visible()
    expect(typed).to_have_value("half a thought")
