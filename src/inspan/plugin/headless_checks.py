"""What a mode of one-shot runs must keep beyond its shape: rules that say something, and a way for every turn to end."""

from __future__ import annotations

import re
from collections.abc import Iterator

from inspan.model.manifest import ModeManifest

from .faults import Fault
from .record_checks import check_records

__all__ = ["check_headless"]


def check_headless(mode: ModeManifest, at: str) -> Iterator[Fault]:
    """The faults of a mode's `headless` settings; none where its transport is another.

    Args:
        mode: The mode.
        at: Its key path.
    """
    if mode.transport != "headless":
        return
    settings, here = mode.headless, f"{at}.headless"
    if settings.output == "text" and settings.records:
        yield Fault(key_path=f"{here}.records", problem="reads records", expected="none: the output is text")
    elif settings.output != "text" and not settings.records:
        yield Fault(key_path=f"{here}.records", problem="is empty", expected="rules, or output = 'text'")
    if settings.prompt_option and settings.prompt != "argument":
        yield Fault(
            key_path=f"{here}.prompt_option", problem="is set", expected="nothing: the prompt is no argument"
        )
    yield from check_records(settings.records, f"{here}.records")
    yield from _check_lines(mode, here)
    yield from _check_exit_codes(mode, here)
    yield from _check_session(mode, at)
    yield from _check_grant(mode, here)


def _check_session(mode: ModeManifest, at: str) -> Iterator[Fault]:
    settings = mode.headless
    is_named = any("{session}" in arg for arg in mode.launch.args)
    if is_named != (settings.chooses_session or mode.session_id.kind in ("chosen", "command")):
        yield Fault(
            key_path=f"{at}.headless.chooses_session",
            problem=f"is {str(settings.chooses_session).lower()}",
            expected="true exactly where {session} stands in launch.args",
        )
    if mode.capabilities.resume.is_supported and not any("{session}" in arg for arg in mode.resume.args):
        yield Fault(
            key_path=f"{at}.resume.args",
            problem="does not name the session",
            expected="{session}: a one-shot run resumes by its arguments alone",
        )
    try:
        groups = re.compile(settings.stderr_session).groups
    except re.error as error:
        yield Fault(
            key_path=f"{at}.headless.stderr_session",
            problem=f"does not compile ({error})",
            expected="a regular expression of Python's re",
        )
        return
    if settings.stderr_session and not groups:
        yield Fault(
            key_path=f"{at}.headless.stderr_session",
            problem="has no group",
            expected="a first group that holds the session's id",
        )


def _check_grant(mode: ModeManifest, here: str) -> Iterator[Fault]:
    grant = mode.headless.grant
    if grant is None:
        return
    texts = (*grant.args, *grant.environment.values())
    if grant.reach == "program" and not any("{program}" in one for one in texts):
        yield Fault(
            key_path=f"{here}.grant",
            problem="does not name the program",
            expected="{program} in args or environment, or reach = 'sandbox' or 'everything'",
        )
    for name in grant.merges:
        if name not in grant.environment:
            yield Fault(
                key_path=f"{here}.grant.merges.{name}",
                problem="merges a variable that the grant does not set",
                expected="the name of one in environment",
            )
    if not (grant.source and grant.verified):
        yield Fault(
            key_path=f"{here}.grant", problem="is a claim without a source", expected="source and verified"
        )


def _check_lines(mode: ModeManifest, here: str) -> Iterator[Fault]:
    for index, rule in enumerate(mode.headless.lines):
        try:
            re.compile(rule.pattern)
        except re.error as error:
            yield Fault(
                key_path=f"{here}.lines[{index}].pattern",
                problem=f"does not compile ({error})",
                expected="a regular expression of Python's re",
            )


def _check_exit_codes(mode: ModeManifest, here: str) -> Iterator[Fault]:
    seen: set[int] = set()
    for index, one in enumerate(mode.headless.exit_codes):
        if one.status in seen:
            yield Fault(
                key_path=f"{here}.exit_codes[{index}].status",
                problem=f"is {one.status} a second time",
                expected="each exit status once",
            )
        seen.add(one.status)
