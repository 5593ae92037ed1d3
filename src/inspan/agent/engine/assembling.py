"""Puts the pieces of an answer together to the parts of a message."""

from __future__ import annotations

import re
from collections.abc import Iterable

from inspan.agent.conversation import AssistantPart, CallPart, TextPart, ThinkingPart
from inspan.agent.models.contract import (
    Finished,
    ModelEvent,
    PartDone,
    TextDelta,
    ThinkingDelta,
    UsageSeen,
)
from inspan.agent.models.failure import FailureKind, ModelFailure
from inspan.agent.text import clean_json, clean_text
from inspan.agent.values import JsonObject, ToolCall, Usage
from inspan.model.ids import new_id

__all__ = ["Assembler"]

_CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LONGEST = 32 << 20
"""The most characters of one answer; a model that writes more is broken."""


class Assembler:
    """Takes the events of one answer.

    Args:
        taken_ids: The ids of all calls before. A call that brings one of them, none, or one that some provider would not
            take, is given a fresh one.

    Attributes:
        parts: What is complete.
        usage: What the request spent, as far as it was said.
        finish: Why the answer is complete.
    """

    def __init__(self, taken_ids: Iterable[str]) -> None:
        self._taken = set(taken_ids)
        self._open: type[TextPart] | type[ThinkingPart] | None = None
        self._pieces: list[str] = []
        self._length = 0
        self.parts: list[AssistantPart] = []
        self.usage = Usage(requests=1)
        self.finish = "stop"

    def add(self, event: ModelEvent) -> TextDelta | ThinkingDelta | None:
        """Takes one event; returns what of it is to be shown now.

        Raises:
            ModelFailure: `garbage`: it is no event, or the answer is beyond all measure.
        """
        match event:
            case TextDelta(text=text):
                return self._delta(TextPart, text)
            case ThinkingDelta(text=text):
                return self._delta(ThinkingPart, text)
            case PartDone(part=CallPart() as part):
                self.close()
                self.parts.append(self._call(part))
            case PartDone(part=TextPart() | ThinkingPart() as part):
                return self._whole(part)
            case UsageSeen(usage=usage):
                self.usage = usage
            case Finished(reason=reason):
                self.finish = reason
            case _:  # pyright: ignore[reportUnnecessaryComparison] - a plugin may yield anything
                raise ModelFailure(
                    FailureKind.GARBAGE, "The model provider gave something that is no answer."
                )
        return None

    def close(self) -> None:
        """Makes a part of the deltas that came so far."""
        if self._open is not None and self._pieces:
            self.parts.append(self._open(text="".join(self._pieces)))
        self._open, self._pieces = None, []

    def partial(self) -> tuple[AssistantPart, ...]:
        """What came of an answer that was cut: its text and its thinking; none of its calls was run."""
        self.close()
        return tuple(part for part in self.parts if not isinstance(part, CallPart))

    def _delta(
        self, kind: type[TextPart] | type[ThinkingPart], text: str
    ) -> TextDelta | ThinkingDelta | None:
        if not text:
            return None
        if self._open is not kind:
            self.close()
            self._open = kind
        text = clean_text(text)
        self._count(text)
        self._pieces.append(text)
        return TextDelta(text=text) if kind is TextPart else ThinkingDelta(text=text)

    def _whole(self, part: TextPart | ThinkingPart) -> TextDelta | ThinkingDelta | None:
        kind = type(part)
        came_before = self._open is kind and bool(self._pieces)
        if came_before:
            self._open, self._pieces = None, []
        else:
            self.close()
            self._count(part.text)
        text = clean_text(part.text)
        if text or part.provider_state is not None:
            self.parts.append(kind(text=text, provider_state=clean_json(part.provider_state)))
        if came_before or not text:
            return None
        return TextDelta(text=text) if kind is TextPart else ThinkingDelta(text=text)

    def _call(self, part: CallPart) -> CallPart:
        call = part.call
        call_id = call.id
        if not _CALL_ID.fullmatch(call_id) or call_id in self._taken:
            call_id = new_id("call")
        self._taken.add(call_id)
        arguments = clean_json(call.arguments)
        return CallPart(
            call=ToolCall(
                id=call_id,
                tool=clean_text(call.tool),
                arguments=_object(arguments),
                malformed=clean_text(call.malformed),
            ),
            provider_state=clean_json(part.provider_state),
        )

    def _count(self, text: str) -> None:
        self._length += len(text)
        if self._length > _LONGEST:
            raise ModelFailure(FailureKind.GARBAGE, "The model's answer grew beyond all measure.")


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]
