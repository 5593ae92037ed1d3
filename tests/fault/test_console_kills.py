"""A console is believed to be what it shows, whatever died while it came to show that.

`FAULT_KILLS` says how many kills there are (a tenth of it here), `FAULT_SEED` with which seed they begin.
"""

from __future__ import annotations

import asyncio
import os

import pytest

from support.console_killing_ground import ConsoleKillingGround

KILLS = max(1, int(os.environ.get("FAULT_KILLS", "200")) // 10)
SEED = int(os.environ.get("FAULT_SEED", "1"))


@pytest.mark.fault
@pytest.mark.timeout(1200)
@pytest.mark.requirement("L8")
def test_whatever_dies_the_log_believes_of_a_console_what_a_replay_of_all_its_bytes_says() -> None:
    async def story() -> None:
        ground = ConsoleKillingGround(SEED)
        try:
            await ground.prepare()
            while ground.toll.total < KILLS:
                await ground.act()
                await ground.compare()
            await ground.compare()
            await ground.end()
        finally:
            await ground.close()
        print(f"{ground.toll}; {ground.checked} comparisons, {ground.answered} answers, each given once")
        assert ground.checked > 0
        assert ground.answered > 0

    asyncio.run(story())
