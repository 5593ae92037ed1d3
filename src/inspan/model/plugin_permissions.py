"""What a plugin from outside may do beyond answering questions: nothing that its manifest does not name."""

from __future__ import annotations

from typing import Annotated

import msgspec

__all__ = ["PluginPermissions"]

EnvName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
ProgramName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]


class PluginPermissions(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Shown before the plugin is trusted, pinned with its files, and held to whenever it is asked.

    Attributes:
        environment: Variables that its process gets beside those that every program needs.
        programs: Names of programs that its plans may start beside the manifest's own.
        writes_files: Its plans may have files written into the launch's folder.
    """

    environment: tuple[EnvName, ...] = ()
    programs: tuple[ProgramName, ...] = ()
    writes_files: bool = False
