"""Plugin context: what a plugin is given to work with."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from inspan.model.manifest import Manifest

__all__ = ["PluginContext", "make_context"]

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|COOKIE|AUTH", re.IGNORECASE)


class PluginContext(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a plugin is given to work with, the same in our process and in one of its own.

    Attributes:
        manifest: The harness's manifest, merged from all layers.
        folder: The folder that the plugin's code lies in; absolute. Read only, by agreement.
        data_folder: A folder of the plugin's own that it may write to. It is made by the plugin, when needed.
        environ: The daemon's environment without what looks like a secret.
        present: Names of all variables that are set and not empty, secrets included.
    """

    manifest: Manifest
    folder: str
    data_folder: str
    environ: dict[str, str] = {}
    present: tuple[str, ...] = ()


def make_context(
    manifest: Manifest, *, folder: str, data_folder: str, environ: Mapping[str, str]
) -> PluginContext:
    """The context of a plugin: values of variables whose names look like secrets are left out."""
    return PluginContext(
        manifest=manifest,
        folder=folder,
        data_folder=data_folder,
        environ={name: value for name, value in environ.items() if not _looks_secret(name)},
        present=tuple(sorted(name for name, value in environ.items() if value)),
    )


def _looks_secret(name: str) -> bool:
    # A harness's id may hold any of the words, and the variable that names its program is no secret.
    return not name.startswith("INSPAN_PROGRAM_") and _SECRET_NAME.search(name) is not None
