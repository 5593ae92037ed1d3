"""The `todo` tool: the session's plan, which the model keeps and whoever watches can show."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from inspan.agent.text import clean_text
from inspan.agent.values import JsonObject, ToolResult

from .arguments import arguments_of, schema_of
from .contract import Tool, ToolCallContext
from .problems import telling_problems

__all__ = ["TODO_TOOL", "PlanBoard", "PlanEntry", "PlanPriority", "PlanStatus", "plan_of_call", "todo_tool"]

TODO_TOOL = "todo"
"""The tool's name."""

_SESSIONS = 256
_MARKS = {"pending": " ", "in_progress": "~", "completed": "x"}
_DESCRIPTION = """\
Keeps the plan of this session. Give the whole list each time: it replaces the one before. Use it for work of several steps; mark \
a step in_progress before you begin it and completed as soon as it is done."""


class PlanStatus(StrEnum):
    """How far a step is; the words are ACP's."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class PlanPriority(StrEnum):
    """How much a step matters; the words are ACP's."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class PlanEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A step of a plan.

    Attributes:
        content: What is to be done, in a few words.
        status: How far it is.
        priority: How much it matters.
    """

    content: Annotated[str, Meta(min_length=1, max_length=500, description="The step, in a few words.")]
    status: Annotated[PlanStatus, Meta(description="How far it is.")] = PlanStatus.PENDING
    priority: Annotated[PlanPriority, Meta(description="How much it matters.")] = PlanPriority.MEDIUM


class TodoArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of the `todo` tool."""

    entries: Annotated[
        list[PlanEntry], Meta(max_length=100, description="All steps in order, the completed ones too.")
    ]


class PlanBoard:
    """The plan of each session, the last 256 of them. Belongs to one event loop."""

    def __init__(self) -> None:
        self._plans: OrderedDict[str, tuple[PlanEntry, ...]] = OrderedDict()
        self._listeners: list[Callable[[str, tuple[PlanEntry, ...]], None]] = []

    def of(self, session_id: str) -> tuple[PlanEntry, ...]:
        """The plan of a session; empty if it has none."""
        return self._plans.get(session_id, ())

    def put(self, session_id: str, entries: tuple[PlanEntry, ...]) -> None:
        """Replaces a session's plan and tells whoever listens, the same plan again included."""
        self._plans[session_id] = entries
        self._plans.move_to_end(session_id)
        while len(self._plans) > _SESSIONS:
            self._plans.popitem(last=False)
        for listener in tuple(self._listeners):
            listener(session_id, entries)

    def listen(self, listener: Callable[[str, tuple[PlanEntry, ...]], None]) -> Callable[[], None]:
        """Calls `listener` with the session's id and its whole plan at each change. Returns what takes it off again.

        The listener must not raise.
        """
        self._listeners.append(listener)

        def leave() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return leave


def plan_of_call(arguments: JsonObject) -> tuple[PlanEntry, ...]:
    """The plan that a call of the tool gave, for whoever reads a conversation again; empty if it gave none."""
    try:
        return _plan(msgspec.convert(dict(arguments), TodoArguments))
    except msgspec.ValidationError:
        return ()


def todo_tool(board: PlanBoard) -> Tool:
    """Makes the tool."""

    @telling_problems
    async def execute(arguments: JsonObject, call: ToolCallContext) -> ToolResult:
        entries = _plan(arguments_of(TodoArguments, arguments))
        board.put(call.session_id, entries)
        lines = [f"[{_MARKS[one.status]}] {one.content}" for one in entries]
        return ToolResult.of_text("\n".join(lines) or "The plan is empty.")

    return Tool(
        name=TODO_TOOL,
        description=_DESCRIPTION,
        input_schema=schema_of(TodoArguments),
        session_local=True,
        execute=execute,
        kind="think",
        title=_title,
    )


def _plan(wanted: TodoArguments) -> tuple[PlanEntry, ...]:
    return tuple(
        PlanEntry(content=clean_text(" ".join(one.content.split())), status=one.status, priority=one.priority)
        for one in wanted.entries
    )


def _title(arguments: JsonObject) -> str:
    entries = plan_of_call(arguments)
    done = sum(one.status is PlanStatus.COMPLETED for one in entries)
    return f"Plan: {done} of {len(entries)} done" if entries else "Plan"
