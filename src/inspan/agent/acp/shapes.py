"""What the agent knows, in the shapes of ACP, and what a client sends, in the agent's.

Source: the protocol's schema, version 1, as `agent-client-protocol` 0.12 has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from inspan.agent.engine.contract import StopReason
from inspan.agent.events import (
    ContextCompacted,
    PlanEntry,
    PlanUpdated,
    Retrying,
    SessionEvent,
    TextDelta,
    ThinkingDelta,
    ToolCalled,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    UsageUpdated,
)
from inspan.agent.permissions.values import Answer, PermissionQuestion
from inspan.agent.values import Content, ImageContent, Location, TextContent, ToolResult, Usage

__all__ = [
    "PERMISSION_OPTIONS",
    "STOP_REASONS",
    "Update",
    "answer_of",
    "blocks_of",
    "content_of",
    "permission_of",
    "update_of",
    "usage_of",
]

Update = dict[str, Any]
"""An update, as the protocol has it."""

STOP_REASONS: Mapping[StopReason, str] = {
    StopReason.END_TURN: "end_turn",
    StopReason.MAX_STEPS: "max_turn_requests",
    StopReason.MAX_TOKENS: "max_tokens",
    StopReason.REFUSED: "refusal",
    StopReason.CANCELLED: "cancelled",
}
"""The stop reasons that the protocol has a word for. The others are errors."""

PERMISSION_OPTIONS: tuple[dict[str, str], ...] = (
    {"optionId": "allow_once", "name": "Allow", "kind": "allow_once"},
    {
        "optionId": "allow_always",
        "name": "Allow, and do not ask again in this session",
        "kind": "allow_always",
    },
    {"optionId": "reject_once", "name": "Deny", "kind": "reject_once"},
    {
        "optionId": "reject_always",
        "name": "Deny, and do not ask again in this session",
        "kind": "reject_always",
    },
)
"""What a person is offered."""

_ANSWERS = {
    "allow_once": Answer.ALLOW_ONCE,
    "allow_always": Answer.ALLOW_ALWAYS,
    "reject_once": Answer.DENY_ONCE,
    "reject_always": Answer.DENY_ALWAYS,
}
_KINDS = frozenset(
    {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
)
_LONGEST_OUTPUT = 100_000


def content_of(blocks: object) -> tuple[Content, ...]:
    """The content of a prompt. What cannot be used becomes a line that says so, so that nothing is lost silently.

    Raises:
        TypeError: It is no list of content blocks.
    """
    if not isinstance(blocks, list):
        raise TypeError("the prompt is no list")
    found: list[Content] = []
    for one in cast("list[object]", blocks):
        if not isinstance(one, dict):
            raise TypeError("a content block is no object")
        block = cast("dict[str, Any]", one)
        match block.get("type"):
            case "text":
                found.append(TextContent(text=str(block.get("text", ""))))
            case "image" if isinstance(block.get("data"), str):
                found.append(
                    ImageContent(media_type=str(block.get("mimeType", "image/png")), data=block["data"])
                )
            case "resource_link":
                found.append(TextContent(text=f"[{block.get('name') or 'file'}]({block.get('uri', '')})"))
            case "resource" if isinstance(block.get("resource"), dict):
                found.append(_resource(cast("dict[str, Any]", block["resource"])))
            case other:
                found.append(
                    TextContent(text=f"[a content block of type {str(other)[:40]!r} that is not supported]")
                )
    return tuple(found)


def blocks_of(content: Sequence[Content]) -> list[dict[str, Any]]:
    """Content as blocks."""
    return [
        {"type": "text", "text": part.text}
        if isinstance(part, TextContent)
        else {"type": "image", "mimeType": part.media_type, "data": part.data}
        for part in content
    ]


def update_of(event: SessionEvent) -> Update | None:
    """The update that tells an event; None for what the protocol has no update for."""
    match event:
        case TextDelta(text=text):
            return _said("agent_message_chunk", text)
        case ThinkingDelta(text=text):
            return _said("agent_thought_chunk", text)
        case ToolCalled():
            return {
                "sessionUpdate": "tool_call",
                "toolCallId": event.call_id,
                "title": event.title,
                "kind": _kind(event.kind),
                "status": "pending",
                "rawInput": event.arguments,
                "locations": _locations(event.locations),
                **({"_meta": {"subagent": event.subagent}} if event.subagent else {}),
            }
        case ToolStarted(call_id=call_id):
            return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": "in_progress"}
        case ToolProgressed(call_id=call_id, text=text):
            return {
                "sessionUpdate": "tool_call_update",
                "toolCallId": call_id,
                "content": [{"type": "content", "content": {"type": "text", "text": text}}],
            }
        case ToolEnded():
            return {
                "sessionUpdate": "tool_call_update",
                "toolCallId": event.call_id,
                **_ended(event.result, is_done=event.outcome == "done"),
            }
        case PlanUpdated(entries=entries):
            return {"sessionUpdate": "plan", "entries": [_entry(one) for one in entries]}
        case UsageUpdated():
            return _usage_update(event)
        case ContextCompacted():
            return _said(
                "agent_thought_chunk", "The conversation was made shorter; what came before was summed up."
            )
        case Retrying(reason=reason, attempt=attempt, wait_s=wait_s):
            return {
                **_said("agent_thought_chunk", f"The model did not answer ({reason}); trying again."),
                "_meta": {"retry": {"attempt": attempt, "waitSeconds": wait_s}},
            }
        case _:
            return None


def usage_of(usage: Usage) -> dict[str, Any]:
    """What a turn spent."""
    return {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": usage.input_tokens + usage.output_tokens,
        "cachedReadTokens": usage.cache_read_tokens,
        "cachedWriteTokens": usage.cache_write_tokens,
    }


def permission_of(question: PermissionQuestion) -> dict[str, Any]:
    """The call that a permission is asked for."""
    return {
        "toolCallId": question.call_id,
        "title": question.title,
        "kind": _kind(question.kind),
        "status": "pending",
        "rawInput": question.arguments,
        "locations": _locations(question.locations),
    }


def answer_of(result: object) -> Answer:
    """What a person answered; anything that is not understood is a deny."""
    outcome: object = cast("dict[str, Any]", result).get("outcome") if isinstance(result, dict) else None
    if not isinstance(outcome, dict):
        return Answer.DENY_ONCE
    told = cast("dict[str, Any]", outcome)
    if told.get("outcome") == "cancelled":
        return Answer.CANCELLED
    chosen = told.get("optionId")
    return _ANSWERS.get(chosen, Answer.DENY_ONCE) if isinstance(chosen, str) else Answer.DENY_ONCE


def _said(kind: str, text: str) -> Update:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


def _resource(resource: Mapping[str, Any]) -> Content:
    uri, text = str(resource.get("uri", "")), resource.get("text")
    if isinstance(text, str):
        return TextContent(text=f'<resource uri="{uri}">\n{text}\n</resource>')
    return TextContent(text=f"[the binary resource {uri}, which is not supported]")


def _ended(result: ToolResult, *, is_done: bool) -> dict[str, Any]:
    shown: list[dict[str, Any]] = [
        {"type": "diff", "path": diff.path, "oldText": diff.old_text, "newText": diff.new_text}
        for diff in result.diffs
    ]
    shown += [{"type": "content", "content": block} for block in blocks_of(result.content)]
    told: dict[str, Any] = {"status": "completed" if is_done else "failed", "content": shown}
    if text := result.text:
        told["rawOutput"] = {"text": text[:_LONGEST_OUTPUT]}
    return told


def _usage_update(event: UsageUpdated) -> Update | None:
    if event.context_limit_tokens is None:
        return None
    told: Update = {
        "sessionUpdate": "usage_update",
        "used": event.context_tokens,
        "size": event.context_limit_tokens,
    }
    if event.session.cost_usd is not None:
        told["cost"] = {"amount": event.session.cost_usd, "currency": "USD"}
    return told


def _entry(entry: PlanEntry) -> dict[str, str]:
    return {"content": entry.content, "priority": entry.priority, "status": entry.status}


def _locations(locations: Sequence[Location]) -> list[dict[str, Any]]:
    return [
        {"path": one.path} if one.line is None else {"path": one.path, "line": one.line} for one in locations
    ]


def _kind(kind: str) -> str:
    return kind if kind in _KINDS else "other"
