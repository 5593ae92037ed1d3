"""An owner of a terminal that can be killed at any instant: it answers `ESC [ N n` with `ESC [ N ; R`.

Run as `terminal_story.py LAUNCH_DIR NONCE`. It keeps nothing on the disk: each one reads from the beginning.
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

from inspan.holder import connect_holder

QUERY = re.compile(rb"\x1b\[(\d+)n")


async def main(directory: Path, nonce: str) -> None:
    rest = b""
    async with await connect_holder(directory, nonce=nonce) as connection:
        async for piece in await connection.terminal_pieces(0):
            text = rest + piece.data
            answers = b"".join(b"\x1b[%s;R" % number for number in QUERY.findall(text))
            # A query that was cut is answered when its end has come, as an emulator would.
            rest = text[max((found.end() for found in QUERY.finditer(text)), default=0) :][-16:]
            if answers:
                await connection.reply(piece.offset + len(piece.data), answers)
        await connection.release()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
