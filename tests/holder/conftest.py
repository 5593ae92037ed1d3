from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from support.holders import Launches


@pytest.fixture
def launches() -> Iterator[Launches]:
    made = Launches()
    yield made
    asyncio.run(made.stop_all())
