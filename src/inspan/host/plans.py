"""Checks around a launch plan that hold for every harness, whatever its plugin does."""

from __future__ import annotations

import re
from pathlib import Path

from inspan.model.errors import PluginError, UsageError
from inspan.model.manifest import Manifest, ModeManifest
from inspan.model.plan import Attempt, LaunchPlan, LaunchRequest
from inspan.model.session import SessionReference
from inspan.plugin.plan_checks import find_plan_fault

__all__ = ["check_attempt", "check_plan", "check_reference", "check_workspace", "find_mode"]


def find_mode(manifest: Manifest, mode: str) -> ModeManifest:
    """A mode of a harness.

    Raises:
        UsageError: `unknown_mode`, with those that there are.
    """
    found = manifest.modes.get(mode)
    if found is None:
        raise UsageError(
            f"{manifest.name} has no mode {mode!r}.",
            code="unknown_mode",
            hint=f"It has: {', '.join(sorted(manifest.modes))}.",
            detail={"modes": sorted(manifest.modes)},
        )
    return found


def check_attempt(mode: ModeManifest, attempt: Attempt) -> None:
    """Refuses an attempt that the manifest does not claim to support; `unknown` is no yes.

    Raises:
        PluginError: `unsupported_capability`, with the manifest's own note.
    """
    claim = {
        "fresh": mode.capabilities.launch,
        "resume": mode.capabilities.resume,
        "fork": mode.capabilities.fork,
    }[attempt]
    if claim.is_supported:
        return
    what = {"fresh": "start a fresh session", "resume": "resume a session", "fork": "fork a session"}[attempt]
    raise PluginError(
        f"The harness is not known to be able to {what} in this mode (support: {claim.support}).",
        code="unsupported_capability",
        hint=claim.note,
        detail={"attempt": attempt, "support": claim.support.value, "explanation": claim.note},
    )


def check_reference(manifest: Manifest, reference: SessionReference | None) -> None:
    """Refuses a session reference of another harness or another form: no reference falls through to a stranger.

    Raises:
        UsageError: `invalid_argument`.
    """
    if reference is None:
        return
    own = manifest.session
    if reference.harness != manifest.id or reference.resume_type != own.resume_type:
        raise UsageError(
            f"The session belongs to {reference.harness} ({reference.resume_type}), "
            f"not to {manifest.id} ({own.resume_type}).",
            hint="Resume it with the harness that it belongs to.",
        )
    if own.id_pattern and not re.fullmatch(own.id_pattern, reference.id):
        raise UsageError(
            f"The session id has not the form that {manifest.name} gives its sessions.",
            hint="Start a fresh session, or name the right one.",
        )


def check_workspace(workspace: str) -> None:
    """Refuses a workspace that is not there.

    Raises:
        UsageError: `workspace_missing` or `workspace_not_a_folder`.
    """
    path = Path(workspace)
    if not path.is_absolute():
        raise UsageError(f"The workspace {workspace!r} is no absolute path.", hint="Give the whole path.")
    if not path.exists():
        raise UsageError(
            f"The workspace {workspace} does not exist.",
            code="workspace_missing",
            hint="Make the folder first.",
        )
    if not path.is_dir():
        raise UsageError(
            f"The workspace {workspace} is not a folder.",
            code="workspace_not_a_folder",
            hint="Name a folder.",
        )


def check_plan(
    manifest: Manifest, mode: ModeManifest, request: LaunchRequest, plan: LaunchPlan
) -> LaunchPlan:
    """`plan` itself, once it is seen to be one that core can carry out.

    Raises:
        PluginError: `plugin_failed` where a plugin gave a plan that contradicts its manifest or the request.
    """
    fault = find_plan_fault(mode, request, plan)
    if fault is not None:
        raise PluginError(f"The launch plan of {manifest.id} is of no use: {fault}.", retry_safe=False)
    return plan
