"""What a manifest's hooks must keep: patterns that compile, events that say something, places that can be told."""

from __future__ import annotations

import re
from collections.abc import Iterator

from inspan.model.hooks import HookInstall, HookSettings
from inspan.model.manifest import Manifest

from .faults import Fault

__all__ = ["check_hooks"]

_PLACES = ("/", "{config}/", "{home}/", "{workspace}/")


def check_hooks(manifest: Manifest) -> Iterator[Fault]:
    """The faults of a manifest's hooks."""
    hooks = manifest.hooks
    if not any(event.begins_session for event in hooks.events):
        for name, mode in manifest.modes.items():
            if mode.session_id.kind == "hook":
                yield Fault(
                    key_path=f"modes.{name}.session_id.kind",
                    problem="is hook, and no event of hooks.events begins a session",
                    expected="an event with begins_session = true",
                )
    if not hooks.events:
        if hooks != HookSettings():
            yield Fault(key_path="hooks.events", problem="is empty", expected="at least one event")
        return
    if not (hooks.source and hooks.verified):
        yield Fault(
            key_path="hooks", problem="has no proof", expected="source (where it was seen) and verified"
        )
    for index, event in enumerate(hooks.events):
        here = f"hooks.events[{index}]"
        if not (event.says or event.prompt or event.ends or event.begins_session):
            yield Fault(
                key_path=here, problem="says nothing", expected="says, prompt, ends or begins_session"
            )
        if event.ends is not None and event.says:
            yield Fault(
                key_path=f"{here}.says",
                problem="stands beside ends",
                expected="one of the two: an end is idle",
            )
        if event.kind is not None and event.says != "needs_input":
            yield Fault(
                key_path=f"{here}.kind", problem="is of no needs_input", expected="says = 'needs_input'"
            )
        if event.changes_session and not event.begins_session:
            yield Fault(
                key_path=f"{here}.changes_session", problem="begins none", expected="begins_session = true"
            )
        if event.ends is not None:
            for name in ("limited", "auth_required"):
                yield from _check_pattern(getattr(event.ends, name), f"{here}.ends.{name}")
    session = hooks.session
    if session.id and session.file:
        yield Fault(key_path="hooks.session.id", problem="stands beside file", expected="one of the two")
    if bool(session.file) != bool(session.file_pattern):
        yield Fault(
            key_path="hooks.session.file_pattern", problem="goes with file alone", expected="both, or neither"
        )
    for name in ("file_pattern", "header_pattern"):
        yield from _check_pattern(getattr(session, name), f"hooks.session.{name}", group="session")
    for index, install in enumerate(hooks.install):
        yield from _check_install(install, f"hooks.install[{index}]")


def _check_install(install: HookInstall, at: str) -> Iterator[Fault]:
    if "{command}" not in install.entry:
        yield Fault(key_path=f"{at}.entry", problem="runs nothing", expected="{command} in it")
    if install.scope == "shared":
        if not install.path.startswith(_PLACES):
            yield Fault(
                key_path=f"{at}.path",
                problem=f"is {install.path!r}",
                expected="an absolute path, or one that begins with {config}/, {home}/ or {workspace}/",
            )
        if install.args or install.environment:
            yield Fault(key_path=at, problem="is shared and told by arguments", expected="scope = 'seat'")
        return
    if install.path.startswith(("/", "{")) or ".." in install.path.split("/"):
        yield Fault(
            key_path=f"{at}.path", problem=f"is {install.path!r}", expected="a path below the launch's folder"
        )
    told = (*install.args, *install.environment.values())
    if not any("{file}" in one for one in told):
        yield Fault(key_path=at, problem="is told to nobody", expected="{file} in args or environment")


def _check_pattern(pattern: str, at: str, *, group: str = "") -> Iterator[Fault]:
    if not pattern:
        return
    try:
        names = re.compile(pattern).groupindex
    except re.error as error:
        yield Fault(
            key_path=at, problem=f"does not compile ({error})", expected="a regular expression of Python's re"
        )
        return
    if group and group not in names:
        yield Fault(key_path=at, problem=f"has no group {group!r}", expected=f"(?P<{group}>…)")
