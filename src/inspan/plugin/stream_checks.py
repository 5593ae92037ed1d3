"""What a mode of a conversation in records must keep: calls that can be answered, a session, and an end for every turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from inspan.model.manifest import ModeManifest
from inspan.model.stream import CallRule, Match, PermissionRule, StreamSettings
from inspan.model.templates import placeholders

from .faults import Fault
from .record_checks import check_records

__all__ = ["check_stream"]

_MESSAGE = frozenset(("id", "session", "workspace", "version"))
_PROMPT = _MESSAGE | {"prompt", "delivery", "delivery_uuid"}
_KNOWN = frozenset(("session", "delivery", "delivery_uuid"))
_REPLY = _MESSAGE | {"answer"}
_OPTION = _MESSAGE | {"record", "item", "key", "index"}


def check_stream(mode: ModeManifest, at: str) -> Iterator[Fault]:
    """The faults of a mode's `stream` settings.

    Args:
        mode: The mode.
        at: Its key path.
    """
    settings, here = mode.stream, f"{at}.stream"
    if mode.transport != "stream":
        if settings != StreamSettings():
            yield Fault(
                key_path=here,
                problem=f"describes a conversation, and the mode's transport is {mode.transport}",
                expected="none, or transport = 'stream'",
            )
        return
    yield from _check_calls(settings, here)
    yield from _check_session(mode, at)
    yield from _check_turns(settings, here)
    yield from _check_requests(mode, here)
    yield from check_records(settings.records, f"{here}.records")


def _check_calls(settings: StreamSettings, here: str) -> Iterator[Fault]:
    kept = _kept(settings)
    if not any(rule.is_answered for rule in settings.handshake):
        yield Fault(
            key_path=f"{here}.handshake",
            problem="waits for no answer",
            expected="a call that the harness answers once it is there",
        )
    if settings.answers.match == Match():
        yield Fault(
            key_path=f"{here}.answers.match", problem="is empty", expected="which records are answers"
        )
    for name, rules in (
        ("handshake", settings.handshake),
        ("fresh", settings.fresh),
        ("resume", settings.resume),
        ("fork", settings.fork),
        ("prompt", () if settings.prompt is None else (settings.prompt,)),
        ("cancel", () if settings.cancel is None else (settings.cancel,)),
    ):
        for index, rule in enumerate(rules):
            place = f"{here}.{name}" if name in ("prompt", "cancel") else f"{here}.{name}[{index}]"
            yield from _check_call(rule, place, _PROMPT if name == "prompt" else _MESSAGE, kept)


def _check_call(rule: CallRule, here: str, allowed: frozenset[str], kept: set[str]) -> Iterator[Fault]:
    names = tuple(placeholders(rule.write))
    if rule.is_answered and "id" not in names:
        yield Fault(
            key_path=f"{here}.write",
            problem="has no {id}",
            expected="{id}, or is_answered = false: its answer could not be told from another",
        )
    yield from _check_names(rule.write, f"{here}.write", allowed)
    unknown = {name[5:] for name in names if name.startswith("kept.")} | set(rule.needs)
    for name in sorted(unknown - kept):
        yield Fault(
            key_path=here,
            problem=f"needs {name}, which no rule keeps",
            expected="a name that some rule keeps",
        )


def _check_names(template: Any, here: str, allowed: frozenset[str]) -> Iterator[Fault]:
    for name in placeholders(template):
        first = name.partition(".")[0]
        if first not in allowed and not (first in ("option", "kept") and "." in name):
            known = ", ".join(f"{{{one}}}" for one in sorted(allowed))
            yield Fault(
                key_path=here,
                problem=f"has the placeholder {{{name}}}",
                expected=f"only {known}, {{option.NAME}} and {{kept.NAME}}",
            )


def _check_session(mode: ModeManifest, at: str) -> Iterator[Fault]:
    settings = mode.stream
    is_named = any("{session}" in arg for arg in mode.launch.args)
    if is_named != (settings.chooses_session or mode.session_id.kind in ("chosen", "command")):
        yield Fault(
            key_path=f"{at}.stream.chooses_session",
            problem=f"is {str(settings.chooses_session).lower()}",
            expected="true exactly where {session} stands in launch.args",
        )
    for name, calls, claim, arguments in (
        ("fresh", settings.fresh, mode.capabilities.launch, mode.launch),
        ("resume", settings.resume, mode.capabilities.resume, mode.resume),
        ("fork", settings.fork, mode.capabilities.fork, mode.fork),
    ):
        is_told = any("{session}" in arg for arg in arguments.args) or any(
            "session" in placeholders(rule.write) for rule in calls
        )
        if name != "fresh" and claim.is_supported and not is_told:
            yield Fault(
                key_path=f"{at}.stream.{name}",
                problem="does not name the session",
                expected=f"a call with {{session}}, or {{session}} in {name}.args",
            )
        is_learnt = any(rule.session for rule in (*settings.handshake, *calls, *settings.records))
        if (name == "fresh" and not (is_learnt or is_named)) or (
            name == "fork" and claim.is_supported and not is_learnt
        ):
            yield Fault(
                key_path=f"{at}.stream.{name}",
                problem="never learns the session's id",
                expected="where an answer or a record names it",
            )


def _check_turns(settings: StreamSettings, here: str) -> Iterator[Fault]:
    if settings.prompt is None:
        yield Fault(key_path=f"{here}.prompt", problem="is missing", expected="how a prompt is written")
    elif "prompt" not in placeholders(settings.prompt.write):
        yield Fault(
            key_path=f"{here}.prompt.write", problem="has no {prompt}", expected="the prompt's own text"
        )
    if not any(rule.ends is not None for rule in settings.records):
        yield Fault(
            key_path=f"{here}.records", problem="end no turn", expected="a rule with `ends`: quiet is no end"
        )
    kept = _kept(settings)
    for index, rule in enumerate(settings.records):
        for name in sorted((set(rule.needs) | set(rule.known.values()) - _KNOWN) - kept):
            yield Fault(
                key_path=f"{here}.records[{index}]",
                problem=f"compares with {name}, which no rule keeps",
                expected="a name that some rule keeps, or " + ", ".join(sorted(_KNOWN)),
            )


def _kept(settings: StreamSettings) -> set[str]:
    """Every name that some rule keeps."""
    calls = (*settings.handshake, *settings.fresh, *settings.resume, *settings.fork)
    said = calls if settings.prompt is None else (*calls, settings.prompt)
    return {name for rule in (*settings.records, *said) for name in rule.keeps}


def _check_requests(mode: ModeManifest, here: str) -> Iterator[Fault]:
    settings = mode.stream
    shape = settings.requests
    is_asking = shape.match != Match()
    if mode.capabilities.permission_answer.is_supported and not settings.permissions:
        yield Fault(
            key_path=f"{here}.permissions", problem="is empty", expected="how permissions are asked for"
        )
    if settings.permissions and not is_asking:
        yield Fault(
            key_path=f"{here}.requests.match", problem="is empty", expected="which records are requests"
        )
    if is_asking and not shape.unserved:
        yield Fault(
            key_path=f"{here}.requests.unserved",
            problem="is empty",
            expected="what answers a request that nobody serves: the harness would wait for ever",
        )
    yield from _check_names(shape.reply, f"{here}.requests.reply", _REPLY)
    yield from _check_names(shape.unserved, f"{here}.requests.unserved", _OPTION)
    for index, rule in enumerate(settings.permissions):
        yield from _check_permission(rule, f"{here}.permissions[{index}]")


def _check_permission(rule: PermissionRule, here: str) -> Iterator[Fault]:
    if not rule.options:
        yield Fault(key_path=f"{here}.options", problem="is empty", expected="what may be answered")
    yield from _check_names(rule.cancelled, f"{here}.cancelled", _OPTION)
    for index, option in enumerate(rule.options):
        yield from _check_names(option.answer, f"{here}.options[{index}].answer", _OPTION)
        for name in ("id", "name"):
            yield from _check_names(getattr(option, name), f"{here}.options[{index}].{name}", _OPTION)
