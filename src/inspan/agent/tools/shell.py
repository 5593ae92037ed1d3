"""The `shell` tool: runs a command. It is not confined to the workspace; whether it may run is the permission engine's."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from inspan.agent.values import JsonObject, TextContent, ToolResult

from .arguments import arguments_of, schema_of, short
from .command_output import CommandOutput, clean_output
from .contract import Tool, ToolCallContext
from .ground import Ground, run_blocking
from .problems import ToolProblem, describe_os_error, telling_problems
from .processes import ProcessEnd, ProcessRun
from .settings import ShellSettings
from .shell_environment import command_environment

__all__ = ["shell_tool"]

_PROGRESS_EVERY_S = 0.25
_PROGRESS_CHARS = 200


class ShellArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of the `shell` tool."""

    command: Annotated[str, Meta(min_length=1, description="The command, for `bash -c` (or `sh -c`).")]
    folder: Annotated[str, Meta(description="Where to run it, relative to the workspace.")] = "."
    limit_s: Annotated[
        float, Meta(ge=0, description="How many seconds it may run; 0 for the usual time.")
    ] = 0


def shell_tool(ground: Ground, settings: ShellSettings) -> Tool:
    """Makes the tool."""
    description = f"""\
Runs a command and gives its output (both streams) and exit code. It has no input and no terminal, and each call starts anew: no \
variable or folder stays from the one before. After {settings.default_limit_s:g} seconds (limit_s, at most \
{settings.longest_limit_s:g}) it is ended, and whatever it left in the background is ended with it. Long output is cut in the \
middle, and the whole of it is in a file that read can show. To read, list, search or change files use the tools for that."""

    @telling_problems
    async def execute(arguments: JsonObject, call: ToolCallContext) -> ToolResult:
        wanted = arguments_of(ShellArguments, arguments)
        return await run_blocking(call, lambda stop: _run(ground, settings, wanted, call, stop))

    return Tool(
        name="shell",
        description=description,
        input_schema=schema_of(ShellArguments),
        execute=execute,
        kind="execute",
        title=lambda arguments: f"$ {short(arguments.get('command'))}",
        locations=ground.locations_of("folder"),
    )


def _run(
    ground: Ground,
    settings: ShellSettings,
    wanted: ShellArguments,
    call: ToolCallContext,
    stop: threading.Event,
) -> ToolResult:
    _check(wanted.command)
    limit_s = min(wanted.limit_s or settings.default_limit_s, settings.longest_limit_s)
    run = ProcessRun(
        [_shell(), "-c", wanted.command],
        folder=_folder(ground, wanted, call),
        environment=command_environment(os.environ, settings),
        limit_s=limit_s,
        stop=stop,
    )
    output = CommandOutput(
        ground.spills,
        call.session_id,
        limit_bytes=ground.settings.output_limit_chars,
        spill_bytes=ground.settings.spill_limit_bytes,
    )
    tell = _Progress(call)

    def take(piece: bytes) -> None:
        output.take(piece)
        tell.take(piece)

    try:
        end = run.run(take)
    except OSError as error:
        output.close()
        raise ToolProblem(describe_os_error(error, "The command")) from error
    text = output.close().rstrip("\n")
    content = "\n".join(part for part in (text, *_notes(end, limit_s)) if part)
    return ToolResult(
        content=(TextContent(text=content),), is_error=end.why != "exited" or end.exit_code != 0
    )


def _notes(end: ProcessEnd, limit_s: float) -> list[str]:
    match end.why:
        case "timeout":
            notes = [f"[The command was ended after its {limit_s:g} seconds.]"]
        case "cancelled":
            notes = ["[The command was ended: the call was cancelled.]"]
        case _:
            notes = [f"[ended by {end.signal}]" if end.signal else f"[exit code {end.exit_code}]"]
    if end.left_behind:
        notes.append(f"[Processes that it left behind were ended: {_listed(end.left_behind)}]")
    if end.still_there:
        notes.append(f"[Processes of it could not be ended: {_listed(end.still_there)}]")
    return notes


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _folder(ground: Ground, wanted: ShellArguments, call: ToolCallContext) -> Path:
    confinement = ground.confinement(call)
    place = confinement.find(wanted.folder)
    with confinement.open_folder(place):
        return place.path


def _check(command: str) -> None:
    if "\0" in command:
        raise ToolProblem("The command has a zero byte in it.")
    try:
        os.fsencode(command)
    except UnicodeEncodeError as error:
        raise ToolProblem("The command holds half of a character (a lone surrogate).") from error


def _shell() -> str:
    return shutil.which("bash") or shutil.which("sh") or "/bin/sh"


class _Progress:
    """Shows the latest line of output, now and then."""

    def __init__(self, call: ToolCallContext) -> None:
        self._call = call
        self._told_at = 0.0

    def take(self, piece: bytes) -> None:
        """Takes a piece of output."""
        now = time.monotonic()
        if now - self._told_at < _PROGRESS_EVERY_S:
            return
        lines = clean_output(piece[-4 * _PROGRESS_CHARS :]).split("\n")
        line = next((line.strip() for line in reversed(lines) if line.strip()), "")
        if line:
            self._told_at = now
            self._call.progress(line[:_PROGRESS_CHARS])
