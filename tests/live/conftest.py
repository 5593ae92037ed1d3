"""What every live test stands on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.live import opencode as opencode_target
from support.live.arena import Arena, open_arena
from support.live.netns import Namespace, obstacle, open_namespace
from support.live.target import ReadyTarget, open_target

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_OPT_INS = {
    "INSPAN_LIVE_PROPRIETARY": "of harnesses that are not free software",
    "INSPAN_LIVE_ALL": "of harnesses that are large, or take long",
}
"""The variables without which some tests do not run, and which tests these are."""

_NOT_RUN = pytest.StashKey[dict[str, int]]()

# Each test gets an XDG_CACHE_HOME of its own; what was installed before must be found in spite of that.
os.environ.setdefault(
    "INSPAN_CACHE", str(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "inspan-live")
)


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known by which a test waits for its variable."""
    config.addinivalue_line("markers", "opt_in(variable): runs where the variable is 1, and nowhere else")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what nobody asked for: as tests that did not run, not as skips that look green."""
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    count = config.stash.setdefault(_NOT_RUN, {})
    for item in items:
        mark = item.get_closest_marker("opt_in")
        variable = str(mark.args[0]) if mark else ""
        if not variable or os.environ.get(variable) == "1":
            kept.append(item)
            continue
        assert variable in _OPT_INS, f"{item.nodeid} waits for {variable}, of which conftest.py knows nothing"
        left_out.append(item)
        count[variable] = count.get(variable, 0) + 1
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say at the end what did not run, and how to run it."""
    for variable, number in config.stash.setdefault(_NOT_RUN, {}).items():
        what = _OPT_INS[variable]
        terminalreporter.write_line(
            f"NOT RUN: {number} live tests {what}; run them with {variable}=1", yellow=True
        )


@pytest.fixture(scope="session")
def namespace() -> Iterator[Namespace]:
    """One loopback-only network namespace for the whole run."""
    reason = obstacle()
    if reason is not None:
        if os.environ.get("INSPAN_LIVE_OPTIONAL") == "1":
            pytest.skip(reason)
        pytest.fail(reason)
    with open_namespace() as made:
        yield made


@pytest.fixture
def arena(namespace: Namespace) -> Iterator[Arena]:
    """A throwaway home and workspace with the scripted model, and no harness."""
    with open_arena(namespace) as made:
        yield made


@pytest.fixture
def opencode(namespace: Namespace) -> Iterator[ReadyTarget]:
    """OpenCode at its pinned version in an arena of its own, set up for the scripted model."""
    with open_target(opencode_target.TARGET, namespace) as ready:
        yield ready


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser, for the tests of a page in one module: while it is open, no other event loop runs here."""
    from support.live.browser import open_browser

    with open_browser() as opened:
        yield opened
