"""Programs: how a harness's program is found, and how it is asked for its version."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from inspan.model.errors import HarnessError
from inspan.model.manifest import Manifest
from inspan.model.plan import ProbeResult, Problem

from .versions import version_lies_in

__all__ = ["FoundProgram", "find_program", "override_variable", "probe_program", "strip_environment"]

_OUTPUT_CAP_BYTES = 64 * 1024


class FoundProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A program, and the arguments that come before all others."""

    path: str
    prefix: tuple[str, ...] = ()


def override_variable(harness: str) -> str:
    """The variable by which an operator names a harness's program: `INSPAN_PROGRAM_` and the id in capitals."""
    return "INSPAN_PROGRAM_" + harness.upper().replace("-", "_")


def find_program(manifest: Manifest, environ: Mapping[str, str]) -> FoundProgram:
    """The program of a harness: named by the operator, on PATH, at a known path, or a module of our own.

    Raises:
        HarnessError: `not_installed`, with the way to install it.
    """
    program = manifest.program
    search = environ.get("PATH", os.defpath)
    variable = override_variable(manifest.id)
    if named := environ.get(variable):
        found = shutil.which(os.path.expanduser(named), path=search)
        if found is None:
            raise HarnessError(
                f"{variable} names {named!r}, which is no program that can be run.",
                code="not_installed",
                hint=f"Correct {variable}, or unset it.",
            )
        return FoundProgram(path=os.path.abspath(found))
    for name in program.names:
        if found := shutil.which(name, path=search):
            return FoundProgram(path=os.path.abspath(found))
    for path in program.paths:
        expanded = _expand_home(path, environ)
        if os.access(expanded, os.X_OK) and Path(expanded).is_file():
            return FoundProgram(path=expanded)
    if program.module:
        # -P keeps the working directory, which is the operator's workspace, off the module search path.
        return FoundProgram(path=sys.executable, prefix=("-P", "-m", program.module))
    looked = ", ".join((*program.names, *program.paths))
    raise HarnessError(
        f"{manifest.name} is not installed: found no {looked}.",
        code="not_installed",
        hint=(f"Install it: {program.install}. " if program.install else "")
        + f"Or name its program in {variable}.",
    )


async def probe_program(manifest: Manifest, environ: Mapping[str, str]) -> ProbeResult:
    """Asks the installed program for its version; no model call, and never longer than the probe's timeout.

    A version that is missing, odd or outside the tested range is an advisory and never a refusal.
    """
    try:
        found = find_program(manifest, environ)
    except HarnessError as error:
        problem = Problem(code=error.code, message=error.message, hint=error.hint)
        return ProbeResult(harness=manifest.id, installed="no", problems=(problem,))
    probe = manifest.program.version
    variables = {**strip_environment(environ, _all_stripped(manifest)), **probe.environment}
    output, fault = await _run([found.path, *found.prefix, *probe.args], variables, timeout_s=probe.timeout_s)
    if fault:
        problem = Problem(
            code="probe_failed",
            message=f"{found.path} {fault}.",
            hint=f"Run it by hand: {' '.join([found.path, *found.prefix, *probe.args])}",
            is_fatal=False,
        )
        return ProbeResult(harness=manifest.id, installed="unknown", program=found.path, problems=(problem,))
    match = re.search(probe.pattern, output)
    version = match[1] if match else None
    tested = version_lies_in(version, manifest.program.tested)
    problems: tuple[Problem, ...] = ()
    if version is None:
        problems = (
            Problem(
                code="probe_failed",
                message=f"{found.path} answered without a version.",
                hint="It may work all the same; its version is unknown.",
                is_fatal=False,
            ),
        )
    elif tested == "no":
        problems = (
            Problem(
                code="version_untested",
                message=f"{manifest.name} {version} lies outside {manifest.program.tested}, the range that was tried.",
                hint="It may work all the same; report what does not.",
                is_fatal=False,
            ),
        )
    return ProbeResult(
        harness=manifest.id,
        installed="yes",
        program=found.path,
        version=version,
        tested=tested,
        problems=problems,
    )


def strip_environment(environ: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """`environ` without the variables in `names`, where a trailing `*` matches a prefix."""
    return {
        name: value for name, value in environ.items() if not any(fnmatchcase(name, one) for one in names)
    }


def _all_stripped(manifest: Manifest) -> tuple[str, ...]:
    return tuple(name for mode in manifest.modes.values() for name in mode.environment.strip)


def _expand_home(path: str, environ: Mapping[str, str]) -> str:
    home = environ.get("HOME")
    return f"{home}{path[1:]}" if path.startswith("~/") and home else os.path.expanduser(path)


async def _run(argv: list[str], environ: Mapping[str, str], *, timeout_s: float) -> tuple[str, str]:
    """Output of a short run, and what went wrong; the whole process group is gone afterwards."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(environ),
            start_new_session=True,
        )
    except OSError as error:
        return "", f"cannot be started: {error.strerror or error}"
    if process.stdout is None or process.stderr is None:
        raise AssertionError("the probe has no pipes")
    try:
        async with asyncio.timeout(timeout_s):
            said, complained = await asyncio.gather(_read_all(process.stdout), _read_all(process.stderr))
            status = await process.wait()
    except TimeoutError:
        return "", f"did not answer within {timeout_s:g} s"
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    # Warnings on the standard error may hold numbers too, so they come last.
    text = (said + b"\n" + complained).decode("utf-8", errors="replace")
    if status != 0:
        last = text.strip().splitlines()[-1:] or [""]
        return text, f"ended with status {status}" + (f": {last[0][:200]}" if last[0] else "")
    return text, ""


async def _read_all(stream: asyncio.StreamReader) -> bytes:
    """The beginning of what comes; the rest is read and dropped, so that the writer never blocks."""
    kept = b""
    while chunk := await stream.read(_OUTPUT_CAP_BYTES):
        kept = (kept + chunk)[:_OUTPUT_CAP_BYTES]
    return kept
