"""Child agents: a turn of its own inside a call of the session's turn, under the same permissions and the same cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import structs

from inspan.agent.audit.sinks import AuditBus
from inspan.agent.breaker import Changes
from inspan.agent.calling import CallLimits, CallWatcher, ToolCaller, ToolEvent
from inspan.agent.cancelling import CancelSignal, run_until
from inspan.agent.conversation import AssistantMessage, Message, TextPart, ToolMessage, UserMessage
from inspan.agent.engine.contract import EngineEvent, StopReason, TurnRequest
from inspan.agent.events import ToolProgressed
from inspan.agent.hook_events import SubagentStart, SubagentStop
from inspan.agent.models.catalogue import FoundModel
from inspan.agent.models.contract import ToolDefinition
from inspan.agent.permissions.engine import PermissionEngine
from inspan.agent.plugins.contract import PromptContext
from inspan.agent.registries import ToolRegistry
from inspan.agent.sessions.history import History
from inspan.agent.sessions.log import MemoryLog
from inspan.agent.sessions.records import (
    CompactionKept,
    MessageKept,
    ResultKept,
    SessionRecord,
    SessionSettings,
    SettingsKept,
)
from inspan.agent.sessions.shortening import CompactionLimits, Shortener
from inspan.agent.tools.contract import ToolCallContext
from inspan.agent.tools.subagent import ChildAllowance, ChildRequest, ChildResult
from inspan.agent.values import TextContent, ToolCall, ToolResult, Usage

if TYPE_CHECKING:
    from inspan.agent.turn import TurnGround

__all__ = ["SessionChildren"]

_WORDS = """

