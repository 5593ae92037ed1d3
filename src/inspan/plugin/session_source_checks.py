"""What a mode's source of session ids must keep beyond its shape: everything that its kind needs, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator

from inspan.model.manifest import ModeManifest

from .faults import Fault

__all__ = ["check_session_source"]

_NEEDS = {"environment": "variable", "command": "command", "screen": "pattern", "store": "store"}
"""The key that belongs to a kind; the others have none."""


def check_session_source(mode: ModeManifest, at: str) -> Iterator[Fault]:
    """The faults of `mode.session_id`.

    Args:
        mode: The mode.
        at: Its key path.
    """
    source, here = mode.session_id, f"{at}.session_id"
    if source.kind == "hook" and mode.transport != "terminal":
        yield Fault(
            key_path=f"{here}.kind",
            problem=f"is hook, and the mode's transport is {mode.transport}, where no hook is listened to",
            expected="another source, or transport = 'terminal'",
        )
    for kind, key in _NEEDS.items():
        is_given = bool(getattr(source, key))
        if is_given != (kind == source.kind):
            problem = "is missing" if kind == source.kind else f"belongs to kind = {kind!r}"
            yield Fault(key_path=f"{here}.{key}", problem=problem, expected=f"exactly with kind = {kind!r}")
    if source.kind in ("chosen", "command") and not any("{session}" in arg for arg in mode.launch.args):
        yield Fault(
            key_path=f"{at}.launch.args",
            problem="does not name the session",
            expected="{session}: the id is told to the harness by its arguments",
        )
    if source.command is not None:
        yield from _check_pattern(source.command.pattern, f"{here}.command.pattern", "session")
    if source.pattern:
        yield from _check_pattern(source.pattern, f"{here}.pattern", "session")
    if source.store is not None:
        yield from _check_pattern(source.store.id_pattern, f"{here}.store.id_pattern", "session")
        if source.store.workspace_pattern:
            yield from _check_pattern(
                source.store.workspace_pattern, f"{here}.store.workspace_pattern", "workspace"
            )
        if not source.store.folder.startswith(("/", "~/", "{config}")):
            yield Fault(
                key_path=f"{here}.store.folder",
                problem=f"is {source.store.folder!r}",
                expected="an absolute path, or one that begins with ~/ or {config}",
            )


def _check_pattern(pattern: str, at: str, group: str) -> Iterator[Fault]:
    try:
        names = re.compile(pattern).groupindex
    except re.error as error:
        yield Fault(
            key_path=at, problem=f"does not compile ({error})", expected="a regular expression of Python's re"
        )
        return
    if group not in names:
        yield Fault(key_path=at, problem=f"has no group {group!r}", expected=f"(?P<{group}>…)")
