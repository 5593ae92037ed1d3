"""Probing: what is installed, in which version, on which runtime, and whether somebody is signed in."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Literal, NamedTuple

from inspan.model.errors import HarnessError
from inspan.model.installation import FORWARD_AUTH
from inspan.model.manifest import Manifest, Program, SignIn
from inspan.model.plan import ProbeResult, Problem, ProgramFound, RuntimeFound

from .diagnosing import say_how_given
from .packages import package_version
from .programs import FoundProgram, expand_home, find_program, program_of, strip_environment
from .short_runs import run_shortly
from .versions import version_lies_in

__all__ = ["probe_harness"]

_RUNTIME_TIMEOUT_S = 10.0
_VERSION = re.compile(r"(\d+(?:\.\d+)+)")

YesNo = Literal["yes", "no", "unknown"]


async def probe_harness(
    manifest: Manifest, environ: Mapping[str, str], *, present: AbstractSet[str]
) -> ProbeResult:
    """Asks the installed programs what they are; no model call, and never longer than the probes' timeouts.

    A version that is missing, odd or outside the tested range is an advisory and never a refusal. Problems are
    given in the order in which they are best mended: what the program needs, the program, its version, sign-in.

    Args:
        manifest: The harness.
        environ: The environment without secrets.
        present: Names of all variables that are set and not empty, secrets included.
    """
    environ = strip_environment(environ, _all_stripped(manifest))
    groups = _programs(manifest)
    needed = dict(item for _, program in groups for item in program.requires.items())
    runtimes, looks = await asyncio.gather(
        asyncio.gather(*(_look_at_runtime(name, needed[name], environ) for name in needed)),
        asyncio.gather(*(_look_at_program(manifest, *group, environ=environ) for group in groups)),
    )
    first = looks[0].found
    sign_in = await _look_at_sign_in(manifest, environ, present)
    problems = [problem for runtime in runtimes if (problem := _runtime_problem(manifest, runtime))]
    problems += [problem for look in looks for problem in look.problems]
    if sign_in.answer == "no":
        problems.append(
            Problem(
                code="auth_required",
                message=f"Nobody is signed in to {manifest.name}.",
                hint=say_how_given(manifest.sign_in.hint, manifest.sign_in.auth_variables),
            )
        )
    if sign_in.is_withheld:
        problems.append(
            Problem(
                code="auth_withheld",
                message=f"{sign_in.by} is set, and is handed to a seat of {manifest.name} only on request.",
                hint=f"Make the seat with --forward-auth or --env {sign_in.by};"
                f" {FORWARD_AUTH}=1 in the daemon's environment does it for all seats.",
                is_fatal=False,
            )
        )
    return ProbeResult(
        harness=manifest.id,
        installed=first.installed,
        program=first.program,
        version=first.version,
        tested=first.tested,
        problems=tuple(problems),
        signed_in=sign_in.answer,
        signed_in_by=sign_in.by,
        providers=tuple(
            one.id for one in manifest.sign_in.providers if any(name in present for name in one.environment)
        ),
        sign_in_hint=""
        if sign_in.answer == "yes"
        else say_how_given(manifest.sign_in.hint, manifest.sign_in.auth_variables),
        runtime=tuple(runtimes),
        programs=tuple(look.found for look in looks) if len(looks) > 1 else (),
    )


class _Look(NamedTuple):
    found: ProgramFound
    problems: tuple[Problem, ...]


class _SignedIn(NamedTuple):
    answer: YesNo
    by: str = ""
    is_withheld: bool = False


def _programs(manifest: Manifest) -> list[tuple[tuple[str, ...], Program]]:
    """Each program with its modes; that of the default mode comes first."""
    order = sorted(manifest.modes, key=lambda mode: mode != manifest.default_mode)
    groups: list[tuple[tuple[str, ...], Program]] = []
    for mode in order:
        program = program_of(manifest, mode)
        for index, (modes, known) in enumerate(groups):
            if known is program:
                groups[index] = ((*modes, mode), program)
                break
        else:
            groups.append(((mode,), program))
    return groups


async def _look_at_program(
    manifest: Manifest, modes: tuple[str, ...], program: Program, *, environ: Mapping[str, str]
) -> _Look:
    is_default = manifest.default_mode in modes
    try:
        found = find_program(manifest, environ, mode=modes[0])
    except HarnessError as error:
        # What only another mode needs keeps nobody from using the harness.
        problem = Problem.of(error, is_fatal=is_default)
        return _Look(ProgramFound(modes=modes, installed="no"), (problem,))
    version, fault = await _ask_version(program, found, environ)
    if fault is not None:
        return _Look(ProgramFound(modes=modes, installed="unknown", program=found.path), (fault,))
    tested = version_lies_in(version, program.tested)
    problems: tuple[Problem, ...] = ()
    if version is None and (program.version.args or program.version.package):
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
                message=f"{manifest.name} {version} lies outside {program.tested}, the range that was tried.",
                hint="It may work all the same; report what does not.",
                is_fatal=False,
            ),
        )
    known = ProgramFound(modes=modes, installed="yes", program=found.path, version=version, tested=tested)
    return _Look(known, problems)


async def _ask_version(
    program: Program, found: FoundProgram, environ: Mapping[str, str]
) -> tuple[str | None, Problem | None]:
    probe = program.version
    if probe.package:
        return package_version(found.path, probe.package), None
    if not probe.args:
        return None, None
    argv = [found.path, *found.prefix, *probe.args]
    ran = await run_shortly(argv, {**environ, **probe.environment}, timeout_s=probe.timeout_s)
    if ran.fault:
        problem = Problem(
            code="probe_failed",
            message=f"{found.path} {ran.fault}.",
            hint=f"Run it by hand: {' '.join(argv)}",
            is_fatal=False,
        )
        return None, problem
    match = re.search(probe.pattern, ran.output)
    return (match[1] if match else None), None


async def _look_at_runtime(name: str, wanted: str, environ: Mapping[str, str]) -> RuntimeFound:
    program = shutil.which(name, path=environ.get("PATH", os.defpath))
    if program is None:
        return RuntimeFound(name=name, wanted=wanted, is_met="no")
    ran = await run_shortly([program, "--version"], environ, timeout_s=_RUNTIME_TIMEOUT_S)
    match = None if ran.fault else _VERSION.search(ran.output)
    version = match[1] if match else None
    is_met: YesNo = version_lies_in(version, wanted) if wanted else "yes"
    return RuntimeFound(name=name, wanted=wanted, program=program, version=version, is_met=is_met)


def _runtime_problem(manifest: Manifest, runtime: RuntimeFound) -> Problem | None:
    if runtime.is_met != "no":
        return None
    what = f"{runtime.name} {runtime.wanted}".strip()
    there = f"{runtime.program} is {runtime.version}" if runtime.program else "there is none on the PATH"
    return Problem(
        code="runtime_unfit",
        message=f"{manifest.name} needs {what}, and {there}.",
        hint=f"Put {what} first on the PATH, then install {manifest.name} with it.",
        is_fatal=False,
    )


async def _look_at_sign_in(
    manifest: Manifest, environ: Mapping[str, str], present: AbstractSet[str]
) -> _SignedIn:
    """Secrets are never read: a variable is seen to be set, a file to be there, and the program itself is asked."""
    name = next((one for one in manifest.sign_in.auth_variables if one in present), None)
    if name is not None and FORWARD_AUTH in present:
        return _SignedIn("yes", name)
    kept = await _look_at_kept_sign_in(manifest, environ)
    # What is kept signs in by itself; a variable does where the operator lets the seat have it.
    return kept if kept.answer == "yes" or name is None else _SignedIn("yes", name, is_withheld=True)


async def _look_at_kept_sign_in(manifest: Manifest, environ: Mapping[str, str]) -> _SignedIn:
    sign_in = manifest.sign_in
    if sign_in.args:
        try:
            found = find_program(manifest, environ)
        except HarnessError:
            return _SignedIn("unknown")
        argv = [found.path, *found.prefix, *sign_in.args]
        ran = await run_shortly(argv, environ, timeout_s=manifest.program.version.timeout_s)
        if ran.status is None:
            return _SignedIn("unknown")
        if sign_in.signed_out and re.search(sign_in.signed_out, ran.output):
            return _SignedIn("no", " ".join(sign_in.args))
        if re.search(sign_in.signed_in, ran.output) if sign_in.signed_in else ran.status == 0:
            return _SignedIn("yes", " ".join(sign_in.args))
        return _SignedIn("unknown" if sign_in.signed_in or sign_in.signed_out else "no")
    marker = _marker_that_is_there(sign_in, environ)
    return _SignedIn("yes", marker) if marker else _SignedIn("unknown")


def _marker_that_is_there(sign_in: SignIn, environ: Mapping[str, str]) -> str | None:
    there = (marker for marker in sign_in.markers if os.path.exists(expand_home(marker, environ)))
    return next(there, None)


def _all_stripped(manifest: Manifest) -> tuple[str, ...]:
    return tuple(name for mode in manifest.modes.values() for name in mode.environment.strip)
