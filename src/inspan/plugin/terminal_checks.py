"""What a mode in a terminal must keep: rules from one place, and sessions that its arguments name."""

from __future__ import annotations

from collections.abc import Iterator

from inspan.model.manifest import ModeManifest
from inspan.model.terminal import TerminalSettings

from .faults import Fault
from .screen_patterns import find_pattern_fault
from .screen_rules_file import find_rule_faults

__all__ = ["check_terminal"]


def check_terminal(mode: ModeManifest, at: str) -> Iterator[Fault]:
    """The faults of a mode's `terminal` settings.

    Args:
        mode: The mode, as its manifest says it: rules of a file are not read yet.
        at: Its key path.
    """
    settings, here = mode.terminal, f"{at}.terminal"
    if mode.transport not in ("terminal", "plugin"):
        if settings != TerminalSettings():
            yield Fault(
                key_path=here,
                problem=f"describes a terminal, and the mode's transport is {mode.transport}",
                expected="none, or transport = 'terminal'",
            )
        return
    if settings.rules is not None:
        if settings.rules_file:
            yield Fault(
                key_path=f"{here}.rules",
                problem=f"stands beside rules_file = {settings.rules_file!r}",
                expected="one of the two; rules_file = '' takes the file away",
            )
        yield from find_rule_faults(settings.rules, f"{here}.rules.")
    if settings.typing is not None:
        composer = settings.typing.composer
        for name, pattern in (("home", composer.home), ("above", composer.above)):
            fault = find_pattern_fault(pattern) if pattern else ""
            if fault:
                yield Fault(
                    key_path=f"{here}.typing.composer.{name}",
                    problem=f"cannot be used: {fault}",
                    expected="a pattern whose repeats each repeat one character or one fixed text",
                )
    if mode.transport == "terminal":
        yield from _check_session(mode, at)


def _check_session(mode: ModeManifest, at: str) -> Iterator[Fault]:
    is_named = any("{session}" in arg for arg in mode.launch.args)
    if is_named != (mode.terminal.chooses_session or mode.session_id.kind in ("chosen", "command")):
        yield Fault(
            key_path=f"{at}.terminal.chooses_session",
            problem=f"is {str(mode.terminal.chooses_session).lower()}",
            expected="true exactly where {session} stands in launch.args",
        )
    for name, claim, arguments in (
        ("resume", mode.capabilities.resume, mode.resume),
        ("fork", mode.capabilities.fork, mode.fork),
    ):
        if claim.is_supported and not any("{session}" in arg for arg in arguments.args):
            yield Fault(
                key_path=f"{at}.{name}.args",
                problem="does not name the session",
                expected="{session}: a console is told its session by its arguments alone",
            )
