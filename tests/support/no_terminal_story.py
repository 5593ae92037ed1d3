"""Run in a mount namespace of its own: a launch on a system that has no terminal left, and what was said."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from inspan.model.errors import HolderError
from support.holders import Launches, members
from support.terminals import SIZE


async def main() -> None:
    launches = Launches()
    try:
        await launches.start("cat", terminal=SIZE)
    except HolderError as error:
        print(error.code, error.detail["reason"], members(launches.specs[0]))
    finally:
        await launches.stop_all()


if __name__ == "__main__":
    options = "newinstance,ptmxmode=0666,max=1"
    subprocess.run(["mount", "-t", "devpts", "-o", options, "devpts", "/dev/pts"], check=True)
    held = os.openpty()
    asyncio.run(main())
