"""A recorded client that is not our own: which calls of it stand for ours, and the ids that it gave them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from inspan.model.plan import Attempt
from inspan.model.stream import CallRule, StreamSettings
from inspan.transports.acp.loose import mapping, text_in
from inspan.transports.records.paths import Place, as_token
from inspan.transports.stream.talk import is_match

from .recording import RecordedLine

__all__ = ["ForeignClient", "find_attempt"]

_SAYS_WHICH = ("type", "method", "subtype", "command")
"""Members that tell calls apart, at whatever depth; other words are the client's own, such as its name."""


def is_call(template: Any, message: Any) -> bool:
    """Whether a message is the call of a template, whoever wrote it."""
    members, values = mapping(template), mapping(message)
    if members is None or values is None:
        return False
    for key, one in members.items():
        if isinstance(one, str):
            if key in _SAYS_WHICH and "{" not in one and values.get(key) != one:
                return False
        elif (
            mapping(one) is not None
            and mapping(values.get(key)) is not None
            and not is_call(one, values[key])
        ):
            return False
    return any(key in values for key in members)


def find_attempt(rules: StreamSettings, lines: Iterable[RecordedLine]) -> tuple[Attempt, str | None]:
    """How a process was started, by what its client says before it begins anew, and which session that named."""
    for line in lines:
        message = mapping(line.message)
        if line.direction != ">" or message is None:
            continue
        attempts: tuple[tuple[Attempt, tuple[CallRule, ...]], ...] = (
            ("fresh", rules.fresh),
            ("resume", rules.resume),
            ("fork", rules.fork),
        )
        for attempt, calls in attempts:
            for call in calls:
                if is_call(call.write, message):
                    return attempt, None if attempt == "fresh" else _session_in(call.write, message)
    return "fresh", None


class ForeignClient:
    """The ids of one recorded process: those that its client gave its calls, and those that we give the same calls.

    Args:
        rules: How the harness is spoken to.
    """

    def __init__(self, rules: StreamSettings) -> None:
        self._rules = rules
        self._calls = {
            **{f"handshake.{index}": one for index, one in enumerate(rules.handshake)},
            **{f"fresh.{index}": one for index, one in enumerate(rules.fresh)},
            **{f"resume.{index}": one for index, one in enumerate(rules.resume)},
            **{f"fork.{index}": one for index, one in enumerate(rules.fork)},
            **({"prompt": rules.prompt} if rules.prompt is not None else {}),
            **({"cancel": rules.cancel} if rules.cancel is not None else {}),
        }
        self._ours: dict[str, list[Any]] = {}
        self._theirs: dict[str, tuple[str, int]] = {}
        self._said: dict[str, int] = {}

    def which(self, message: dict[str, Any]) -> str:
        """The name of the call that a message is; empty where it is none of those that we make."""
        return next((name for name, rule in self._calls.items() if is_call(rule.write, message)), "")

    def note_theirs(self, message: dict[str, Any]) -> None:
        """Takes note of a call of the recorded client."""
        name = self.which(message)
        ident = self._ident(name, message)
        if ident is not None:
            number = self._said.get(name, 0)
            self._said[name] = number + 1
            self._theirs[as_token(ident)] = (name, number)

    def note_ours(self, message: dict[str, Any]) -> None:
        """Takes note of a call of our own."""
        name = self.which(message)
        ident = self._ident(name, message)
        if ident is not None:
            self._ours.setdefault(name, []).append(ident)

    def translate(self, record: dict[str, Any]) -> dict[str, Any] | None:
        """A record as it would be for us; `None` for the answer to a call that we do not make."""
        shape = self._rules.answers
        if not is_match(shape.match, Place(record)):
            return record
        theirs = as_token(Place(record).find(shape.id))
        if theirs not in self._theirs:
            return record
        name, number = self._theirs[theirs]
        ours = self._ours.get(name, [])
        return _put(record, shape.id.split("."), ours[number]) if number < len(ours) else None

    def _ident(self, name: str, message: dict[str, Any]) -> Any:
        """The id of a call; of one that is none of ours, what stands where a prompt has its own."""
        rule = self._calls.get(name) or self._rules.prompt
        if rule is None:
            return None
        return next((message.get(key) for key, one in rule.write.items() if one == "{id}"), None)


def _session_in(template: dict[str, Any], message: dict[str, Any]) -> str | None:
    for key, one in template.items():
        inner, value = mapping(one), mapping(message.get(key))
        if one == "{session}":
            return text_in(message, key) or None
        if inner is not None and value is not None and (found := _session_in(inner, value)):
            return found
    return None


def _put(record: dict[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    if len(path) == 1:
        return {**record, path[0]: value}
    return {**record, path[0]: _put(mapping(record.get(path[0])) or {}, path[1:], value)}
