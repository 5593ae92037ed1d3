"""Hooks of a launch: what its harness is told of them, and what its relay must know."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from inspan.hooks.entries import render_document
from inspan.hooks.installing import install_hooks, locate
from inspan.model.errors import UsageError
from inspan.model.hooks import HookInstall, HookSettings
from inspan.model.ids import new_nonce
from inspan.model.installation import ConfigFolder
from inspan.model.plan import LaunchPlan, PlanFile

from .hook_post import hash_token
from .isolation import Surroundings

__all__ = ["NO_HOOKS", "HookedPlan", "choose_seat_install", "install_own_hooks", "is_off", "tell_hooks"]

NO_HOOKS = "INSPAN_NO_HOOKS"
"""A variable of a seat, or of the daemon, that keeps the harness from being told of hooks."""

_log = logging.getLogger("inspan.seats")

_FOLDER = "told"
"""Where in a launch's folder its files for the harness's hooks are."""


class HookedPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan with its hooks.

    Attributes:
        plan: The plan.
        variables: What the relay finds in the harness's environment; nothing where its harness has no hooks.
        token_hash: What is kept of the token among them; empty likewise.
    """

    plan: LaunchPlan
    variables: dict[str, str] = {}
    token_hash: str = ""


def tell_hooks(
    plan: LaunchPlan, folder: Path, seat: str, environ: Mapping[str, str], given: Mapping[str, str]
) -> HookedPlan:
    """The plan, with what tells the harness of the relay for this launch alone, where the manifest knows a way.

    Args:
        plan: The plan.
        folder: The launch's folder, named as the launch.
        seat: The seat.
        environ: The environment that the harness inherits.
        given: Variables that the operator set for the seat.
    """
    told = _told(plan, folder, environ, given)
    if not told.settings.hooks.events:
        return HookedPlan(plan=told)
    token = new_nonce()
    variables = {
        "INSPAN_SEAT": seat,
        "INSPAN_LAUNCH": folder.name,
        "INSPAN_TOKEN": token,
        "INSPAN_HOOKS": str(folder),
    }
    return HookedPlan(plan=told, variables=variables, token_hash=hash_token(token))


def install_own_hooks(
    settings: HookSettings, config: ConfigFolder, around: Surroundings, workspace: str
) -> None:
    """Tells the harness in the seat's own configuration folder, where it has one and no launch is told by itself.

    Nothing outside that folder is touched, and nothing that a person would be asked about. Where it fails, the harness
    is started without hooks all the same.
    """
    environ = {**around.inherited, **around.given}
    if around.folder is None or is_off(environ) or choose_seat_install(settings, environ) is not None:
        return
    for install in settings.install:
        if install.scope != "shared" or install.needs or "{workspace}" in install.path:
            continue
        try:
            path = locate(install, config, environ, workspace)
            if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(around.folder)):
                install_hooks(install, path, settings.names)
                return
        except UsageError as error:
            _log.warning("hooks are not told in %s: %s", around.folder, error.code)


def is_off(environ: Mapping[str, str]) -> bool:
    """Whether the harness does without hooks."""
    return bool(environ.get(NO_HOOKS))


def choose_seat_install(settings: HookSettings, environ: Mapping[str, str]) -> HookInstall | None:
    """The first way for one launch alone that takes nothing from the operator; `None` where there is none."""
    for install in settings.install:
        is_taken = any(environ.get(name) for name in install.environment)
        if install.scope == "seat" and not is_taken and not any(map(os.path.lexists, install.unless_exists)):
            return install
    return None


def _told(plan: LaunchPlan, folder: Path, environ: Mapping[str, str], given: Mapping[str, str]) -> LaunchPlan:
    settings = plan.settings.hooks
    if not settings.events:
        return plan
    if is_off({**environ, **given}):
        quiet = msgspec.structs.replace(plan.settings, hooks=HookSettings())
        return msgspec.structs.replace(plan, settings=quiet)
    install = choose_seat_install(settings, {**environ, **plan.environment, **given})
    if install is None:
        return plan
    path = f"{_FOLDER}/{install.path}"
    where = str(folder / path)
    return msgspec.structs.replace(
        plan,
        arguments=(*plan.arguments, *(one.replace("{file}", where) for one in install.args)),
        environment={
            **plan.environment,
            **{name: one.replace("{file}", where) for name, one in install.environment.items()},
        },
        files=(*plan.files, PlanFile(path=path, text=render_document(install, settings.names))),
    )
