"""Reading: what one rule says of one record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from inspan.model.content import ConfigUpdated, ErrorReported, MessageChunk, PermissionDenied, ToolCallUpdated
from inspan.model.records import DenialRule, EndRule, RecordRule, RetryRule, TextRule, ToolRule, UsageRule
from inspan.model.reports import WillRetry
from inspan.model.turn import Usage, UsageKind

from .ending import read_error
from .notes import CALLS_KEPT, KnownCall, TurnNotes
from .paths import Place, as_token

__all__ = ["Telling", "apply_rule", "is_about", "kind_of_tool"]

_INPUT_BYTES = 4096
"""Arguments of a tool call that are remembered; a rule that would name more is of no use to anybody."""


class Telling(Protocol):
    """Who tells what the records mean: a transport's collector of reports.

    Attributes:
        is_changed: Set where the state changed.
    """

    is_changed: bool

    @property
    def state(self) -> TurnNotes:
        """What is remembered."""
        ...

    def report(self, body: Any, rule: str) -> None:
        """Adds a report."""
        ...

    def name_session(self, session: str, rule: str) -> None:
        """Says which session it is."""
        ...

    def accept(self) -> None:
        """Says that the prompt was taken."""
        ...

    def witness(self, rule: str) -> None:
        """Says that the harness works on the prompt."""
        ...


def is_about(rule: RecordRule, place: Place) -> bool:
    """Whether the record is one that the rule is about."""
    return place.holds(rule.when) and not place.holds_any(rule.unless)


def apply_rule(
    telling: Telling, rule: RecordRule, place: Place, end_turn: Callable[[EndRule, Place], None]
) -> bool:
    """Applies a rule to a record that it is about; whether that makes the record one that is known.

    Args:
        telling: Who tells it.
        rule: The rule.
        place: The record.
        end_turn: Ends the turn as the result record says.
    """
    if rule.session:
        telling.name_session(place.text(rule.session), "session")
    if rule.accepts:
        telling.accept()
    if rule.starts:
        telling.witness("starts")
    if rule.recovers and telling.state.error is not None:
        telling.state.error = None
        telling.is_changed = True
    if rule.effective:
        found = {name: place.find(path) for name, path in rule.effective.items()}
        values = {name: value for name, value in found.items() if value is not None}
        if values:
            telling.report(ConfigUpdated(values=values), "effective")
    for here in _places(rule, place):
        if rule.text is not None:
            _say_text(telling, rule.text, here)
        if rule.tool is not None:
            _say_tool(telling, rule.tool, here)
        if rule.usage is not None:
            _count(telling, rule.usage, here)
        if rule.denial is not None:
            _say_denial(telling, rule.denial, here)
        if rule.retry is not None:
            _say_retry(telling, rule.retry, here)
        if rule.error is not None:
            telling.state.error = read_error(rule.error, here)
            telling.report(ErrorReported(error=telling.state.error), "error")
            telling.is_changed = True
        if rule.ends is not None:
            end_turn(rule.ends, here)
    return bool(rule.when)


def kind_of_tool(rule: ToolRule, name: str) -> str:
    """The kind of a tool, by its name."""
    return rule.kinds.get(name) or rule.kind


def _places(rule: RecordRule, place: Place) -> list[Place]:
    if not rule.each:
        return [place] if place.holds(rule.where) else []
    found = (Place(place.record, element) for element in place.elements(rule.each))
    return [one for one in found if one.holds(rule.where)]


def _say_text(telling: Telling, rule: TextRule, place: Place) -> None:
    words = place.text(rule.path)
    if not words:
        return
    state, message = telling.state, place.text(rule.message_id)
    if rule.is_whole and message and message == state.pieces_of:
        return
    if not rule.is_whole and message != state.pieces_of:
        state.pieces_of = message
        telling.is_changed = True
    telling.witness("text")
    telling.report(MessageChunk(role=rule.role, text=words, message_id=message or None), "text")


def _say_tool(telling: Telling, rule: ToolRule, place: Place) -> None:
    ident = place.text(rule.id)
    if not ident:
        return
    state = telling.state
    known = state.calls.get(ident)
    name = place.text(rule.name) or (known.tool if known is not None else "")
    arguments = place.find(rule.input) if rule.input else None
    title = place.fill(rule.title) if rule.title else name
    if known is None and name:
        is_small = len(msgspec.json.encode(arguments)) <= _INPUT_BYTES
        calls = {
            **state.calls,
            ident: KnownCall(
                tool=name, title=title, kind=kind_of_tool(rule, name), input=arguments if is_small else None
            ),
        }
        state.calls = dict(list(calls.items())[-CALLS_KEPT:])
        telling.is_changed = True
    status = rule.statuses.get(as_token(place.find(rule.status_path))) if rule.status_path else None
    telling.witness("tool")
    telling.report(
        ToolCallUpdated(
            id=ident,
            title=(title or None) if known is None else None,
            kind=(kind_of_tool(rule, name) or None) if known is None else None,
            status=status or rule.status or None,
            raw_input=arguments,
            raw_output=place.find(rule.output) if rule.output else None,
        ),
        "tool",
    )


def _count(telling: Telling, rule: UsageRule, place: Place) -> None:
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
    state = telling.state
    kind = UsageKind(rule.kind)
    if kind is UsageKind.STEP:
        kind = UsageKind.TURN
        if state.usage is not None:
            for name, value in numbers.items():
                before: int | None = getattr(state.usage, name)
                numbers[name] = before if value is None else value + (before or 0)
    state.usage = Usage(kind=kind, **numbers)
    telling.is_changed = True


def _say_denial(telling: Telling, rule: DenialRule, place: Place) -> None:
    state, ident = telling.state, place.text(rule.call)
    if ident and ident in state.denied:
        return
    known = state.calls.get(ident)
    tool = place.text(rule.tool) or (known.tool if known is not None else "")
    about = {} if known is None else {"tool": known.tool, "title": known.title, "input": known.input}
    filled = place.with_call(about)
    if ident:
        state.denied = (*state.denied, ident)[-CALLS_KEPT:]
        telling.is_changed = True
    telling.witness("denial")
    telling.report(
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


def _say_retry(telling: Telling, rule: RetryRule, place: Place) -> None:
    wait_ms = place.integer(rule.delay_ms)
    telling.witness("retry")
    telling.report(
        WillRetry(
            # More than a day is no wait that anybody would believe, and no time that a calendar may lack.
            delay_s=None if wait_ms is None else min(max(wait_ms, 0) / 1000, 86400.0),
            reason=place.text(rule.reason),
            attempt=place.integer(rule.attempt),
            limit=place.integer(rule.max_attempts),
        ),
        "retry",
    )
