"""Short runs: a program is asked one thing and gone again, with what it said and what went wrong."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping

import msgspec

__all__ = ["ShortRun", "run_shortly"]

_OUTPUT_CAP_BYTES = 64 * 1024


class ShortRun(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a short run.

    Attributes:
        output: What it wrote: the standard output, then the standard error; the first 64 KiB of each.
        fault: What went wrong, in words that follow the program's name; empty where it ended with status 0.
        status: Its exit status; `None` where it did not start or did not end in time.
    """

    output: str = ""
    fault: str = ""
    status: int | None = None


async def run_shortly(
    argv: list[str], environ: Mapping[str, str], *, timeout_s: float, cwd: str | None = None
) -> ShortRun:
    """Runs a program without input, and never longer than `timeout_s`; its whole group is gone afterwards."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(environ),
            cwd=cwd,
            start_new_session=True,
        )
    except OSError as error:
        return ShortRun(fault=f"cannot be started: {error.strerror or error}")
    if process.stdout is None or process.stderr is None:
        raise AssertionError("the probe has no pipes")
    try:
        async with asyncio.timeout(timeout_s):
            written, complained = await asyncio.gather(_read_all(process.stdout), _read_all(process.stderr))
            status = await process.wait()
    except TimeoutError:
        return ShortRun(fault=f"did not answer within {timeout_s:g} s")
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    # Warnings on the standard error may hold numbers too, so they come last.
    text = (written + b"\n" + complained).decode("utf-8", errors="replace")
    if status != 0:
        last = text.strip().splitlines()[-1:] or [""]
        said = f": {last[0][:200]}" if last[0] else ""
        return ShortRun(output=text, fault=f"ended with status {status}{said}", status=status)
    return ShortRun(output=text, status=0)


async def _read_all(stream: asyncio.StreamReader) -> bytes:
    """The beginning of what comes; the rest is read and dropped, so that the writer never blocks."""
    kept = b""
    while chunk := await stream.read(_OUTPUT_CAP_BYTES):
        kept = (kept + chunk)[:_OUTPUT_CAP_BYTES]
    return kept
