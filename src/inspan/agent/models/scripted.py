"""A model that needs nothing: no network, no key, no mind. It does what a script says, and says that it is scripted.

A script is lines, one step each. It stands in the prompt, in a fenced block that begins with three backticks and the
word `script`; or a `ScriptedModel` is made with one. A prompt without a script is said back.

```text
say TEXT                      write TEXT and a newline; \\n in it is a line break
say N: TEXT                   the same, in N pieces
think TEXT                    think it
call TOOL {JSON}              call a tool; several in one answer are made side by side
wait SECONDS                  wait; `wait forever` until it is cancelled
usage INPUT OUTPUT            say that the request took so many tokens; otherwise they are counted by the text
fail KIND                     fail: quota, rate, auth, context, content, unavailable, connection, rejected, raised
fail KIND once                the same, at the first try of this answer alone
stop max_tokens               end the answer as cut by its length; `stop refused` as refused
---                           end this answer; what follows is the answer to the results of its calls
# …                           a note; empty lines are passed over
```

`$result` in a `say` stands for the text of the newest tool result, `$prompt` for the prompt without its script. A model that is asked on when its script has no more
answers says so.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import cast

from inspan.agent.cancelling import CancelSignal
from inspan.agent.conversation import (
    AssistantMessage,
    CallPart,
    Message,
    Summary,
    TextPart,
    ThinkingPart,
    ToolMessage,
    UserMessage,
)
from inspan.agent.models.contract import (
    Finished,
    ModelDefinition,
    ModelEvent,
    ModelRequest,
    PartDone,
    TextDelta,
    ThinkingDelta,
    UsageSeen,
)
from inspan.agent.models.failure import FailureKind, ModelFailure
from inspan.agent.sessions.compaction import COMPACTION_SOURCE
from inspan.agent.values import Content, JsonObject, TextContent, ToolCall, Usage

__all__ = ["LABEL", "SCRIPTED_MODELS", "SCRIPTED_NAME", "ScriptedModel", "ScriptedModelError"]

LABEL = "[scripted] "
"""Before everything that the model says of its own."""

SCRIPTED_NAME = "scripted:demo"
"""The name by which the built-in scripted model is chosen."""

SCRIPTED_MODELS = (
    ModelDefinition(
        id=SCRIPTED_NAME.partition(":")[2],
        title="Scripted (no model)",
        context_tokens=200_000,
        input_usd_per_mtok=0.0,
        output_usd_per_mtok=0.0,
    ),
)
"""The models of the built-in scripted provider."""

_FENCE = re.compile(r"^```script[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_PIECES = re.compile(r"(\d+):[ \t]?(.*)", re.DOTALL)


class ScriptedModelError(Exception):
    """The script said `fail raised`."""


class ScriptedModel:
    """A provider whose models all do what a script says.

    Args:
        script: Followed for every prompt that brings none of its own; empty says the prompt back.
        id: The provider's id.
    """

    def __init__(self, script: str = "", *, id: str = "scripted") -> None:
        self._id = id
        self._script = script
        self._failed: set[tuple[int, int]] = set()

    @property
    def id(self) -> str:
        """The part before the colon."""
        return self._id

    async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
        """Answers by the script. Fails at once with `rejected` if it cannot be read."""
        newest = request.messages[-1] if request.messages else None
        if isinstance(newest, UserMessage) and newest.source == COMPACTION_SOURCE:
            yield TextDelta(text=f"{LABEL}What came before was summed up by a script.")
            yield UsageSeen(usage=_counted(request.messages, ""))
            return
        prompt, answered = _place_in_turn(request.messages)
        script, rest = _script_in(prompt, self._script)
        if not script:
            text = f"{LABEL}{_own_words(request, prompt)}"
            yield TextDelta(text=text)
            yield UsageSeen(usage=_counted(request.messages, text))
            return
        answers = _answers(script)
        if answered >= len(answers):
            text = f"{LABEL}The script has no more answers."
            yield TextDelta(text=text)
            yield UsageSeen(usage=_counted(request.messages, text))
            return
        stage = _Stage(
            request=request,
            cancel=cancel,
            prompt=rest,
            answered=answered,
            failed=self._failed,
        )
        for number, line in enumerate(answers[answered]):
            async for event in stage.perform(number, line):
                yield event
        if not stage.has_usage:
            yield UsageSeen(usage=_counted(request.messages, stage.said))


class _Stage:
    """Performs the steps of one answer."""

    def __init__(
        self,
        *,
        request: ModelRequest,
        cancel: CancelSignal,
        prompt: str,
        answered: int,
        failed: set[tuple[int, int]],
    ) -> None:
        self._request = request
        self._cancel = cancel
        self._prompt = prompt
        self._answered = answered
        self._failed = failed
        self._calls = 0
        self.said = ""
        self.has_usage = False

    async def perform(self, number: int, line: str) -> AsyncIterator[ModelEvent]:
        """Does one line."""
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        match word:
            case "say":
                for piece in self._pieces(rest):
                    self.said += piece
                    yield TextDelta(text=piece)
                    await asyncio.sleep(0)
            case "think":
                yield ThinkingDelta(text=rest)
                yield PartDone(part=ThinkingPart(text=rest))
            case "call":
                yield PartDone(part=CallPart(call=self._call(rest)))
            case "wait":
                await self._wait(rest)
            case "usage":
                self.has_usage = True
                yield UsageSeen(usage=_usage(rest))
            case "stop":
                if rest not in ("max_tokens", "refused", "stop"):
                    raise _unreadable(line)
                yield Finished(reason=rest)
            case "fail":
                self._fail(number, rest)
            case _:
                raise _unreadable(line)

    def _pieces(self, text: str) -> Iterator[str]:
        found = _PIECES.fullmatch(text)
        count, text = (int(found[1]), found[2]) if found else (1, text)
        text = text.replace("\\n", "\n").replace("$prompt", self._prompt) + "\n"
        if "$result" in text:
            text = text.replace("$result", _newest_result(self._request.messages))
        size = max(1, math.ceil(len(text) / max(1, count)))
        for start in range(0, len(text), size):
            yield text[start : start + size]

    def _call(self, text: str) -> ToolCall:
        tool, _, raw = text.partition(" ")
        self._calls += 1
        call_id = f"call_{len(self._request.messages)}_{self._calls}"
        try:
            arguments = json.loads(raw or "{}")
        except ValueError:
            return ToolCall(id=call_id, tool=tool, arguments={}, malformed=raw)
        if not isinstance(arguments, dict):
            return ToolCall(id=call_id, tool=tool, arguments={}, malformed=raw)
        return ToolCall(id=call_id, tool=tool, arguments=cast(JsonObject, arguments))

    async def _wait(self, text: str) -> None:
        try:
            seconds = None if text == "forever" else float(text)
        except ValueError:
            raise _unreadable(f"wait {text}") from None
        waiting = asyncio.ensure_future(self._cancel.wait())
        try:
            await asyncio.wait({waiting}, timeout=seconds)
        finally:
            waiting.cancel()

    def _fail(self, number: int, text: str) -> None:
        kind, _, how = text.partition(" ")
        place = (self._answered, number)
        if how == "once":
            if place in self._failed:
                return
            self._failed.add(place)
        if kind == "raised":
            raise ScriptedModelError("the script said so")
        if kind not in tuple(FailureKind):
            raise _unreadable(f"fail {text}")
        raise ModelFailure(FailureKind(kind), f"The script failed with {kind!r}.")


def _place_in_turn(messages: Sequence[Message]) -> tuple[str, int]:
    """The prompt of the newest turn, and how many answers it had."""
    answered = 0
    for message in reversed(messages):
        match message:
            case UserMessage() if message.source == "user":
                return _text_of(message.content), answered
            case AssistantMessage() if not message.is_partial:
                answered += 1
            case Summary():
                return message.text, answered
            case _:
                pass
    return "", answered


def _script_in(prompt: str, default: str) -> tuple[str, str]:
    """The script for a prompt, and the prompt without it."""
    found = _FENCE.findall(prompt)
    if found:
        return found[-1], _FENCE.sub("", prompt).strip()
    return default, prompt


def _answers(script: str) -> list[list[str]]:
    answers: list[list[str]] = [[]]
    for line in script.splitlines():
        text = line.strip()
        if text == "---":
            answers.append([])
        elif text and not text.startswith("#"):
            answers[-1].append(text)
    return answers


def _own_words(request: ModelRequest, prompt: str) -> str:
    return f"You said: {prompt}" if request.messages else "You said nothing."


def _text_of(content: Sequence[Content]) -> str:
    return "\n".join(part.text for part in content if isinstance(part, TextContent))


def _newest_result(messages: Sequence[Message]) -> str:
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            return "\n".join(result.result.text for result in message.results)
    return ""


def _usage(text: str) -> Usage:
    try:
        read, written = (int(number) for number in text.split())
    except ValueError:
        raise _unreadable(f"usage {text}") from None
    return Usage(requests=1, input_tokens=read, output_tokens=written)


def _counted(messages: Sequence[Message], said: str) -> Usage:
    return Usage(
        requests=1, input_tokens=sum(map(_size, messages)) // 4 + 1, output_tokens=len(said) // 4 + 1
    )


def _size(message: Message) -> int:
    match message:
        case UserMessage():
            return len(_text_of(message.content))
        case AssistantMessage():
            return sum(len(part.text) for part in message.parts if isinstance(part, TextPart))
        case ToolMessage():
            return sum(len(result.result.text) for result in message.results)
        case Summary():
            return len(message.text)


def _unreadable(line: str) -> ModelFailure:
    return ModelFailure(FailureKind.REJECTED, f"The script has a line that cannot be read: {line[:80]!r}.")
