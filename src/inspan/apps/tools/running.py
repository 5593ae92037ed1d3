"""Runs a program for a tool and turns what it said into words for a model.

No shell is involved, standard input is closed, and a status that is not zero is data for the model: it says what the
app refused and what to do. Only a program that did not start, or an app that cannot be reached, is an error.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from inspan.apps.model.verbs import FRAMEWORK_VERBS, REGISTRY_VERBS

from .arguments import ArgumentsRefused
from .table import Program, ToolSpec

__all__ = [
    "ProgramResult",
    "call_tool",
    "is_error",
    "program_argv",
    "program_for_words",
    "run_program",
    "text_for_model",
    "verb_of",
]

_VARIABLES: Mapping[Program, str] = {"a2app": "A2APP_CLI", "agent-app": "AGENT_APP_CLI"}

_MODULES: Mapping[Program, str] = {
    "a2app": "inspan.apps.programs.a2app",
    "agent-app": "inspan.apps.programs.agent_app",
}

_UNREACHABLE = 3
_LARGEST_OUTPUT_BYTES = 16 * 1024 * 1024
_GRACE_S = 2.0


class ProgramResult(NamedTuple):
    """What a program did.

    Attributes:
        code: Its exit status; negative if it could not be started or was ended by a signal.
        stdout: What it printed.
        stderr: What it said beside that, or why it did not start.
        json: The object or list that it printed, if it was one.
    """

    code: int
    stdout: str
    stderr: str
    json: Any = None

    @property
    def ok(self) -> bool:
        """Whether it did what was asked."""
        return self.code == 0


def program_argv(program: Program, environment: Mapping[str, str] | None = None) -> list[str]:
    """The words that start a program: what `A2APP_CLI` or `AGENT_APP_CLI` names, else the one that was installed.

    A script of Node's (`.js`, `.mjs`, `.cjs`) runs under `node`. Without an installed program our own is run by this
    very Python.
    """
    variables = os.environ if environment is None else environment
    named = variables.get(_VARIABLES[program], "").strip()
    if named:
        return ["node", named] if named.endswith((".js", ".mjs", ".cjs")) else [named]
    beside = Path(sys.executable).parent / program
    if beside.is_file() and os.access(beside, os.X_OK):
        return [str(beside)]
    found = shutil.which(program, path=variables.get("PATH"))
    return [found] if found else [sys.executable, "-m", _MODULES[program]]


async def run_program(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> ProgramResult:
    """Runs a program to its end. It has no deadline of its own; cancelling ends it and its process group.

    A program that cannot be started gives a result of code -1.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=None if environment is None else dict(environment),
            cwd=cwd,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        return ProgramResult(
            -1, "", f"{argv[0]} could not be started: {reason}. Is Inspan installed for this user?"
        )
    streams = [stream for stream in (process.stdout, process.stderr) if stream is not None]
    try:
        out, err = await asyncio.gather(*map(_read, streams))
        await process.wait()
    except asyncio.CancelledError:
        await _end(process)
        raise
    code = process.returncode if process.returncode is not None else -1
    return ProgramResult(code, out, err, _parsed(out))


async def call_tool(
    tool: ToolSpec,
    arguments: Mapping[str, Any],
    *,
    environment: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> ProgramResult:
    """Runs one tool.

    Raises:
        ArgumentsRefused: The arguments cannot be used; nothing was run.
    """
    words = tool.argv(arguments)
    return await run_program(
        [*program_argv(tool.program, environment), *words], environment=environment, cwd=cwd
    )


def text_for_model(result: ProgramResult) -> str:
    """What the model reads: what was printed; what was said beside it too when it failed or printed nothing."""
    parts = [result.stdout.strip()]
    if not result.ok or not parts[0]:
        parts.append(result.stderr.strip())
    return "\n".join(part for part in parts if part) or f"exit {result.code}"


def is_error(result: ProgramResult) -> bool:
    """Whether the call failed as a call: the app cannot be reached, or the program did not run to its end."""
    return result.code == _UNREACHABLE or result.code < 0


def verb_of(words: Sequence[str]) -> str:
    """The verb of a command line that a person typed: the second word, or the first where it takes no app."""
    if not words:
        return ""
    return words[0] if words[0] in REGISTRY_VERBS else (words[1] if len(words) > 1 else "")


def program_for_words(words: Sequence[str]) -> Program:
    """Which program a person's command line is meant for. Never used for tools.

    Raises:
        ArgumentsRefused: There are no words.
    """
    if not words:
        raise ArgumentsRefused("Nothing was asked.", hint="Say an app and what to do with it, or `list`.")
    return "agent-app" if verb_of(words) in FRAMEWORK_VERBS else "a2app"


async def _read(stream: asyncio.StreamReader) -> str:
    """All of a stream; what is beyond the bound is read and thrown away, and said."""
    kept, size = bytearray(), 0
    while piece := await stream.read(65536):
        size += len(piece)
        if len(kept) < _LARGEST_OUTPUT_BYTES:
            kept += piece[: _LARGEST_OUTPUT_BYTES - len(kept)]
    text = kept.decode(errors="replace")
    return (
        text
        if size <= _LARGEST_OUTPUT_BYTES
        else f"{text}\n… cut after {_LARGEST_OUTPUT_BYTES} bytes of {size}"
    )


async def _end(process: asyncio.subprocess.Process) -> None:
    for number, grace_s in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, _GRACE_S)):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        try:
            async with asyncio.timeout(grace_s):
                await process.wait()
            return
        except TimeoutError:
            continue


def _parsed(text: str) -> Any:
    bare = text.strip()
    if not bare.startswith(("{", "[")):
        return None
    try:
        return json.loads(bare)
    except (ValueError, RecursionError):
        return None
