"""An owner that can be killed at any instant: what it has received is in a file, and so is where it goes on.

Run as `owner_story.py LAUNCH_DIR NONCE FILE`. The file's size is the offset up to which all is durable.
"""

from __future__ import annotations

import asyncio
import sys
from io import SEEK_END, FileIO
from pathlib import Path

from inspan.holder import LaunchDisk, connect_holder
from inspan.model.errors import HolderError


async def main(directory: Path, nonce: str, path: str) -> None:
    with FileIO(path, "ab") as file:
        try:
            await follow(directory, nonce, file)
        except HolderError as error:
            if error.code != "holder_lost":
                raise
            for _, data in LaunchDisk(directory).read_journal(file.tell()):
                file.write(data)
    print("ended", flush=True)


async def follow(directory: Path, nonce: str, file: FileIO) -> None:
    offset = file.seek(0, SEEK_END)
    async with await connect_holder(directory, nonce=nonce) as connection:
        async for start, data in await connection.chunks(offset):
            assert start == offset
            file.write(data)
            offset += len(data)
            await connection.ack(offset)
        await connection.release()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
