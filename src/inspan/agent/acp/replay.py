"""A conversation that is over, as the updates that told it while it was held.

Each of its values becomes the event that a turn showed, and goes the way of such an event, so that a replay hides and bounds
what a turn does. What was not kept is not told: a call's progress, and the calls of child agents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from inspan.agent.acp.shapes import Update, blocks_of, update_of
from inspan.agent.conversation import (
    AssistantMessage,
    CallPart,
    CallResult,
    Message,
    Summary,
    TextPart,
    ThinkingPart,
    ToolMessage,
    UserMessage,
)
from inspan.agent.events import (
    ContextCompacted,
    PlanUpdated,
    SessionEvent,
    TextDelta,
    ThinkingDelta,
    ToolCalled,
    ToolEnded,
)
from inspan.agent.tools.todo import TODO_TOOL, plan_of_call
from inspan.agent.values import ToolCall

__all__ = ["replay"]


def replay(messages: Sequence[Message], announce: Callable[[ToolCall], ToolCalled]) -> Iterator[Update]:
    """The updates, oldest first.

    Args:
        messages: The whole conversation.
        announce: Says what a call is to whoever watches.
    """
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if isinstance(message, UserMessage):
            # What the agent adds of its own is not shown by a turn either.
            for block in blocks_of(message.content if message.source == "user" else ()):
                yield {"sessionUpdate": "user_message_chunk", "content": block}
            continue
        for event in _events(message, calls, announce):
            if (update := update_of(event)) is not None:
                yield update


def _events(
    message: AssistantMessage | ToolMessage | Summary,
    calls: dict[str, ToolCall],
    announce: Callable[[ToolCall], ToolCalled],
) -> Iterator[SessionEvent]:
    match message:
        case AssistantMessage(parts=parts):
            for part in parts:
                match part:
                    case TextPart(text=text) if text:
                        yield TextDelta(text=text)
                    case ThinkingPart(text=text) if text:
                        yield ThinkingDelta(text=text)
                    case CallPart(call=call):
                        calls[call.id] = call
                        yield announce(call)
                    case _:  # a provider's own state, without a word
                        pass
        case ToolMessage(results=results):
            for one in results:
                if (call := calls.get(one.call_id)) is not None:
                    yield from _ends(call, one)
        case Summary(text=text):
            yield ContextCompacted(summary=text, before_tokens=0, after_tokens=0)


def _ends(call: ToolCall, one: CallResult) -> Iterator[SessionEvent]:
    is_done = not one.result.is_error
    if is_done and one.tool == TODO_TOOL:
        yield PlanUpdated(entries=plan_of_call(call.arguments))
    yield ToolEnded(
        call_id=one.call_id,
        tool=one.tool,
        result=one.result,
        duration_s=0.0,
        outcome="done" if is_done else "failed",
    )
