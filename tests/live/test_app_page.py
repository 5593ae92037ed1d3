"""The page of an app in a real browser: a person with a mouse, one with a keyboard, and an agent that changes things."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from json import dumps
from pathlib import Path
from typing import Any, Literal, cast

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from inspan.apps.author import App, choices, flag, json, moment, number, refs, text
from inspan.apps.examples import board, reading_list
from inspan.apps.server.caller import Grant
from support.apps.served import Served, serving
from support.live.browser import Gate, open_window

AGENT = Grant(token="agent-token", credential_id="cred_agent", agent_name="agent")
CARDS = "/api/collections/cards/records"
EVIL = '<img src=x onerror="document.title=1">&amp;'


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Served]:
    app = board.make_app(tmp_path)
    app.grants.append(AGENT)
    with serving(app) as served:
        yield served


@pytest.fixture
def page(browser: Browser, here: Served) -> Iterator[Page]:
    """The board in a window of its own. Whatever the page complains of fails the test."""
    with open_window(browser, here.url) as window:
        expect(window.get_by_role("heading", name="Cards")).to_be_visible()
        yield window


@pytest.mark.requirement("P2")
def test_a_person_makes_finds_changes_and_deletes_a_record(page: Page, here: Served) -> None:
    page.get_by_role("button", name="New", exact=True).click()
    page.get_by_label("Title").fill("Buy milk")
    page.get_by_label("List").select_option("To do")
    page.get_by_label("Due").fill("2026-08-01")
    page.get_by_label("Home").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Buy milk")).to_be_visible()
    expect(page.locator("dl")).to_contain_text("Aug 1, 2026")

    stored = here.get(f'{CARDS}?filter=title="Buy%20milk"').body["items"][0]
    assert (stored["due"], stored["labels"], stored["priority"]) == ("2026-08-01", ["home"], "medium")

    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Title").fill("Buy oat milk")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Buy oat milk")).to_be_visible()
    assert here.get(f"{CARDS}/{stored['id']}").body == {**stored, "title": "Buy oat milk"}

    page.get_by_role("link", name="← Cards").click()
    page.get_by_label("Search").fill("OAT")
    expect(page.get_by_role("status").filter(has_text="1 record")).to_be_visible()
    page.get_by_role("link", name="Buy oat milk").click()
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("gone for good")
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Cards")).to_be_visible()
    assert here.get(f"{CARDS}/{stored['id']}").status == 404


def tab_to(page: Page, name: str) -> None:
    """Presses Tab until the button of this name has the keyboard."""
    for _ in range(40):
        if page.evaluate("document.activeElement.textContent") == name:
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not lead to {name}")


@pytest.mark.requirement("P2")
def test_everything_is_done_by_keyboard_alone(page: Page, here: Served) -> None:
    keys = page.keyboard
    keys.press("n")
    expect(page.get_by_label("Title")).to_be_focused()
    keys.type("By hand")
    keys.press("Tab")
    keys.type("To")
    tab_to(page, "Save")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="By hand")).to_be_visible()
    keys.press("e")
    expect(page.get_by_label("Title")).to_be_focused()
    keys.press("End")
    keys.type(", and done")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="By hand, and done")).to_be_visible()
    expect(page.get_by_role("button", name="Edit")).to_be_focused()
    keys.press("Escape")
    expect(page.get_by_role("heading", name="Cards")).to_be_visible()
    keys.press("/")
    expect(page.get_by_label("Search")).to_be_focused()
    keys.type("by hand")
    expect(page.get_by_role("status").filter(has_text="1 record")).to_be_visible()
    keys.press("Escape")
    expect(page.get_by_role("status").filter(has_text="4 records")).to_be_visible()
    keys.press("Tab")
    keys.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("a new record")
    keys.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    move = page.get_by_label("Move By hand, and done to")
    move.focus()
    keys.press("ArrowDown")
    expect(page.get_by_role("region", name="Doing")).to_contain_text("By hand, and done")
    expect(move).to_be_focused()
    titles = [one["title"] for one in here.get(f'{CARDS}?filter=list="list_doing"').body["items"]]
    assert "By hand, and done" in titles


def test_the_first_tab_leads_past_the_places_to_the_content(page: Page) -> None:
    page.reload()
    expect(page.get_by_role("heading", name="Cards")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()


@pytest.mark.requirement("P2")
def test_what_an_agent_does_is_seen_without_a_reload(page: Page, here: Served) -> None:
    made = here.post(CARDS, {"title": "From the agent", "list": "list_doing"}).body["id"]
    expect(page.get_by_role("region", name="Doing")).to_contain_text("From the agent")
    here.call("PATCH", f"{CARDS}/{made}", {"list": "list_done"})
    expect(page.get_by_role("region", name="Done")).to_contain_text("From the agent")
    page.get_by_role("link", name="From the agent").click()
    here.call("PATCH", f"{CARDS}/{made}", {"priority": "urgent", "title": "Renamed"})
    expect(page.get_by_role("heading", name="Renamed")).to_be_visible()
    expect(page.locator("dl")).to_contain_text("Urgent")
    here.call("DELETE", f"{CARDS}/{made}")
    expect(page.get_by_text("not there, or not any more")).to_be_visible()


def test_what_is_being_typed_is_never_taken_away(page: Page, here: Served) -> None:
    page.get_by_role("link", name="Try this board").click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Note").fill("half a thought")
    here.call("PATCH", f"{CARDS}/card_try", {"title": "Changed meanwhile"})
    expect(page.get_by_text("Somebody else changed this record meanwhile.")).to_be_visible()
    expect(page.get_by_label("Note")).to_have_value("half a thought")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Changed meanwhile")).to_be_visible()
    assert here.get(f"{CARDS}/card_try").body["note"] == "half a thought"


@pytest.fixture
def held(page: Page, here: Served) -> Gate:
    """The page looks at one card, and asks for it anew: the answers wait here, to come when the test wants them."""
    page.get_by_role("link", name="Try this board").click()
    expect(page.get_by_role("heading", name="Try this board")).to_be_visible()
    gate = Gate(page, "**/records/card_try")
    here.call("PATCH", f"{CARDS}/card_try", {"priority": "urgent"})
    gate.wait_for_one()
    return gate


def test_a_view_that_was_left_shows_nothing_over_the_next(page: Page, held: Gate) -> None:
    page.get_by_role("link", name="← Cards").click()
    expect(page.get_by_role("heading", name="Cards")).to_be_visible()
    held.let_go()
    expect(page.get_by_role("heading", name="Cards")).to_be_visible()
    expect(page).to_have_title(re.compile("^Cards"))


def test_an_answer_that_comes_late_takes_nothing_that_was_typed(page: Page, held: Gate) -> None:
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Note").fill("half a thought")
    held.let_go()
    expect(page.get_by_label("Note")).to_have_value("half a thought")
    expect(page.get_by_text("Somebody else changed this record meanwhile.")).to_be_visible()


def test_what_was_saved_before_closes_no_form_that_was_opened_since(page: Page) -> None:
    page.get_by_role("link", name="Try this board").click()
    page.get_by_role("button", name="Edit").click()
    gate = Gate(page, "**/records/card_try", method="PATCH")
    page.get_by_label("Note").fill("a whole thought")
    page.get_by_role("button", name="Save").click()
    gate.wait_for_one()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Note").fill("half a thought")
    gate.let_go()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_label("Note")).to_have_value("half a thought")


def test_what_was_done_before_closes_no_dialog_that_was_opened_since(page: Page) -> None:
    page.get_by_role("link", name="Try this board").click()
    gate = Gate(page, "**/api/ops/move-card")
    dialog = page.get_by_role("dialog")
    page.get_by_role("button", name="Move card").click()
    dialog.get_by_label("List").select_option("Doing")
    dialog.get_by_role("button", name="Move card").click()
    gate.wait_for_one()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Move card").click()
    dialog.get_by_label("List").select_option("Done")
    gate.let_go()
    expect(page.get_by_text("Move card is done.").or_(page.get_by_text("Move card: "))).to_be_visible()
    expect(dialog.get_by_label("List")).to_have_value("list_done")


def test_no_dialog_opens_over_a_place_that_did_not_ask_for_it(page: Page) -> None:
    gate = Gate(page, "**/describe/**/clear-done*")
    page.get_by_role("button", name="Clear done").click()
    gate.wait_for_one()
    page.get_by_role("link", name="Lists").click()
    expect(page.get_by_role("heading", name="Lists")).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    gate.let_go()
    assert [one for one in asked if "/api/ops/" in one] == []
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_a_change_is_seen_although_it_could_not_be_read_at_once(page: Page, here: Served) -> None:
    page.route("**/cards/records?*", lambda route: route.abort(), times=1)
    here.post(CARDS, {"title": "From the agent", "list": "list_doing"})
    expect(page.get_by_role("region", name="Doing")).to_contain_text("From the agent")


def test_a_place_that_could_not_be_shown_at_once_is_shown_later(page: Page) -> None:
    page.route("**/summaries/records?*", lambda route: route.abort(), times=1)
    page.get_by_role("link", name="Summaries").click()
    expect(page.get_by_role("heading", name="Summaries")).to_be_visible()
    expect(page.get_by_text("There are no summaries yet.")).to_be_visible()


def test_what_is_wrong_stands_at_its_field_and_gets_the_keyboard(page: Page, here: Served) -> None:
    page.get_by_role("button", name="New", exact=True).click()
    page.get_by_label("Title").fill("x" * 201)
    page.get_by_role("button", name="Save").click()

    title = page.get_by_label("Title")
    expect(title).to_be_focused()
    expect(title).to_have_attribute("aria-invalid", "true")
    expect(page.locator('[data-field="title"] .wrong')).to_have_text(
        "Expected text of at most 200 characters."
    )
    expect(page.locator('[data-field="list"] .wrong')).to_have_text("This is needed.")
    assert here.get(CARDS).body["totalItems"] == 3


@pytest.mark.requirement("P2")
def test_operations_are_offered_as_the_record_is_and_what_destroys_is_asked_for(
    page: Page, here: Served
) -> None:
    page.get_by_role("link", name="Try this board").click()
    page.get_by_role("button", name="Finish card").click()
    finish = page.get_by_role("button", name="Finish card")
    expect(finish).to_be_disabled()
    expect(page.get_by_text("Not now: finished is")).to_be_visible()
    page.get_by_role("button", name="Move card").click()
    page.get_by_role("dialog").get_by_label("List").select_option("Doing")
    page.get_by_role("dialog").get_by_role("button", name="Move card").click()
    expect(finish).to_be_enabled()
    page.keyboard.press("Escape")
    here.post("/api/ops/finish-card", {"card": "card_ask"})
    page.get_by_role("button", name="Clear done").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("region", name="Done")).to_contain_text("Ask an agent")
    page.get_by_role("button", name="Clear done").click()
    page.get_by_role("dialog").get_by_role("button", name="Clear done").click()
    expect(page.get_by_text("Clear done: Deleted: 1")).to_be_visible()
    expect(page.get_by_role("region", name="Done")).not_to_contain_text("Ask an agent")


def test_a_card_is_dragged_to_another_column(page: Page, here: Served) -> None:
    page.locator("li.card", has_text="Try this board").drag_to(page.get_by_role("region", name="Done"))
    expect(page.get_by_role("region", name="Done")).to_contain_text("Try this board")
    assert here.get(f"{CARDS}/card_try").body["list"] == "list_done"


def test_what_a_record_says_is_text_and_never_a_program(page: Page, here: Served) -> None:
    made = here.post(CARDS, {"title": EVIL, "list": "list_todo", "note": "javascript:alert(1)"}).body["id"]
    page.get_by_role("link", name=EVIL).click()
    expect(page.get_by_role("heading", name=EVIL)).to_be_visible()
    expect(page).to_have_title(re.compile("Cards"))
    assert page.locator("main img").count() == 0
    assert page.locator('a[href^="javascript"]').count() == 0
    here.call("DELETE", f"{CARDS}/{made}")


def test_the_table_is_sorted_by_its_headings(page: Page) -> None:
    page.get_by_role("button", name="Table").click()
    heading = page.get_by_role("columnheader", name="Title")
    rows = page.locator("tbody th")
    expect(rows).to_have_text(["Try this board", "Ask an agent to sum it up", "Write an app of one's own"])
    page.get_by_role("button", name="Title").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    expect(rows).to_have_text(["Ask an agent to sum it up", "Try this board", "Write an app of one's own"])
    page.get_by_role("button", name="Title").press("Enter")
    expect(heading).to_have_attribute("aria-sort", "descending")
    expect(rows.first).to_have_text("Write an app of one's own")


@pytest.mark.requirement("P7")
def test_work_for_agents_is_seen_and_can_be_canceled(page: Page, here: Served) -> None:
    page.get_by_role("button", name="Ask for summary").click()
    expect(page.get_by_text("An agent was asked.")).to_be_visible()
    page.get_by_role("link", name="Work for agents").click()
    expect(page.get_by_text("Waits for an agent")).to_be_visible()
    task = here.get("/api/_a2app/tasks").body["tasks"][0]["id"]
    here.post(f"/api/_a2app/tasks/{task}/claim", {})
    here.post(f"/api/_a2app/tasks/{task}/progress", {"step": "Counting cards", "percent": 40})
    expect(page.get_by_text("Counting cards")).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_attribute("value", "40")
    page.get_by_role("button", name="Cancel it").click()
    expect(page.get_by_text("Canceled")).to_be_visible()
    assert here.post(f"/api/_a2app/tasks/{task}/progress", {}).code == "task_canceled"


def test_the_app_knows_what_is_looked_at_and_by_how_many(page: Page, here: Served, browser: Browser) -> None:
    with page.expect_response(lambda heard: "card_try" in (heard.request.post_data or "")):
        page.get_by_role("link", name="Try this board").click()
    context = here.get("/api/_a2app/context").body
    assert context == {"a2app": True, "view": "cards", "selected": [{"entity": "cards", "id": "card_try"}]}
    assert here.get("/api/_a2app/viewers").body["viewers"] == 1
    other = browser.new_page()
    with other.expect_response(lambda heard: heard.url.endswith("/api/_a2app")):
        other.goto(here.url)
    assert here.get("/api/_a2app/viewers").body["viewers"] == 2
    other.goto("about:blank")
    page.wait_for_function(
        "fetch('/api/_a2app/viewers').then((one) => one.json()).then((one) => one.viewers === 1)", polling=100
    )
    other.close()


PLACES = {
    "#/cards": ("Cards", "Write an app of one's own"),
    "#/lists": ("Lists", "3 records"),
    "#/cards/card_try": ("Try this board", "Finish card"),
    "#/cards/+": ("New in cards", "Save"),
    "#/-/tasks": ("Work for agents", "What the app asks agents to do."),
}
"""Every kind of place: its heading, and what is there last."""


def visit(page: Page, here: Served, place: str) -> None:
    """Goes to a place and waits until it is there, and nothing of the place before."""
    page.goto(f"{here.url}/{place}")
    heading, last = PLACES[place]
    expect(page.get_by_role("heading", name=heading, level=1)).to_be_visible()
    expect(page.locator("main").get_by_text(last).first).to_be_visible()


@pytest.mark.parametrize("width", [390, 1200])
def test_every_control_has_a_name_and_nothing_runs_out_of_the_window(
    page: Page, here: Served, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 760})
    for place in PLACES:
        visit(page, here, place)
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("button, input, select, textarea, a, fieldset")]
              .filter((one) => one.checkVisibility())
              .filter((one) => !(one.labels?.length || one.textContent.trim() || one.getAttribute("aria-label")))
              .map((one) => one.outerHTML)"""
        )
        assert nameless == [], place
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place
        assert page.locator("h1").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_has_no_fault_that_axe_knows(
    browser: Browser, here: Served, scheme: Literal["light", "dark"]
) -> None:
    here.post("/api/ops/ask-for-summary", {})
    # The page's policy lets nobody put a script into it: here it is left out, so that axe can be.
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    window = context.new_page()
    for place in PLACES:
        visit(window, here, place)
        expect(window.get_by_text("Live")).to_be_visible()
        found = cast("dict[str, list[dict[str, Any]]]", Axe().run(window).response)  # pyright: ignore[reportUnknownMemberType]
        assert len(found["passes"]) > 20
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]] == [], (
            place
        )
    context.close()


