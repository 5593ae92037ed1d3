"""What the tests of the command line stand on: a daemon whose answers the test writes."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.scripted_http import ScriptedHttp, scripted_http


@pytest.fixture
def daemon(throwaway_home: Path) -> Iterator[ScriptedHttp]:
    """A fake daemon on the test's home."""
    with scripted_http(Path(os.environ["INSPAN_HOME"]) / "daemon.sock") as served:
        yield served
