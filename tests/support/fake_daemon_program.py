"""The daemon as a program, with the scripted service behind it; otherwise as `python -m inspan.daemon`."""

from inspan.daemon.interrupts import Interrupts


def main() -> int:
    """Runs it and gives its exit status."""
    interrupts = Interrupts()
    interrupts.install()

    import asyncio
    import contextlib
    import os
    import sys
    from collections.abc import AsyncGenerator
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

    from inspan.daemon.composition import Parts
    from inspan.daemon.main import run
    from inspan.home import Home
    from support.fake_service import FakeLog, FakeService

    @contextlib.asynccontextmanager
    async def parts(_: Home) -> AsyncGenerator[Parts]:
        if pause_s := os.environ.get("FAKE_DAEMON_SLOW_START_S"):
            await asyncio.sleep(float(pause_s))
        log = FakeLog()
        yield Parts(seats=FakeService(log), log=log)

    return run(interrupts, open_parts=parts)


if __name__ == "__main__":
    raise SystemExit(main())