def test_a_narrow_window_has_its_places_behind_a_button(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 760})
    menu = page.get_by_role("button", name="Menu")
    expect(menu).to_have_attribute("aria-expanded", "false")
    menu.click()
    page.get_by_role("navigation").get_by_role("link", name="Summaries").click()
    expect(page.get_by_role("heading", name="Summaries")).to_be_visible()
    expect(page.get_by_role("navigation")).to_be_hidden()


def test_every_type_of_field_can_be_filled_in(browser: Browser, tmp_path: Path) -> None:
    app = App("Things", folder=tmp_path)
    things = app.module("m").entity(
        "things",
        {
            "name": text(required=True, max=40),
            "count": number(),
            "is_good": flag(),
            "at": moment(),
            "kinds": choices("a", "b"),
            "others": refs("things"),
            "extra": json(),
            "password": text(write_only=True),
        },
        seed=[{"id": "first", "name": "First"}],
    )
    with serving(app) as here:
        window = browser.new_page()
        window.goto(f"{here.url}/#/things/+")
        window.get_by_label("Name").fill("Second")
        window.get_by_label("Count").fill("2.5")
        window.get_by_label("Is good").check()
        window.get_by_label("At", exact=True).fill("2026-07-31T09:15")
        window.get_by_label("B", exact=True).check()
        window.get_by_label("First").check()
        window.get_by_label("Extra").fill("{oops")
        window.get_by_role("button", name="Save").click()
        expect(window.locator('[data-field="extra"] .wrong')).to_have_text("Expected JSON.")
        window.get_by_label("Extra").fill('{"a": [1]}')
        window.get_by_role("button", name="Save").click()
        expect(window.get_by_role("heading", name="Second")).to_be_visible()
        expect(window.get_by_role("link", name="First")).to_be_visible()
        stored = things.list(filter='name = "Second"')[0]
        window.close()

    assert stored["count"] == 2.5
    assert stored["is_good"] is True
    assert stored["at"].endswith(":15:00.000Z")
    assert (stored["kinds"], stored["others"], stored["extra"]) == (["b"], ["first"], {"a": [1]})


