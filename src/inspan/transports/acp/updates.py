"""What a `session/update` says, as content; its kinds, and which of them belong to a turn."""

from __future__ import annotations

from typing import Any, Literal, assert_never

import msgspec

from inspan.model.content import (
    CommandsUpdated,
    ConfigUpdated,
    MessageChunk,
    ModeUpdated,
    PlanUpdated,
    SessionInfoUpdated,
    ToolCallUpdated,
    UsageUpdated,
)

from .loose import dicts_in, mapping_in, text_in
from .wire import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    PlanContentUpdate,
    PlanRemovedUpdate,
    PlanWhole,
    SessionInfoUpdate,
    ToolCallProgress,
    ToolCallStart,
    Update,
    UsageUpdate,
    UserMessageChunk,
    decode_any,
    decode_block,
)

__all__ = ["AMBIENT", "UpdateContent", "choices_of", "config_values", "mode_choice", "rule_of", "to_content"]

AMBIENT = (
    AvailableCommandsUpdate,
    CurrentModeUpdate,
    ConfigOptionUpdate,
    SessionInfoUpdate,
    UsageUpdate,
)
"""Updates about the session itself: they may come at any time, so they witness nothing and are no replay."""

UpdateContent = (
    MessageChunk
    | ToolCallUpdated
    | PlanUpdated
    | CommandsUpdated
    | ModeUpdated
    | ConfigUpdated
    | SessionInfoUpdated
    | UsageUpdated
)

Role = Literal["user", "agent", "thought"]

_ROLES: dict[type, Role] = {
    AgentMessageChunk: "agent",
    AgentThoughtChunk: "thought",
    UserMessageChunk: "user",
}
_RULES: dict[type, str] = {
    kind: f"acp.update.{kind.__struct_config__.tag}"
    for kind in (
        UserMessageChunk,
        AgentMessageChunk,
        AgentThoughtChunk,
        ToolCallStart,
        ToolCallProgress,
        PlanWhole,
        PlanContentUpdate,
        PlanRemovedUpdate,
        *AMBIENT,
    )
}


def rule_of(update: Update) -> str:
    """The rule by which the update is read."""
    return _RULES[type(update)]


def to_content(update: Update, *, replay: bool) -> UpdateContent:
    """What the update says.

    Raises:
        msgspec.DecodeError: A message's content is no content block.
    """
    match update:
        case AgentMessageChunk() | AgentThoughtChunk() | UserMessageChunk():
            return _chunk(update, replay=replay)
        case ToolCallStart() | ToolCallProgress():
            return ToolCallUpdated(
                id=update.toolCallId,
                title=update.title,
                kind=update.kind,
                status=update.status,
                content=update.content,
                locations=update.locations,
                raw_input=update.rawInput,
                raw_output=update.rawOutput,
                replay=replay,
            )
        case PlanWhole():
            return PlanUpdated(entries=tuple(update.entries), replay=replay)
        case PlanContentUpdate():
            # A plan that is a document has no entries: it becomes one that holds the document as it came.
            entries = tuple(dicts_in(update.plan, "entries"))
            is_document = update.plan.get("type", "items") != "items"
            return PlanUpdated(entries=(update.plan,) if is_document else entries, replay=replay)
        case PlanRemovedUpdate():
            return PlanUpdated(replay=replay)
        case AvailableCommandsUpdate():
            return CommandsUpdated(
                names=tuple(name for one in update.availableCommands if (name := text_in(one, "name")))
            )
        case CurrentModeUpdate():
            return ModeUpdated(current=update.currentModeId)
        case ConfigOptionUpdate():
            return ConfigUpdated(values=config_values(update.configOptions))
        case SessionInfoUpdate():
            return SessionInfoUpdated(title=update.title, raw=_session_info(update))
        case UsageUpdate():
            return UsageUpdated(used=update.used, size=update.size, cost=update.cost)
        case _:
            assert_never(update)


def config_values(options: list[dict[str, Any]]) -> dict[str, Any]:
    """The options in force, by id."""
    return {key: one.get("currentValue") for one in options if (key := text_in(one, "id"))}


def mode_choice(result: dict[str, Any]) -> tuple[ModeUpdated | None, str | None]:
    """The mode in a session's result, and the option that stands for it where modes have no call of their own.

    Newer harnesses tell their modes as a session option of the category `mode` alone.
    """
    modes = mapping_in(result, "modes")
    if current := text_in(modes, "currentModeId"):
        names = (text_in(one, "id") for one in dicts_in(modes, "availableModes"))
        return ModeUpdated(current=current, available=tuple(name for name in names if name)), None
    for option in dicts_in(result, "configOptions"):
        key, current = text_in(option, "id"), text_in(option, "currentValue")
        if option.get("category") == "mode" and key and current:
            return ModeUpdated(current=current, available=choices_of(option)), key
    return None, None


def choices_of(option: dict[str, Any]) -> tuple[str, ...]:
    """The values that an option offers; groups are flattened."""
    found: list[str] = []
    for one in dicts_in(option, "options"):
        grouped = dicts_in(one, "options")
        found += [value for item in grouped or [one] if (value := text_in(item, "value"))]
    return tuple(found)


def _chunk(update: AgentMessageChunk | AgentThoughtChunk | UserMessageChunk, *, replay: bool) -> MessageChunk:
    role = _ROLES[type(update)]
    block = decode_block(update.content)
    if block.type == "text" and block.text is not None:
        return MessageChunk(role=role, text=block.text, message_id=update.messageId, replay=replay)
    raw = msgspec.convert(decode_any(update.content), dict[str, Any])
    return MessageChunk(role=role, message_id=update.messageId, raw=raw, replay=replay)


def _session_info(update: SessionInfoUpdate) -> dict[str, Any] | None:
    raw = {"updatedAt": update.updatedAt, "_meta": update.meta}
    return {key: value for key, value in raw.items() if value is not None} or None