You are a child agent: another agent gave you the task below, and sees nothing but your last answer. Do the task whole, then \
answer with what it needs to know. You cannot ask anybody."""


class SessionChildren:
    """Runs the child agents of one session. Their conversations are not kept; their calls are judged and audited as all are."""

    def __init__(
        self,
        *,
        turns: TurnGround,
        tools: ToolRegistry,
        permissions: PermissionEngine,
        audit: AuditBus,
        limits: CallLimits,
        compaction: CompactionLimits,
        find_model: Callable[[str], FoundModel],
        changing: asyncio.Lock,
        changes: Changes,
        spend: Callable[[Usage], None],
        watcher: Callable[[], CallWatcher | None],
    ) -> None:
        self._turns = turns
        self._tools = tools
        self._permissions = permissions
        self._audit = audit
        self._limits = limits
        self._compaction = compaction
        self._find_model = find_model
        self._changing = changing
        self._changes = changes
        self._spend = spend
        self._watcher = watcher
        self._running: dict[str, ChildAllowance] = {}
        self._begun = 0

    def allowance_of(self, call: ToolCallContext) -> ChildAllowance:
        """What the agent that made this call is and has."""
        if call.subagent:
            return self._running.get(call.subagent, ChildAllowance(tools=frozenset(), depth=1_000))
        names = frozenset(owned.tool.name for owned in self._tools.list() if owned.lease.is_alive)
        return ChildAllowance(tools=names, depth=0)

    async def run_child(self, request: ChildRequest, call: ToolCallContext) -> ChildResult:
        """Runs a child to its end. See `tools.subagent.ChildRunner`."""
        turns = self._turns
        label = self._free_label(request.name)
        self._running[label] = ChildAllowance(tools=request.tools, depth=request.depth)
        hooks, session_id = turns.hooks, turns.session_id
        reason = StopReason.CANCELLED.value
        try:
            await hooks.emit(SubagentStart(session_id=session_id, name=label), call.cancel)
            result = await self._run(request, call, label)
            reason = result.stop_reason
            return result
        finally:
            del self._running[label]
            await hooks.emit(SubagentStop(session_id=session_id, name=label, stop_reason=reason), call.cancel)

    async def _run(self, request: ChildRequest, call: ToolCallContext, label: str) -> ChildResult:
        turns = self._turns
        settings = turns.history.settings
        if settings is None:  # a session has settings from its first moment on
            raise AssertionError
        caller = ToolCaller(
            tools=self._tools,
            permissions=self._permissions,
            hooks=turns.hooks,
            audit=self._audit,
            session_id=turns.session_id,
            workspace=turns.workspace,
            subagent=label,
            limits=self._limits,
            allows=request.tools.__contains__,
            changing=self._changing,
            changes=self._changes,
        )
        context = PromptContext(
            session_id=turns.session_id,
            workspace=turns.workspace,
            turn=turns.history.turns,
            cancel=call.cancel,
        )
        model = request.model or settings.model
        prompt = (TextContent(text=request.prompt),)
        talk = _ChildConversation(structs.replace(settings, model=model), prompt)
        shortener = Shortener(
            session_id=turns.session_id,
            subagent=label,
            history=talk.history,
            keep=talk.keep,
            log=MemoryLog(),
            engine=turns.engine,
            find_model=self._find_model,
            hooks=turns.hooks,
            limits=self._compaction,
        )
        self._begun += 1
        prefix = f"{call.call_id}/{self._begun}/"
        ports = _ChildPorts(caller, call.cancel, talk, shortener, prefix=prefix, watcher=self._watcher)
        asked = TurnRequest(
            model=model,
            instructions=await turns.instruct(context) + _WORDS,
            history=(),
            prompt=prompt,
            tools=self._offered(request.tools),
            max_steps=turns.limits.max_steps,
            effort=settings.effort,
        )
        try:
            result = await turns.engine.run_turn(asked, ports)
        except BaseException:  # it is broken off: what was spent until then counts all the same
            self._spend(talk.history.usage)
            raise
        usage = result.usage + talk.summed_up
        self._spend(usage)
        return ChildResult(
            text=talk.last_text,
            stop_reason=result.stop_reason.value,
            message=result.message,
            usage=usage,
        )

    def _offered(self, names: frozenset[str]) -> tuple[ToolDefinition, ...]:
        return tuple(tool for tool in self._turns.offered() if tool.name in names)

    def _free_label(self, name: str) -> str:
        label, number = name, 1
        while label in self._running:
            number += 1
            label = f"{name} ({number})"
        return label


class _ChildConversation:
    """What a child said and was told, for as long as it runs.

    Attributes:
        history: Its messages.
        last_text: The newest answer that has words.
        summed_up: What its summaries spent.
    """

    def __init__(self, settings: SessionSettings, prompt: tuple[TextContent, ...]) -> None:
        now = datetime.now(UTC)
        asked = MessageKept(message=UserMessage(at=now, content=prompt))
        self.history = History((SettingsKept(at=now, settings=settings), asked))
        self.last_text = ""
        self.summed_up = Usage()

    def keep(self, record: SessionRecord) -> None:
        self.history.add(record)
        if isinstance(record, CompactionKept):
            self.summed_up += record.summary.usage
            self.history.transcript.clear()  # nobody reads a child's conversation again

    def add(self, message: Message) -> None:
        if isinstance(message, ToolMessage):
            for result in self.history.missing(message):
                self.keep(ResultKept(at=message.at, result=result))
            return
        self.keep(MessageKept(message=message))
        if isinstance(message, AssistantMessage):
            text = "\n".join(part.text for part in message.parts if isinstance(part, TextPart)).strip()
            self.last_text = text or self.last_text


class _ChildPorts:
    """The engine's ports of a child: its calls are shown among those of the session's turn, its words are not."""

    def __init__(
        self,
        caller: ToolCaller,
        cancel: CancelSignal,
        talk: _ChildConversation,
        shortener: Shortener,
        *,
        prefix: str,
        watcher: Callable[[], CallWatcher | None],
    ) -> None:
        self._caller = caller
        self._cancel = cancel
        self._talk = talk
        self._shortener = shortener
        self._prefix = prefix
        self._watcher = watcher

    @property
    def cancel(self) -> CancelSignal:
        """Raised when the child is to stop."""
        return self._cancel

    async def emit(self, event: EngineEvent) -> None:
        """Shows nothing."""

    async def record(self, message: Message) -> None:
        """Keeps it for as long as the child runs."""
        self._talk.add(message)

    async def call_tool(self, call: ToolCall) -> ToolResult:
        """Runs one call, under an id that is unique in the session."""
        return await self._caller.call(structs.replace(call, id=self._prefix + call.id), self._cancel, self)

    async def make_room(self, input_tokens: int, *, is_overflow: bool) -> tuple[Message, ...] | None:
        """Makes the conversation shorter when it is near the model's limit, as a session's is."""
        made = await run_until(self._cancel, self._shortener.make_room(input_tokens, is_forced=is_overflow))
        return tuple(self._talk.history.messages) if made is not None else None

    async def may_stop(self) -> str:
        """A child may always stop."""
        return ""

    async def show(self, event: ToolEvent) -> None:
        """Shows what happens to a call among the events of the session's turn; waits with it for a slow reader."""
        if (watcher := self._watcher()) is not None:
            await watcher.show(event)

    def offer(self, event: ToolProgressed) -> None:
        """Shows progress, unless the reader is behind."""
        if (watcher := self._watcher()) is not None:
            watcher.offer(event)