def test_a_new_version_of_the_app_is_offered_and_nothing_that_is_typed_is_lost(
    browser: Browser, tmp_path: Path
) -> None:
    def version(number: str) -> App:
        manifest = {
            "id": "abc123abc123",
            "name": "Shelf",
            "agentAppVersion": "0.1.0",
            "adapterVersion": "0.1.0",
            "appVersion": number,
            "authMode": "none",
            "pipeline": {"install": "", "build": "", "start": "", "health": ""},
        }
        (tmp_path / "manifest.json").write_text(dumps(manifest))
        return reading_list.make_app(tmp_path)

    window = browser.new_page()
    with serving(version("1")) as here:
        window.goto(f"{here.url}/#/books/+")
        window.get_by_label("Title").fill("Half a title")
        port = here.port
    with serving(version("2"), port=port):
        expect(window.get_by_text("The app was changed.")).to_be_visible()
        expect(window.get_by_label("Title")).to_have_value("Half a title")
        window.get_by_role("button", name="Load it anew").click()
        expect(window.get_by_text("The app was changed.")).to_be_hidden()
    window.close()


def shelf(folder: Path, *, is_other: bool) -> App:
    """An app with one shelf of things; the other version has a field more and a field less."""
    app = App("Shelf", folder=folder)
    fields = {"name": text(required=True, max=40), "note": text(), "rating": number()}
    if is_other:
        del fields["note"]
        fields["room"] = text(max=40)
    app.module("m").entity("things", fields, seed=[{"id": "first", "name": "First"}])
    return app


