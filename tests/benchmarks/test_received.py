"""The agent's updates are counted right, however their bytes come."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fake_agent import UPDATE_BYTES, update_line
from benchmarks.received import Received, percentile

CLOCKS = [7, 10**9, 10**13]


@pytest.mark.parametrize("clock_us", CLOCKS)
@pytest.mark.parametrize("session", ["s1", "s4194304"])
@pytest.mark.parametrize("number", [0, 19_999])
def test_an_update_is_one_line_of_two_hundred_bytes(number: int, clock_us: int, session: str) -> None:
    line = update_line(number, clock_us, session)

    assert len(line) == UPDATE_BYTES + 1
    assert json.loads(line)["params"]["sessionId"] == session
    assert line.count(b"\n") == 1


@given(st.lists(st.integers(min_value=1, max_value=400), max_size=8))
def test_updates_are_found_once_each_wherever_the_stream_is_cut(cuts: list[int]) -> None:
    data = b"".join(update_line(number, 5, "s7") for number in range(10))
    received = Received()
    found = 0
    for cut in cuts:
        found += received.feed(data[:cut])
        data = data[cut:]
    found += received.feed(data)

    assert found == received.total == 10
    assert received.doubled == 0


def test_what_is_missing_and_what_came_twice_is_told_by_session() -> None:
    received = Received()
    for number, session in [(0, "s1"), (2, "s1"), (2, "s1"), (0, "s2")]:
        received.feed(update_line(number, 5, session))

    assert received.total == 3
    assert received.doubled == 1
    assert len(received.latencies_us) == 4


def test_a_percentile_is_one_of_the_values() -> None:
    values = list(range(1, 101))

    assert percentile(values, 99) == 99
    assert percentile(values, 50) == 50
    assert percentile([5], 99) == 5
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 99)
