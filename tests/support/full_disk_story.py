"""Run in a mount namespace of its own: a launch on a small tmpfs that fills up, and what was seen, as JSON."""

from __future__ import annotations

import asyncio
import errno
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from inspan.holder import LaunchDisk

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.holders import Launches, connect, members, script, until

TMPFS_BYTES = 1024 * 1024
LINES = 400_000
HARNESS = (
    "import sys\n"
    f"for n in range({LINES}): sys.stdout.write('%09d\\n' % n)\n"
    "sys.stdout.flush()\n"
    "sys.exit(len(sys.stdin.read()) - 6)\n"
)


async def tell(launches: Launches) -> dict[str, Any]:
    told: dict[str, Any] = {}
    try:
        spec = await launches.start(*script(HARNESS), segment_bytes=64 * 1024, cwd=Path("/"))
        async with await connect(spec) as connection:
            stalls: list[int | None] = [connection.stalled] if connection.stalled else []
            connection.on_stall = stalls.append
            await until(lambda: stalls, "the journal stalls")
            told["stalled"] = errno.errorcode[stalls[0] or 0]
            status = await connection.status()
            told["stalled_in_status"] = status.stalled == errno.ENOSPC
            told["harness_running"] = status.harness.running
            told["write_while_full"] = (await connection.write(1, b"first\n")).outcome
            received = bytearray()
            is_in_order = True
            await connection.close_stdin()
            async for offset, data in await connection.chunks(0):
                is_in_order = is_in_order and offset == len(received)
                received += data
                await connection.ack(len(received))
            told["resumed"] = None in stalls
            expected = b"".join(b"%09d\n" % n for n in range(LINES))
            told["is_whole_and_in_order"] = is_in_order and bytes(received) == expected
            told["exit_code"] = (await connection.wait_exited()).exit_code
            await connection.release()
        await until(LaunchDisk(spec.directory).is_holder_dead, "the holder leaves")
        told["left"] = members(spec)
    finally:
        for spec in launches.specs:
            if not LaunchDisk(spec.directory).is_holder_dead():
                await launches.stop_all()
    return told


def main() -> dict[str, Any]:
    launches = Launches()
    options = f"size={TMPFS_BYTES},mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", launches.root], check=True)
    try:
        return asyncio.run(tell(launches))
    finally:
        subprocess.run(["umount", launches.root], check=True)
        launches.root.rmdir()


if __name__ == "__main__":
    tempfile.tempdir = "/tmp"
    print(json.dumps(main()))
