"""A real browser for the tests of pages, and how they hold back what a page waits for.

Needs Debian's chromium, or any other that is called so: `apt-get install chromium`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Generator

import pytest
from playwright.sync_api import APIResponse, Browser, Page, Route, expect, sync_playwright

__all__ = ["Gate", "open_browser", "open_window"]

_DEADLINE_S = 30.0
"""How long a page may take to do what a test waits for: a machine may be busy, and nobody waits so long in vain."""


@contextlib.contextmanager
def open_browser() -> Generator[Browser]:
    """A browser without a screen, for the block. Outside of it no event loop of Playwright is left in this thread."""
    program = next(
        (found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None
    )
    if program is None:
        pytest.fail("There is no chromium here: run `apt-get install --no-install-recommends chromium`.")
    # Chromium refuses its sandbox to root, who runs CI.
    args = ["--no-sandbox"] if os.geteuid() == 0 else []
    expect.set_options(timeout=_DEADLINE_S * 1000)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=args)
        yield started
        started.close()


@contextlib.contextmanager
def open_window(browser: Browser, url: str) -> Generator[Page]:
    """A window with a page, for the block. Whatever the page complains of fails the test."""
    faults: list[str] = []
    window = browser.new_page(viewport={"width": 1200, "height": 800})
    window.set_default_timeout(_DEADLINE_S * 1000)
    window.on("pageerror", lambda error: faults.append(str(error)))
    window.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    window.goto(url)
    yield window
    # What is held back as the test ends is given to nobody.
    window.unroute_all(behavior="ignoreErrors")
    window.close()
    # An answer that refuses something, or that never came, is written down by the browser itself.
    assert [one for one in faults if "Failed to load resource" not in one] == []


class Gate:
    """Holds back the answers to what a page asks of one place. Each is as it was when it was asked for.

    Args:
        page: The page that asks.
        place: The address of the place, with `*` for what may vary.
        method: Which questions are meant; all of them where it is empty.
    """

    def __init__(self, page: Page, place: str, *, method: str = "") -> None:
        self._page = page
        self._method = method
        self._held: list[tuple[Route, APIResponse]] = []
        self._passing = 0
        self._is_open = False
        page.route(place, self._meet)

    def wait_for_one(self) -> None:
        """Returns when an answer is held."""
        while not self._held:
            self._give_time()

    def open(self) -> None:
        """Lets pass what is asked from now on."""
        self._is_open = True

    def close(self) -> None:
        """Holds what is asked from now on. What was asked before is answered."""
        self._is_open = False
        while self._passing:
            self._give_time()

    def let_go(self) -> None:
        """Gives the page the answer that was held first, and the time to do with it what it does."""
        self.wait_for_one()
        route, response = self._held.pop(0)
        with self._page.expect_response(lambda one: one.request == route.request) as heard:
            route.fulfill(response=response)
        heard.value.finished()
        for _ in range(5):
            self._page.evaluate("() => fetch(location.pathname).then((one) => one.text())")

    def _give_time(self) -> None:
        self._page.evaluate("() => new Promise(requestAnimationFrame)")

    def _meet(self, route: Route) -> None:
        if self._method not in ("", route.request.method):
            route.continue_()
        elif self._is_open:
            self._passing += 1
            route.fulfill(response=_answer_to(route))
            self._passing -= 1
        else:
            self._held.append((route, _answer_to(route)))


def _answer_to(route: Route) -> APIResponse:
    # What a browser adds by itself says that a page of the same place asks, and is not among what Playwright sends.
    return route.fetch(headers={**route.request.headers, "sec-fetch-site": "same-origin"})
