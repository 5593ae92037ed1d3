"""Holding a plugin from outside to what its manifest says that it may do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from inspan.model.errors import PluginError
from inspan.model.manifest import Manifest, ModeManifest
from inspan.model.plan import LaunchPlan

__all__ = ["allowed_environment", "check_permitted"]

_NEEDED = frozenset(
    {"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV"}
)
_NEEDED_BEGINNINGS = ("LC_", "XDG_", "PYTHON")
"""What every program needs to find its files and its language; none of it is a secret."""


def allowed_environment(manifest: Manifest, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a plugin's process: what every program needs, and what its manifest names."""
    named = set(manifest.permissions.environment)
    return {
        name: value
        for name, value in environ.items()
        if name in _NEEDED or name in named or name.startswith(_NEEDED_BEGINNINGS)
    }


def check_permitted(manifest: Manifest, mode: ModeManifest, plan: LaunchPlan) -> None:
    """Refuses a plan of a plugin from outside that does what nobody allowed.

    Raises:
        PluginError: `plugin_not_permitted`; nothing was started or written.
    """
    own = mode.program or manifest.program
    programs = {*own.names, *manifest.permissions.programs}
    name = PurePath(plan.program).name
    if name not in programs:
        raise _not_permitted(manifest, f"to start {name}", f'programs = ["{name}"]')
    if plan.files and not manifest.permissions.writes_files:
        raise _not_permitted(manifest, "to have files written", "writes_files = true")


def _not_permitted(manifest: Manifest, what: str, line: str) -> PluginError:
    return PluginError(
        f"The plugin of {manifest.id} wants {what}, and its manifest does not say that it may.",
        code="plugin_not_permitted",
        hint=f"Its author adds `{line}` below [permissions]; then it has to be trusted again.",
        retry_safe=False,
    )
