"""As `full_disk_story`, for a launch with a terminal: it is resized and typed into while the disk is full."""

from __future__ import annotations

import asyncio
import errno
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from inspan.holder import LaunchDisk, TerminalSize
from support.holders import Launches, connect, script, until
from support.terminals import RAW, SIZE

TMPFS_BYTES = 1024 * 1024
LINES = 200_000
HARNESS = (
    RAW + "def write(data):\n"
    "    while data: data = data[os.write(1, data):]\n"
    f"for n in range(0, {LINES}, 1000): write(b''.join(b'%09d\\n' % m for m in range(n, n + 1000)))\n"
    "size = os.get_terminal_size()\n"
    "write(b'%dx%d %s' % (size.columns, size.lines, os.read(0, 10)))\n"
)


async def tell(launches: Launches) -> dict[str, Any]:
    told: dict[str, Any] = {}
    spec = await launches.start(*script(HARNESS), segment_bytes=64 * 1024, cwd=Path("/"), terminal=SIZE)
    disk = LaunchDisk(spec.directory)
    async with await connect(spec) as connection:
        stalls: list[int | None] = [connection.stalled] if connection.stalled else []
        connection.on_stall = stalls.append
        await until(lambda: stalls, "the journal stalls")
        told["stalled"] = errno.errorcode[stalls[0] or 0]
        end = (await connection.status()).journal.end
        await connection.resize(100, 30)
        terminal = (await connection.status()).terminal or SIZE
        told["terminal"] = [terminal.columns, terminal.rows]
        await connection.type_keys(b"keys")
        told["keys"] = "taken"
        told["reply"] = await connection.reply(end, b"+reply")
        received, sizes = bytearray(), list[tuple[int, TerminalSize]]()
        is_in_order = True
        async for piece in await connection.terminal_pieces(0):
            is_in_order = is_in_order and piece.offset == len(received)
            if not sizes or sizes[-1][1] != piece.size:
                sizes.append((piece.offset, piece.size))
            received += piece.data
            await connection.ack(len(received))
        told["resumed"] = None in stalls
        expected = b"ready " + b"".join(b"%09d\n" % n for n in range(LINES)) + b"100x30 keys+reply"
        told["is_whole_and_in_order"] = is_in_order and bytes(received) == expected
        told["sizes"] = [[size.columns, size.rows] for _, size in sizes]
        told["resized_after_stall"] = sizes[-1][0] >= end
        await until(lambda: disk.sizes()[-1][1] == terminal, "the size is recorded")
        told["recorded"] = disk.sizes()[-1] == sizes[-1]
        told["exit_code"] = (await connection.wait_exited()).exit_code
        await connection.release()
    await until(disk.is_holder_dead, "the holder leaves")
    return told


def main() -> dict[str, Any]:
    launches = Launches()
    options = f"size={TMPFS_BYTES},mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", launches.root], check=True)
    try:
        return asyncio.run(tell(launches))
    finally:
        for spec in launches.specs:
            if not LaunchDisk(spec.directory).is_holder_dead():
                asyncio.run(launches.stop_all())
        subprocess.run(["umount", launches.root], check=True)
        launches.root.rmdir()


if __name__ == "__main__":
    tempfile.tempdir = "/tmp"
    print(json.dumps(main()))
