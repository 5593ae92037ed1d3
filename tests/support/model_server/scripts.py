"""Choose the scripted answer to a request by the last marker word in its last user message."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any

from support.model_server.arguments import (
    sample,
    shell_arguments,
    shell_tool,
    write_arguments,
    write_tool,
)
from support.model_server.asked import Asked

__all__ = ["Answer", "Call", "Failure", "Marker", "answer_to", "marker_in", "words_of"]

AFTER_TOOL_TEXT = "The scripted tool step is over. AFTER-TOOL"
PLAIN_TEXT = "The scripted model answers plainly. PLAIN-ANSWER"

_SIDE_WORDS = re.compile(r"title|summar|topic|classif|next speaker|memor", re.IGNORECASE)
_TASK = re.compile(r"^Task: (\S+)$", re.MULTILINE)
"""Where the prompt of a bridge says which task it is about: `{task}` in a command."""
_OPTION = re.compile(r"\[(\w+)=([^\]]*)\]")


class Marker(StrEnum):
    """The words that choose a script. `PLAIN` also undoes a marker that a client has merged in from before."""

    PLAIN = "PLAIN"
    SLOW = "SLOW"
    THINK = "THINK"
    RECALL = "RECALL"
    TOOLSHELL = "TOOLSHELL"
    TOOLWRITE = "TOOLWRITE"
    TOOLNAMED = "TOOLNAMED"
    HANG = "HANG"
    QUOTA = "QUOTA"
    AUTHFAIL = "AUTHFAIL"
    OVERLOAD = "OVERLOAD"


class Failure(Enum):
    """An HTTP error instead of an answer; each wire format words it in its own way."""

    QUOTA = "You exceeded your current quota, please check your plan and billing details."
    AUTH = "Incorrect API key provided."
    OVERLOAD = "The scripted model is overloaded."


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One tool call."""

    name: str
    arguments: dict[str, Any]
    is_freeform: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What the model does: think, say `text` word by word, then perhaps call a tool or fall silent.

    `interval_s` is the pause after each streamed word. `is_side` says that the client asked beside the
    conversation (for a title, a summary, a value of a schema), so that a test can leave such requests out.
    """

    text: str = ""
    thought: str = ""
    interval_s: float = 0.0
    call: Call | None = None
    is_endless: bool = False
    failure: Failure | None = None
    is_side: bool = False


_MARKER = re.compile(r"\b(" + "|".join(Marker) + r")\b")


def marker_in(text: str) -> tuple[Marker | None, dict[str, str]]:
    """Find the last marker word of `text` and the `[name=value]` options behind it."""
    found = list(_MARKER.finditer(text))
    if not found:
        return None, {}
    return Marker(found[-1].group()), dict(_OPTION.findall(text, found[-1].end()))


def answer_to(asked: Asked) -> Answer:
    """Choose the answer. The same request always gets the same answer."""
    if asked.answer_schema is not None:
        return Answer(text=json.dumps(sample(asked.answer_schema)), is_side=True)
    if not asked.tools and _SIDE_WORDS.search(asked.system_text):
        wants_json = "json" in asked.system_text.lower()
        return Answer(text='{"title": "Scripted title"}' if wants_json else "Scripted title", is_side=True)
    if asked.has_tool_result:
        return Answer(text=AFTER_TOOL_TEXT)
    marker, options = marker_in(asked.last_user_text)
    match marker:
        case None | Marker.PLAIN:
            return Answer(text=PLAIN_TEXT)
        case Marker.SLOW:
            count = int(options.get("words", "40"))
            words = " ".join(f"slow-{index}" for index in range(count))
            return Answer(text=f"{words} SLOW-END", interval_s=float(options.get("interval", "0.2")))
        case Marker.THINK:
            return Answer(thought="A scripted thought.", text="The scripted model has thought. THINK-ANSWER")
        case Marker.RECALL:
            return Answer(text="I was told: " + " | ".join(asked.user_texts[:-1]))
        case Marker.TOOLSHELL | Marker.TOOLWRITE:
            return _tool_answer(asked, marker, options)
        case Marker.TOOLNAMED:
            return _named_answer(asked, options)
        case Marker.HANG:
            return Answer(text="A scripted answer that never ends", is_endless=True)
        case Marker.QUOTA:
            return Answer(failure=Failure.QUOTA)
        case Marker.AUTHFAIL:
            return Answer(failure=Failure.AUTH)
        case Marker.OVERLOAD:
            return Answer(failure=Failure.OVERLOAD)


def words_of(text: str) -> list[str]:
    """Cut `text` into words that still carry their white space, so that joining them gives it back."""
    return re.findall(r"\s*\S+\s*$|\s*\S+", text)


def _named_answer(asked: Asked, options: dict[str, str]) -> Answer:
    """Calls the tool whose name ends as `tool` says, whatever the client put before it, with the JSON of `args`."""
    tool = next((tool for tool in asked.tools if tool.name.endswith(options["tool"])), None)
    if tool is None:
        return _no_such_tool(asked)
    call = Call(name=tool.name, arguments=json.loads(options.get("args", "{}")))
    return Answer(text="One scripted tool call.", call=call)


def _no_such_tool(asked: Asked) -> Answer:
    offered = ", ".join(tool.name for tool in asked.tools) or "none"
    return Answer(text=f"NO-SUCH-TOOL among those offered: {offered}")


def _tool_answer(asked: Asked, marker: Marker, options: dict[str, str]) -> Answer:
    is_shell = marker is Marker.TOOLSHELL
    tool = shell_tool(asked.tools) if is_shell else write_tool(asked.tools)
    if tool is None:
        return _no_such_tool(asked)
    if is_shell:
        command = options.get("cmd", "echo scripted > scripted-shell.txt")
        if task := _TASK.search(asked.last_user_text):
            command = command.replace("{task}", task[1])
        arguments = shell_arguments(tool, command, escalate="escalate" in options)
    else:
        arguments = write_arguments(tool, options.get("path", "scripted.txt"))
    call = Call(name=tool.name, arguments=arguments, is_freeform=tool.is_freeform)
    return Answer(text="One scripted tool call.", call=call)
