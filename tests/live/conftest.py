"""What every live test stands on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.live import opencode as opencode_target
from support.live.arena import Arena, open_arena
from support.live.netns import Namespace, obstacle, open_namespace
from support.live.target import ReadyTarget, open_target

# Each test gets an XDG_CACHE_HOME of its own; what was installed before must be found in spite of that.
os.environ.setdefault(
    "INSPAN_CACHE", str(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "inspan-live")
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
