"""What live tests stand on, seen from one of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.live


def test_what_was_installed_is_looked_for_outside_the_home_of_a_test(throwaway_home: Path) -> None:
    assert not Path(os.environ["INSPAN_CACHE"]).is_relative_to(throwaway_home)
