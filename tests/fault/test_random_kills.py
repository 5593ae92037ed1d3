"""Anything may die at any instant: each accepted prompt arrives exactly once or is said to be `unknown`.

`FAULT_KILLS` says how many kills there are in all (200 unless set), `FAULT_SEED` with which seed they begin.
"""

from __future__ import annotations

import asyncio
import os

import pytest

from support.killing_ground import KillingGround, Toll

KILLS = int(os.environ.get("FAULT_KILLS", "200"))
SEED = int(os.environ.get("FAULT_SEED", "1"))
KILLS_A_GROUND = 20


@pytest.mark.fault
@pytest.mark.timeout(3000)
@pytest.mark.requirement("L8", "L13", "H-H1", "H-H2", "H-E3", "H-N43")
def test_whatever_dies_each_prompt_arrives_once_or_is_unknown_and_every_event_is_kept() -> None:
    async def ground_of(seed: int, kills: int) -> Toll:
        ground = KillingGround(seed)
        try:
            await ground.prepare()
            while ground.toll.total < kills:
                await ground.act()
            views = await ground.settle()
            await ground.check(views)
        finally:
            await ground.close()
        states = sorted(str(view.state) for view in views.values())
        print(f"seed {seed}: {ground.toll}; prompts: { ({s: states.count(s) for s in set(states)}) }")
        return ground.toll

    total, seed = 0, SEED
    while total < KILLS:
        toll = asyncio.run(ground_of(seed, min(KILLS_A_GROUND, KILLS - total)))
        total += toll.total
        seed += 1
    print(f"{total} kills survived")
    assert total >= KILLS
