"""One-shot runs for another program: how a harness is run once, with leave to run that one program and no seat.

Everything comes from the manifest: the arguments of its `headless` mode, and that mode's `grant`. The bridge of apps
uses it; no harness is known here.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Literal

import msgspec

from inspan.model.errors import InspanError
from inspan.model.headless import ProgramGrant
from inspan.model.manifest import Manifest, ModeManifest, PostureRule
from inspan.model.posture import Approvals
from inspan.plugin.programs import find_program
from inspan.plugin.saved_rules import merge_saved

__all__ = ["PROMPT", "SESSION", "OneShot", "plan_one_shot"]

PROMPT = "{prompt}"
"""What stands for the prompt in `OneShot.args`, where the harness takes it as an argument."""

SESSION = "{session}"
"""What stands for a fresh random UUID in `OneShot.args`."""

_SECRET_BYTES = 32


class OneShot(msgspec.Struct, frozen=True, kw_only=True):
    """How a harness is run once.

    Attributes:
        harness: Its id.
        name: For people.
        names: What its program is called.
        program: The program that was found; its first name where none was.
        args: Its arguments, with `PROMPT` and `SESSION` where those belong.
        takes_prompt: Where the prompt goes.
        environment: Variables that the run is given.
        inherits: Names of variables that it needs of its starter's: those that sign in, those that say where its
            provider and its settings are, and those of the grant.
        reach: What it may do unasked, as in `ProgramGrant`.
        makes_session: `SESSION` is in the arguments.
        problem: Why it cannot be run: it is not installed, or the operator's own rules leave no room; empty where
            it can.
    """

    harness: str
    name: str
    names: tuple[str, ...]
    program: str
    args: tuple[str, ...]
    takes_prompt: Literal["argument", "stdin"]
    reach: Literal["program", "sandbox", "everything"]
    environment: dict[str, str] = {}
    inherits: tuple[str, ...] = ()
    makes_session: bool = False
    problem: str = ""


def plan_one_shot(manifest: Manifest, *, program: str, environ: Mapping[str, str]) -> OneShot | None:
    """How `manifest`'s harness is run once with leave to run `program` unasked.

    Args:
        manifest: The harness.
        program: The name of the program that it may run.
        environ: The starter's variables.

    Returns:
        `None` where the harness has no mode of one-shot runs that says how to give that leave.
    """
    for name, mode in manifest.modes.items():
        grant = mode.headless.grant
        if mode.transport == "headless" and grant is not None:
            return _plan(manifest, name, mode, grant, program=program, environ=environ)
    return None


def _plan(
    manifest: Manifest,
    mode_name: str,
    mode: ModeManifest,
    grant: ProgramGrant,
    *,
    program: str,
    environ: Mapping[str, str],
) -> OneShot:
    problem, prefix = "", ()
    path = manifest.program.names[0] if manifest.program.names else manifest.id
    given: dict[str, str] = {}
    try:
        given = _told(grant, program, environ)
        found = find_program(manifest, environ, mode=mode_name)
        path, prefix = found.path, found.prefix
    except InspanError as error:
        problem = str(error)
    by_argument = mode.headless.prompt == "argument"
    args = (
        *prefix,
        *mode.launch.args,
        *(one.replace("{program}", program) for one in grant.args),
        *((f"{mode.headless.prompt_option}{PROMPT}",) if by_argument else ()),
    )
    made = {
        name: secrets.token_urlsafe(_SECRET_BYTES)
        for name in mode.environment.generate
        if name not in environ
    }
    return OneShot(
        harness=manifest.id,
        name=manifest.name,
        names=manifest.program.names,
        program=path,
        args=args,
        takes_prompt="argument" if by_argument else "stdin",
        environment={**mode.environment.set, **made, **given},
        inherits=(*_inherited(manifest, mode, environ), *grant.inherits),
        reach=grant.reach,
        makes_session=any(SESSION in one for one in args),
        problem=problem,
    )


def _told(grant: ProgramGrant, program: str, environ: Mapping[str, str]) -> dict[str, str]:
    rule = PostureRule(
        approvals=Approvals.ASK,
        environment={name: text.replace("{program}", program) for name, text in grant.environment.items()},
        merges=dict(grant.merges),
    )
    return merge_saved(rule, environ)


def _inherited(manifest: Manifest, mode: ModeManifest, environ: Mapping[str, str]) -> tuple[str, ...]:
    sign_in, config = manifest.sign_in, manifest.config
    wanted = (
        *sign_in.auth_variables,
        *sign_in.locator_variables,
        config.variable,
        *mode.environment.generate,
    )
    ruled_out = {
        loser
        for winner, losers in mode.environment.conflicts.items()
        if environ.get(winner)
        for loser in losers
    }
    return tuple(dict.fromkeys(name for name in wanted if name and name not in ruled_out))