def test_a_list_goes_on_without_the_field_that_it_was_sorted_by(browser: Browser, tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        with serving(shelf(tmp_path, is_other=False)) as here:
            window = stack.enter_context(open_window(browser, f"{here.url}/#/things"))
            window.get_by_role("button", name="Note").click()
            expect(window.get_by_role("columnheader", name="Note")).to_have_attribute(
                "aria-sort", "ascending"
            )
            port = here.port
        with serving(shelf(tmp_path, is_other=True), port=port):
            expect(window.get_by_role("columnheader", name="Room")).to_be_visible()
            expect(window.get_by_role("link", name="First")).to_be_visible()
            window.goto("about:blank")


@pytest.mark.requirement("P2")
@pytest.mark.parametrize("place", ["#/things/+", "#/things/first"])
def test_a_form_stays_as_it_is_when_the_app_declares_something_else(
    browser: Browser, tmp_path: Path, place: str
) -> None:
    with contextlib.ExitStack() as stack:
        with serving(shelf(tmp_path, is_other=False)) as here:
            window = stack.enter_context(open_window(browser, f"{here.url}/{place}"))
            if place.endswith("first"):
                window.get_by_role("button", name="Edit").click()
            window.get_by_label("Name").fill("Half a name")
            window.get_by_label("Note").fill("half a thought")
            port = here.port
        with serving(shelf(tmp_path, is_other=True), port=port) as here:
            expect(window.get_by_text("The app was changed meanwhile.")).to_be_visible()
            expect(window.get_by_label("Name")).to_have_value("Half a name")
            expect(window.get_by_label("Note")).to_have_value("half a thought")
            window.get_by_role("button", name="Show the new form").click()
            expect(window.get_by_label("Note")).to_be_hidden()
            expect(window.get_by_label("Name")).to_have_value("Half a name")
            window.get_by_label("Room").fill("There")
            window.get_by_role("button", name="Save").click()
            expect(window.get_by_role("heading", name="Half a name")).to_be_visible()
            (stored,) = here.get('/api/collections/things/records?filter=room="There"').body["items"]
            assert (stored["name"], stored["rating"]) == ("Half a name", None)
            window.goto("about:blank")


def test_a_form_that_nobody_typed_in_follows_the_app(browser: Browser, tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        with serving(shelf(tmp_path, is_other=False)) as here:
            window = stack.enter_context(open_window(browser, f"{here.url}/#/things/+"))
            expect(window.get_by_label("Note")).to_be_visible()
            port = here.port
        with serving(shelf(tmp_path, is_other=True), port=port):
            expect(window.get_by_label("Room")).to_be_visible()
            expect(window.get_by_label("Note")).to_be_hidden()
            expect(window.get_by_label("Name")).to_be_focused()
            window.goto("about:blank")


def test_an_app_that_goes_away_and_comes_back_is_followed(browser: Browser, tmp_path: Path) -> None:
    window = browser.new_page()
    app = reading_list.make_app(tmp_path)
    with serving(app) as here:
        window.goto(f"{here.url}/#/books")
        expect(window.get_by_text("Live")).to_be_visible()
        port = here.port
    expect(window.get_by_text("No answer")).to_be_visible()
    with serving(reading_list.make_app(tmp_path), port=port):
        expect(window.get_by_text("Live")).to_be_visible()
        window.get_by_role("button", name="Statistics").click()
        expect(window.get_by_text("Want: 2, Reading: 1, Finished: 0")).to_be_visible()
    window.close()
