"""Records: what a line means, by the manifest's rules."""

from __future__ import annotations

from typing import Any

import msgspec

from inspan.model.content import (
    ConfigUpdated,
    MessageChunk,
    PermissionDenied,
    ToolCallUpdated,
    UnknownUpdate,
)
from inspan.model.headless import DenialRule, RecordRule, RetryRule, TextRule, ToolRule, UsageRule
from inspan.model.reports import WillRetry
from inspan.model.turn import Usage, UsageKind

from .ending import end_by_record, read_error
from .paths import Place, as_token
from .saying import Saying
from .state import CALLS_KEPT, KnownCall

__all__ = ["take_record"]

_INPUT_BYTES = 4096
"""Arguments of a tool call that are remembered; a rule that would name more is of no use to anybody."""


def take_record(saying: Saying, record: dict[str, Any]) -> None:
    """Says what a record means. One that no rule knows is kept as it came."""
    is_known = False
    for rule in saying.settings.headless.records:
        place = Place(record)
        if not place.holds(rule.when) or place.holds_any(rule.unless):
            continue
        is_known = _apply(saying, rule, place) or is_known
    if is_known:
        if not saying.state.has_spoken:
            saying.state.has_spoken = True
            saying.is_changed = True
    else:
        kind = as_token(Place(record).find(saying.settings.headless.kind))
        saying.report(UnknownUpdate(kind=kind, raw=record), "unknown")


def _apply(saying: Saying, rule: RecordRule, place: Place) -> bool:
    """Applies a rule; whether that makes the record one that is known."""
    if rule.session:
        saying.name_session(place.text(rule.session), "session")
    if rule.accepts:
        saying.accept()
    if rule.starts:
        saying.witness("starts")
    if rule.recovers and saying.state.error is not None:
        saying.state.error = None
        saying.is_changed = True
    if rule.effective:
        found = {name: place.find(path) for name, path in rule.effective.items()}
        values = {name: value for name, value in found.items() if value is not None}
        if values:
            saying.report(ConfigUpdated(values=values), "effective")
    for here in _places(rule, place):
        if rule.text is not None:
            _say_text(saying, rule.text, here)
        if rule.tool is not None:
            _say_tool(saying, rule.tool, here)
        if rule.usage is not None:
            _count(saying, rule.usage, here)
        if rule.denial is not None:
            _say_denial(saying, rule.denial, here)
        if rule.retry is not None:
            _say_retry(saying, rule.retry, here)
        if rule.error is not None:
            saying.state.error = read_error(rule.error, here)
            saying.is_changed = True
        if rule.ends is not None:
            end_by_record(saying, rule.ends, here)
    return bool(rule.when)


def _places(rule: RecordRule, place: Place) -> list[Place]:
    if not rule.each:
        return [place] if place.holds(rule.where) else []
    found = (Place(place.record, element) for element in place.elements(rule.each))
    return [one for one in found if one.holds(rule.where)]


def _say_text(saying: Saying, rule: TextRule, place: Place) -> None:
    words = place.text(rule.path)
    if not words:
        return
    state, message = saying.state, place.text(rule.message_id)
    if rule.is_whole and message and message == state.pieces_of:
        return
    if not rule.is_whole and message != state.pieces_of:
        state.pieces_of = message
        saying.is_changed = True
    saying.witness("text")
    saying.report(MessageChunk(role=rule.role, text=words, message_id=message or None), "text")


def _say_tool(saying: Saying, rule: ToolRule, place: Place) -> None:
    ident = place.text(rule.id)
    if not ident:
        return
    state = saying.state
    known = state.calls.get(ident)
    name = place.text(rule.name) or (known.tool if known is not None else "")
    arguments = place.find(rule.input) if rule.input else None
    title = place.fill(rule.title) if rule.title else name
    if known is None and name:
        is_small = len(msgspec.json.encode(arguments)) <= _INPUT_BYTES
        calls = {
            **state.calls,
            ident: KnownCall(tool=name, title=title, input=arguments if is_small else None),
        }
        state.calls = dict(list(calls.items())[-CALLS_KEPT:])
        saying.is_changed = True
    status = rule.statuses.get(as_token(place.find(rule.status_path))) if rule.status_path else None
    saying.witness("tool")
    saying.report(
        ToolCallUpdated(
            id=ident,
            title=(title or None) if known is None else None,
            kind=(rule.kinds.get(name) or rule.kind or None) if known is None else None,
            status=status or rule.status or None,
            raw_input=arguments,
            raw_output=place.find(rule.output) if rule.output else None,
        ),
        "tool",
    )


def _count(saying: Saying, rule: UsageRule, place: Place) -> None:
    numbers = {
        "input_tokens": place.integer(rule.input),
        "output_tokens": place.integer(rule.output),
        "total_tokens": place.integer(rule.total),
        "cached_read_tokens": place.integer(rule.cached_read),
        "cached_write_tokens": place.integer(rule.cached_write),
        "thought_tokens": place.integer(rule.thought),
    }
    if all(value is None for value in numbers.values()):
        return
    state = saying.state
    kind = UsageKind(rule.kind)
    if kind is UsageKind.STEP:
        kind = UsageKind.TURN
        if state.usage is not None:
            for name, value in numbers.items():
                before: int | None = getattr(state.usage, name)
                numbers[name] = before if value is None else value + (before or 0)
    state.usage = Usage(kind=kind, **numbers)
    saying.is_changed = True


def _say_denial(saying: Saying, rule: DenialRule, place: Place) -> None:
    state, ident = saying.state, place.text(rule.call)
    if ident and ident in state.denied:
        return
    known = state.calls.get(ident)
    tool = place.text(rule.tool) or (known.tool if known is not None else "")
    about = {} if known is None else {"tool": known.tool, "title": known.title, "input": known.input}
    filled = place.with_call(about)
    if ident:
        state.denied = (*state.denied, ident)[-CALLS_KEPT:]
        saying.is_changed = True
    saying.witness("denial")
    saying.report(
        PermissionDenied(
            tool=tool,
            title=known.title if known is not None else "",
            call=ident,
            reason=place.text(rule.reason),
            rule=filled.fill(rule.rules.get(tool, rule.rule)),
            settings=rule.settings,
            is_shared=rule.is_shared and bool(rule.settings),
        ),
        "denial",
    )


def _say_retry(saying: Saying, rule: RetryRule, place: Place) -> None:
    wait_ms = place.integer(rule.delay_ms)
    saying.witness("retry")
    saying.report(
        WillRetry(
            # More than a day is no wait that anybody would believe, and no time that a calendar may lack.
            delay_s=None if wait_ms is None else min(max(wait_ms, 0) / 1000, 86400.0),
            reason=place.text(rule.reason),
            attempt=place.integer(rule.attempt),
            limit=place.integer(rule.max_attempts),
        ),
        "retry",
    )
