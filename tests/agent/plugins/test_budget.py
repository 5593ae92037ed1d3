"""One span of time for several steps: each may take a part of what is left, and the last one all of it."""

from __future__ import annotations

import asyncio

import pytest

from inspan.agent.plugins.budget import Budget


@pytest.mark.requirement("R85", "R86")
def test_a_step_that_takes_all_it_may_leaves_a_fifth_to_those_after_it() -> None:
    async def scenario() -> tuple[float, float, float]:
        budget = Budget(1_000)
        before = budget.left_s
        return budget.share_s(is_last=False), budget.share_s(is_last=True), before

    share, last, left = asyncio.run(scenario())

    assert share <= left * 0.8
    assert share == pytest.approx(800, abs=10)
    assert last == pytest.approx(1_000, abs=10)


def test_time_that_is_over_is_none() -> None:
    async def scenario() -> tuple[float, float, float]:
        budget = Budget(-1)
        return budget.left_s, budget.share_s(is_last=False), budget.share_s(is_last=True)

    assert asyncio.run(scenario()) == (0, 0, 0)
