"""How a tool says that a call failed: in words that the model can act on, never as a traceback."""

from __future__ import annotations

import errno
import functools
import os

from inspan.agent.values import JsonObject, ToolResult

from .contract import Execute, ToolCallContext

__all__ = ["ToolProblem", "describe_os_error", "telling_problems"]

_WORDS = {
    errno.ENOENT: "does not exist",
    errno.EACCES: "may not be opened: permission denied",
    errno.EPERM: "may not be changed: the system does not permit it",
    errno.EROFS: "is on a read-only disk",
    errno.ENOSPC: "could not be written: there is no room on the disk. What was there is unchanged",
    errno.EDQUOT: "could not be written: the disk quota is used up. What was there is unchanged",
    errno.EFBIG: "could not be written: it would be too large. What was there is unchanged",
    errno.ENAMETOOLONG: "has a name that is too long",
    errno.ENOTDIR: "has a part that is not a folder",
    errno.EISDIR: "is a folder",
    errno.ELOOP: "has too many symbolic links, or one that was put there meanwhile",
    errno.EMFILE: "could not be opened: too many files are open",
    errno.EIO: "could not be read or written: the disk reports an error",
}


class ToolProblem(Exception):
    """Why a call failed. The text goes to the model, so it names no secret."""


def describe_os_error(error: OSError, name: str) -> str:
    """Says what the system refused, of the thing called `name`, as a sentence."""
    words = _WORDS.get(error.errno or 0)
    if words is None:
        words = f"could not be used: {os.strerror(error.errno) if error.errno else type(error).__name__}"
    return f"{name} {words}."


def telling_problems(execute: Execute) -> Execute:
    """Wraps what a tool does, so that a `ToolProblem` becomes an error result with its text.

    Any other exception goes on to the caller, which tells its class alone.
    """

    @functools.wraps(execute)
    async def run(arguments: JsonObject, call: ToolCallContext) -> ToolResult:
        try:
            return await execute(arguments, call)
        except ToolProblem as problem:
            return ToolResult.error(str(problem))

    return run
