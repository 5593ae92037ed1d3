"""A session: one conversation with the agent, which is kept and can be gone on with."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, structs

from inspan.agent.announcement import announce
from inspan.agent.audit.events import PermissionEvent
from inspan.agent.audit.sinks import AuditBus
from inspan.agent.breaker import Changes
from inspan.agent.calling import CallLimits, ToolCaller
from inspan.agent.cancelling import CancelSource, run_until
from inspan.agent.children import SessionChildren
from inspan.agent.conversation import Message, UserMessage
from inspan.agent.engine.contract import Engine
from inspan.agent.events import (
    ContextCompacted,
    PermissionAnswered,
    PermissionAsked,
    PlanUpdated,
    SessionEvent,
    ToolCalled,
    TurnEnded,
)
from inspan.agent.hook_events import SessionEnd
from inspan.agent.hooks import HookBus
from inspan.agent.models.catalogue import FoundModel
from inspan.agent.models.contract import ToolDefinition
from inspan.agent.permissions.engine import PermissionEngine
from inspan.agent.permissions.values import (
    Answer,
    PermissionMode,
    PermissionQuestion,
    PermissionRecord,
    Responder,
    Rule,
)
from inspan.agent.prompt_content import prompt_of
from inspan.agent.registries import SessionTools, ToolRegistry
from inspan.agent.sessions.history import History, title_of
from inspan.agent.sessions.log import SessionLog
from inspan.agent.sessions.records import (
    ChildUsageKept,
    PermissionKept,
    RuleKept,
    SessionRecord,
    SessionSettings,
    SettingsKept,
)
from inspan.agent.sessions.shortening import CompactionLimits, Shortener
from inspan.agent.tools.todo import PlanEntry
from inspan.agent.turn import Instruct, Turn, TurnGround, TurnLimits, TurnRun
from inspan.agent.values import Content, ToolCall, Usage
from inspan.model.errors import InspanError, UsageError

__all__ = ["EFFORTS", "Session", "SessionGround", "SessionLimits"]

_LOG = logging.getLogger(__name__)

EFFORTS = ("", "low", "medium", "high")
"""How hard a model may be asked to think; empty leaves it to the provider."""


class SessionLimits(Struct, frozen=True, kw_only=True):
    """What bounds a session.

    Attributes:
        turn: Of each turn.
        calls: Of each call.
        answer_s: How long a permission question waits; then it is a deny.
        compaction: When the conversation is made shorter.
        end_s: How long a turn has to end when its session is closed, and how long hooks have to hear of that.
    """

    turn: TurnLimits = TurnLimits()
    calls: CallLimits = CallLimits()
    answer_s: float = 600.0
    compaction: CompactionLimits = CompactionLimits()
    end_s: float = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionGround:
    """What an agent gives to its sessions."""

    engine: Engine
    find_model: Callable[[str], FoundModel]
    tools: ToolRegistry
    hooks: HookBus
    audit: AuditBus
    is_audited: bool
    instruct: Instruct
    rules: tuple[Rule, ...]
    responder: Responder | None
    limits: SessionLimits


class Session:
    """One conversation. One turn at a time; several sessions of an agent run side by side.

    Made by `Agent.new_session`, `Agent.resume_session` and `Agent.fork_session`.
    """

    def __init__(
        self,
        ground: SessionGround,
        *,
        log: SessionLog,
        history: History,
        on_close: Callable[[Session], None],
    ) -> None:
        header, settings = history.header, history.settings
        if header is None or settings is None:
            raise UsageError("A session needs a header and settings.")
        self._ground = ground
        self._log = log
        self._history = history
        self._on_close = on_close
        self._closing = CancelSource()
        self._run: TurnRun | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        self._ending = asyncio.Lock()
        self._is_let_go = False
        self._is_compacting = False
        self._asked: set[str] = set()
        self._id = header.id
        self._workspace = Path(header.workspace)
        self._tools = SessionTools(ground.tools)
        self._permissions = PermissionEngine(
            mode=settings.permission_mode,
            rules=(*ground.rules, *history.rules),
            responder=self._ask if ground.responder is not None else None,
            timeout_s=ground.limits.answer_s,
            record=self._keep_permission,
            on_rule=self._keep_rule,
        )
        changing, changes = asyncio.Lock(), Changes()
        caller = ToolCaller(
            tools=self._tools,
            permissions=self._permissions,
            hooks=ground.hooks,
            audit=ground.audit,
            session_id=self._id,
            workspace=self._workspace,
            limits=ground.limits.calls,
            changing=changing,
            changes=changes,
        )
        self._shortener = Shortener(
            session_id=self._id,
            history=history,
            keep=self._keep,
            log=log,
            engine=ground.engine,
            find_model=ground.find_model,
            hooks=ground.hooks,
            limits=ground.limits.compaction,
        )
        self._turns = TurnGround(
            session_id=self._id,
            workspace=self._workspace,
            engine=ground.engine,
            caller=caller,
            hooks=ground.hooks,
            history=history,
            log=log,
            instruct=ground.instruct,
            compact=self._shortener.make_room,
            offered=self._offered,
            context_limit=self._shortener.context_limit,
            limits=ground.limits.turn,
        )
        self.children = SessionChildren(
            turns=self._turns,
            tools=self._tools,
            permissions=self._permissions,
            audit=ground.audit,
            limits=ground.limits.calls,
            compaction=ground.limits.compaction,
            find_model=ground.find_model,
            changing=changing,
            changes=changes,
            spend=self._spend,
            watcher=lambda: self._run,
        )

    @property
    def id(self) -> str:
        """Names it; enough to resume it, so a secret in logs."""
        return self._id

    @property
    def workspace(self) -> Path:
        """The folder it works in, absolute and resolved."""
        return self._workspace

    @property
    def settings(self) -> SessionSettings:
        """What it runs with from the next turn on."""
        settings = self._history.settings
        if settings is None:  # checked when it was made
            raise AssertionError
        return settings

    @property
    def title(self) -> str:
        """A few words of its first prompt; empty before it."""
        first = next((one for one in self._history.transcript if isinstance(one, UserMessage)), None)
        return title_of(first) if first is not None else ""

    @property
    def transcript(self) -> tuple[Message, ...]:
        """Every message so far, those that were summed up included, oldest first."""
        return tuple(self._history.transcript)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the model is sent: from the newest summary on."""
        return tuple(self._history.messages)

    @property
    def turns(self) -> int:
        """How many turns began."""
        return self._history.turns

    @property
    def usage(self) -> Usage:
        """What all its requests spent, earlier runs included."""
        return self._history.usage

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Its permission rules, those that answers made last."""
        return self._permissions.rules

    @property
    def tools(self) -> SessionTools:
        """The agent's tools and its own; what is added counts from the next turn on."""
        return self._tools

    @property
    def is_running(self) -> bool:
        """Whether a turn runs."""
        return self._run is not None

    @property
    def is_closed(self) -> bool:
        """Whether it takes no prompts any more."""
        return self._is_closed

    def prompt(self, content: str | Sequence[Content]) -> Turn:
        """Begins a turn, and returns at once. Iterate over the turn to see its events.

        Args:
            content: A text, or texts and pictures.

        Raises:
            UsageError: `turn_running`, `session_closed`, or `invalid_argument` for an empty prompt.
        """
        self._check_free()
        prompt = prompt_of(content)
        run = TurnRun(self._turns, prompt, self._closing.signal)
        self._run = run

        def ended() -> None:
            if self._run is run:
                self._run = None

        def done(_: asyncio.Task[None]) -> None:
            ended()
            run.channel.close()  # a task that was cancelled before it began did neither

        self._task = asyncio.create_task(run.run(ended))
        self._task.add_done_callback(done)
        return Turn(run, self._task)

    async def run(self, content: str | Sequence[Content]) -> TurnEnded:
        """Runs a whole turn without showing its events. If the task is cancelled, so is the turn."""
        async with self.prompt(content) as turn:
            return await turn.wait()

    def cancel(self) -> None:
        """Asks the running turn to stop, and returns at once; its `TurnEnded` comes soon. Nothing happens without one."""
        if self._run is not None:
            self._run.stop("cancelled")

    async def configure(
        self,
        *,
        model: str | None = None,
        permission_mode: PermissionMode | None = None,
        effort: str | None = None,
    ) -> SessionSettings:
        """Changes settings and keeps them. A running turn keeps its model and effort; a mode counts from the next call on.

        Raises:
            HarnessError: `model_unknown`, `model_key_missing` or `agent_extra_missing`; nothing was changed.
            UsageError: `invalid_argument` for an unknown effort; `session_closed`.
        """
        if self._is_closed:
            raise _closed()
        if effort is not None and effort not in EFFORTS:
            raise UsageError(f"{effort!r} is no effort.", hint="Use low, medium, high or an empty text.")
        if model is not None:
            model = self._ground.find_model(model).name
        before = self.settings
        settings = structs.replace(
            before,
            model=before.model if model is None else model,
            permission_mode=before.permission_mode
            if permission_mode is None
            else PermissionMode(permission_mode),
            effort=before.effort if effort is None else effort,
        )
        if settings != before:
            self._keep(SettingsKept(at=_now(), settings=settings))
            self._permissions.mode = settings.permission_mode
            await self._log.sync()
        return settings

    async def compact(self) -> ContextCompacted | None:
        """Sums up what came before, between turns. None if there is nothing to sum up.

        Raises:
            HarnessError: `model_failed`; nothing was changed.
            UsageError: `turn_running`, or `session_closed`, also for a session that is closed meanwhile.
        """
        self._check_free()
        self._is_compacting = True
        try:
            done = await run_until(self._closing.signal, self._shortener.shorten(0, keep_tokens=0))
        finally:
            self._is_compacting = False
        if done is None and self._is_closed:
            raise _closed()
        return done

    def announce(self, call: ToolCall) -> ToolCalled:
        """What a call of its conversation is to whoever watches, by the tools that there are now."""
        return announce(call, self._tools.get(call.tool), self._workspace)

    def update_plan(self, entries: Sequence[PlanEntry]) -> None:
        """Shows what the agent means to do, to whoever watches the running turn."""
        self.show(PlanUpdated(entries=tuple(entries)))

    def show(self, event: SessionEvent) -> None:
        """Shows an event among those of the running turn; nothing happens without one."""
        if self._run is not None:
            self._run.push(event)

    def records(self) -> list[SessionRecord]:
        """All of its records so far.

        Raises:
            UsageError: `turn_running`.
            StoreError: They cannot be read.
        """
        self._check_free()
        return self._log.read()

    async def close(self) -> None:
        """Cancels its turn, and lets go of it; it stays on disk. Whoever calls it second waits for the same end.

        If the caller is cancelled, the session is let go of at once.
        """
        self._is_closed = True
        async with self._ending:
            if self._is_let_go:
                return
            try:
                await self._end()
            finally:
                self._is_let_go = True
                self._log.close()
                self._on_close(self)

    async def _end(self) -> None:
        run, task = self._run, self._task
        if run is not None:
            run.stop("session_closed")
        self._closing.cancel("session_closed")
        if task is not None and not task.done():
            limit_s = self._ground.limits.end_s
            await asyncio.wait({task}, timeout=limit_s * 0.8)
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=limit_s * 0.2)
            if not task.done():
                _LOG.warning("A turn did not end when its session was closed.")
        told = asyncio.ensure_future(self._ground.hooks.emit(SessionEnd(session_id=self._id)))
        try:
            await asyncio.wait({told}, timeout=self._ground.limits.end_s)
        finally:
            told.cancel()

    def _check_free(self) -> None:
        if self._is_closed:
            raise _closed()
        if self._run is not None or self._is_compacting:
            raise UsageError(
                "The session is in the middle of a turn.",
                code="turn_running",
                hint="Wait for its end, or cancel it.",
            )

    def _keep(self, record: SessionRecord) -> None:
        self._turns.keep(record)

    def _spend(self, usage: Usage) -> None:
        self._keep_as_well_as_possible(ChildUsageKept(at=_now(), usage=usage))
        if self._run is not None:
            self._run.spend(usage)

    def _keep_permission(self, record: PermissionRecord) -> None:
        self._ground.audit.publish(PermissionEvent(record=record))
        if self._ground.is_audited:
            self._keep_as_well_as_possible(PermissionKept(record=record))
        if record.call_id in self._asked:
            self._asked.discard(record.call_id)
            decision = record.decision
            self.show(
                PermissionAnswered(
                    call_id=record.call_id, is_allowed=decision.is_allowed, reason=decision.reason
                )
            )

    def _keep_rule(self, rule: Rule) -> None:
        self._keep_as_well_as_possible(RuleKept(at=_now(), rule=rule))

    def _keep_as_well_as_possible(self, record: SessionRecord) -> None:
        try:
            self._keep(record)
        except InspanError as error:
            _LOG.warning("What was decided could not be kept: %s.", error.code)

    async def _ask(self, question: PermissionQuestion) -> Answer:
        responder = self._ground.responder
        if responder is None:  # then the engine has none either
            raise AssertionError
        self._asked.add(question.call_id)
        self.show(PermissionAsked(question=question))
        return await responder(question)

    def _offered(self) -> tuple[ToolDefinition, ...]:
        return tuple(
            ToolDefinition(
                name=owned.tool.name,
                description=owned.tool.description,
                input_schema=owned.tool.input_schema,
            )
            for owned in self._tools.list()
            if owned.lease.is_alive
        )


def _closed() -> UsageError:
    return UsageError("The session is closed.", code="session_closed", hint="Resume it.")


def _now() -> datetime:
    return datetime.now(UTC)
