"""Short runs: a program is asked one thing and gone again, with what it said and what went wrong."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping

import msgspec

__all__ = ["ShortRun", "run_shortly"]

_OUTPUT_CAP_BYTES = 64 * 1024
_AFTER_ANSWER_S = 2.0
"""How long a program that has said what it was asked for may take to end by itself."""


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
    argv: list[str],
    environ: Mapping[str, str],
    *,
    timeout_s: float,
    cwd: str | None = None,
    is_answer: Callable[[str], bool] | None = None,
) -> ShortRun:
    """Runs a program without input, and never longer than `timeout_s`; its whole group is gone afterwards.

    With `is_answer`, a program that does not end is believed once the lines of its standard output are what was asked
    for, and ended soon after.
    """
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
    written, complained = _Output(is_answer), _Output(None)
    status = None
    try:
        async with asyncio.timeout(timeout_s) as limit:
            written.limit = limit
            await asyncio.gather(written.read(process.stdout), complained.read(process.stderr))
            status = await process.wait()
    except TimeoutError:
        if not written.is_answered(whole=True):
            return ShortRun(fault=f"did not answer within {timeout_s:g} s")
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    # Warnings on the standard error may hold numbers too, so they come last.
    text = (written.kept + b"\n" + complained.kept).decode("utf-8", errors="replace")
    if status is None:
        return ShortRun(output=text)
    if status != 0:
        last = text.strip().splitlines()[-1:] or [""]
        said = f": {last[0][:200]}" if last[0] else ""
        return ShortRun(output=text, fault=f"ended with status {status}{said}", status=status)
    return ShortRun(output=text, status=0)


class _Output:
    """The beginning of what comes; the rest is read and dropped, so that the writer never blocks."""

    def __init__(self, is_answer: Callable[[str], bool] | None) -> None:
        self.kept = b""
        self.limit: asyncio.Timeout | None = None
        self._is_answer = is_answer
        self._was_answered = False

    async def read(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(_OUTPUT_CAP_BYTES):
            self.kept = (self.kept + chunk)[:_OUTPUT_CAP_BYTES]
            if self.limit is not None and not self._was_answered and self.is_answered(whole=False):
                self._was_answered = True
                until = asyncio.get_running_loop().time() + _AFTER_ANSWER_S
                self.limit.reschedule(min(until, self.limit.when() or until))

    def is_answered(self, *, whole: bool) -> bool:
        """Whether it holds what was asked for; a line that has not ended counts only with `whole`."""
        lines = self.kept if whole else self.kept[: self.kept.rfind(b"\n") + 1]
        return self._is_answer is not None and self._is_answer(lines.decode("utf-8", errors="replace"))
