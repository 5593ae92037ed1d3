"""The one place where tools are called.

Every call goes the same way: find the tool, check its arguments, break a loop of identical calls, ask the permission
engine, ask the hooks, run it under its owner's lease, bound its result, tell hooks and audit. Whatever goes wrong on
that way is an error result for the model; nothing is raised but the task's own cancellation.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, cast

from msgspec import Struct, structs

from inspan.agent.announcement import announce
from inspan.agent.argument_checks import ArgumentChecker, unknown_tool
from inspan.agent.audit.events import ToolExecution
from inspan.agent.audit.sinks import AuditBus
from inspan.agent.breaker import NUDGE, STOPPED, Breaker, Changes, Repetition
from inspan.agent.cancelling import CancelSignal, CancelSource
from inspan.agent.engine.loop import CANCELLED_CALL, NOT_RUN_CALL
from inspan.agent.events import ToolCalled, ToolEnded, ToolProgressed, ToolStarted
from inspan.agent.faults import fault_name, is_fault
from inspan.agent.hook_events import PostTool, PreTool, ToolError
from inspan.agent.hooks import HookBus
from inspan.agent.permissions.engine import PermissionEngine, Proposal
from inspan.agent.registries import OwnedTool, ToolRegistry
from inspan.agent.result_bounds import ResultLimits, bounded
from inspan.agent.text import clean_json, clean_text, clip_middle
from inspan.agent.tools.contract import ToolCallContext
from inspan.agent.values import JsonObject, TextContent, ToolCall, ToolResult
from inspan.model.errors import InspanError

__all__ = ["CallLimits", "CallWatcher", "ToolCaller", "ToolEvent"]

_LOG = logging.getLogger(__name__)
_LONGEST_PROGRESS = 4_000

ToolEvent: TypeAlias = ToolCalled | ToolStarted | ToolProgressed | ToolEnded
_Outcome: TypeAlias = Literal["done", "failed", "denied", "refused", "cancelled"]


class CallLimits(Struct, frozen=True, kw_only=True):
    """What calls are bounded by.

    Attributes:
        result: The size of a result.
        heed_s: How long a call has to notice that it was cancelled, before its task is cancelled.
        grace_s: How long it has after that; then it is left behind, and said.
    """

    result: ResultLimits = ResultLimits()
    heed_s: float = 0.5
    grace_s: float = 2.0


class CallWatcher(Protocol):
    """Shows calls to whoever watches the turn."""

    async def show(self, event: ToolEvent) -> None:
        """Takes an event, in order; may wait for a slow reader."""
        ...

    def offer(self, event: ToolProgressed) -> None:
        """Takes a word on progress, or drops it when the reader is behind. Called in the event loop."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ended:
    result: ToolResult
    outcome: _Outcome
    duration_s: float = 0.0


class ToolCaller:
    """Calls tools for one session, or for one child agent of it.

    Args:
        tools: The tools.
        permissions: Judges the calls.
        hooks: Told of them, and may veto them.
        audit: Told of those that ran.
        session_id: The session.
        workspace: The folder it works in, resolved.
        subagent: The child agent's name, empty for the session itself.
        limits: What is bounded.
        allows: Which tools exist for this caller; None for all.
        changing: Held while a call runs that may change something; shared by whoever works in one workspace.
        changes: Counts those calls; shared likewise.
    """

    def __init__(
        self,
        *,
        tools: ToolRegistry,
        permissions: PermissionEngine,
        hooks: HookBus,
        audit: AuditBus,
        session_id: str,
        workspace: Path,
        subagent: str = "",
        limits: CallLimits | None = None,
        allows: Callable[[str], bool] | None = None,
        changing: asyncio.Lock | None = None,
        changes: Changes | None = None,
    ) -> None:
        self._tools = tools
        self._permissions = permissions
        self._hooks = hooks
        self._audit = audit
        self._session_id = session_id
        self._workspace = workspace
        self._subagent = subagent
        self._limits = limits or CallLimits()
        self._allows = allows
        self._checker = ArgumentChecker()
        self._changes = changes or Changes()
        self._breaker = Breaker(self._changes)
        self._changing = changing or asyncio.Lock()
        self._left_behind: set[asyncio.Task[tuple[object, str]]] = set()

    def begin_turn(self) -> None:
        """Forgets the calls of the turn before. Called for a session's caller alone, not for those of its children."""
        self._changes.begin_turn()
        self._breaker = Breaker(self._changes)

    async def call(self, call: ToolCall, cancel: CancelSignal, watcher: CallWatcher) -> ToolResult:
        """Makes one call. Calls that may change something come one at a time, the others side by side.

        Cancelling the task cancels the call; its `ToolEnded` is then not shown.
        """
        owned = self._find(call.tool)
        await watcher.show(self._announced(call, owned))
        try:
            ended = await self._judge_and_run(call, owned, cancel, watcher)
        except BaseException as error:
            if not is_fault(error):
                raise
            _LOG.warning("A call of %s failed in the agent itself: %s.", call.tool[:80], fault_name(error))
            failed = f"This call failed in the agent itself, with {fault_name(error)}."
            ended = _Ended(result=ToolResult.error(failed), outcome="failed")
        await watcher.show(
            ToolEnded(
                call_id=call.id,
                tool=call.tool,
                result=ended.result,
                duration_s=ended.duration_s,
                outcome=ended.outcome,
            )
        )
        return ended.result

    def _find(self, name: str) -> OwnedTool | None:
        if self._allows is not None and not self._allows(name):
            return None
        return self._tools.get(name)

    async def _judge_and_run(
        self, call: ToolCall, owned: OwnedTool | None, cancel: CancelSignal, watcher: CallWatcher
    ) -> _Ended:
        if owned is None:
            known = (one.tool.name for one in self._tools.list())
            allows = self._allows
            names = [name for name in known if allows is None or allows(name)]
            return _refused(unknown_tool(call.tool, names))
        if call.malformed:
            return _refused(
                f"The arguments are no JSON object, so {call.tool} was not run. They began with:"
                f" {call.malformed[:200]}"
            )
        problem = self._checker.problem(owned.tool, call.arguments)
        if problem:
            return _refused(problem)
        if owned.tool.read_only or owned.tool.session_local:
            return await self._permit_and_run(call, owned, cancel, watcher)
        async with self._changing:
            return await self._permit_and_run(call, owned, cancel, watcher)

    async def _permit_and_run(
        self, call: ToolCall, owned: OwnedTool, cancel: CancelSignal, watcher: CallWatcher
    ) -> _Ended:
        tool = owned.tool
        if cancel.is_set:
            return _cancelled()
        changes = not (tool.read_only or tool.session_local)
        repetition = self._breaker.see(tool.name, call.arguments, changes=changes)
        if repetition is Repetition.TOO_OFTEN:
            return _refused(STOPPED)
        called = self._announced(call, owned)
        decision = await self._permissions.evaluate(
            Proposal(
                call=call,
                tool=tool,
                owner=owned.owner,
                session_id=self._session_id,
                workspace=self._workspace,
                title=called.title,
                locations=called.locations,
                subagent=self._subagent,
            ),
            cancel,
        )
        if not decision.is_allowed:
            if decision.reason == "cancelled":
                return _cancelled()
            return _Ended(result=ToolResult.error(decision.message), outcome="denied")
        veto = await self._hooks.emit(
            PreTool(
                session_id=self._session_id,
                call_id=call.id,
                tool=tool.name,
                arguments=_copied(call.arguments),
            ),
            cancel,
        )
        if cancel.is_set:
            return _cancelled()
        if veto is not None:
            return _refused(f"This call was not run: {clip_middle(clean_text(veto.reason), 2_000)}")
        await watcher.show(ToolStarted(call_id=call.id))
        if cancel.is_set:  # to show it may have taken long
            return _cancelled()
        ended = await self._run(call, owned, cancel, watcher)
        if repetition is Repetition.SECOND and ended.outcome != "cancelled":
            nudged = (*ended.result.content, TextContent(text=NUDGE))
            return _Ended(
                result=structs.replace(ended.result, content=nudged),
                outcome=ended.outcome,
                duration_s=ended.duration_s,
            )
        return ended

    async def _run(
        self, call: ToolCall, owned: OwnedTool, cancel: CancelSignal, watcher: CallWatcher
    ) -> _Ended:
        joined = CancelSource(cancel, owned.lease.signal)
        began = time.monotonic()
        try:
            with owned.lease.enter():
                value, fault = await self._execute(call, owned, joined.signal, watcher)
        except InspanError as error:
            return _refused(str(error))
        except asyncio.CancelledError:
            self._tell_audit(call, owned, time.monotonic() - began, is_error=True, exception="CancelledError")
            raise
        finally:
            joined.close()
        duration_s = time.monotonic() - began
        if joined.signal.is_set:
            self._tell_audit(call, owned, duration_s, is_error=True, exception="CancelledError")
            if cancel.is_set:
                return _cancelled(duration_s)
            return _Ended(
                result=ToolResult.error(
                    f"'{owned.owner}', which brings {call.tool}, stopped during the call."
                ),
                outcome="failed",
                duration_s=duration_s,
            )
        if fault:
            result = ToolResult.error(f"The tool failed with {fault}.")
        else:
            result = bounded(value, self._limits.result)
        self._tell_audit(call, owned, duration_s, is_error=result.is_error, exception=fault)
        await self._tell_hooks(call, result, fault, duration_s, cancel)
        return _Ended(result=result, outcome="failed" if result.is_error else "done", duration_s=duration_s)

    async def _execute(
        self, call: ToolCall, owned: OwnedTool, cancel: CancelSignal, watcher: CallWatcher
    ) -> tuple[object, str]:
        """What the tool returned, or the class of what it raised. Returns soon after `cancel`, whatever the tool does."""
        progress = _Progress(call.id, watcher)
        context = ToolCallContext(
            call_id=call.id,
            session_id=self._session_id,
            workspace=self._workspace,
            cancel=cancel,
            logger=_LOG.getChild(owned.owner),
            progress=progress.tell,
            subagent=self._subagent,
        )
        arguments = _copied(call.arguments)

        async def guarded() -> tuple[object, str]:
            try:
                return cast(object, await owned.tool.execute(arguments, context)), ""
            except BaseException as error:
                if not is_fault(error):
                    raise
                return None, fault_name(error)

        task = asyncio.create_task(guarded())
        stopped = asyncio.Event()
        leave = cancel.listen(stopped.set)
        stopping = asyncio.create_task(stopped.wait())
        try:
            await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await asyncio.wait({task}, timeout=self._limits.heed_s)
        finally:
            leave()
            stopping.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=self._limits.grace_s)
            if not task.done():
                self._left_behind.add(task)
                task.add_done_callback(self._left_behind.discard)
                _LOG.warning("A call of %s did not end when it was cancelled.", call.tool)
            progress.end()
        if not task.done() or task.cancelled():
            return None, "CancelledError"
        return task.result()

    async def _tell_hooks(
        self, call: ToolCall, result: ToolResult, fault: str, duration_s: float, cancel: CancelSignal
    ) -> None:
        if fault:
            event = ToolError(
                session_id=self._session_id,
                call_id=call.id,
                tool=call.tool,
                exception=fault,
                duration_s=duration_s,
            )
        else:
            event = PostTool(
                session_id=self._session_id,
                call_id=call.id,
                tool=call.tool,
                result=result,
                duration_s=duration_s,
            )
        await self._hooks.emit(event, cancel)

    def _tell_audit(
        self, call: ToolCall, owned: OwnedTool, duration_s: float, *, is_error: bool, exception: str
    ) -> None:
        self._audit.publish(
            ToolExecution(
                at=datetime.now(UTC),
                session_id=self._session_id,
                call_id=call.id,
                tool=owned.tool.name,
                owner=owned.owner,
                duration_s=duration_s,
                is_error=is_error,
                exception=exception,
                subagent=self._subagent,
            )
        )

    def _announced(self, call: ToolCall, owned: OwnedTool | None) -> ToolCalled:
        return announce(call, owned, self._workspace, subagent=self._subagent)


class _Progress:
    """Takes progress from the event loop or from a thread, until the call is over; never raises."""

    def __init__(self, call_id: str, watcher: CallWatcher) -> None:
        self._call_id = call_id
        self._watcher = watcher
        self._loop = asyncio.get_running_loop()
        self._is_over = False

    def end(self) -> None:
        """Shows nothing from now on."""
        self._is_over = True

    def tell(self, text: str) -> None:
        """Shows a word on how far the call is."""
        event = ToolProgressed(
            call_id=self._call_id, text=clip_middle(clean_text(str(text)), _LONGEST_PROGRESS)
        )
        try:
            is_ours = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            is_ours = False
        if is_ours:
            self._offer(event)
        else:
            with suppress(RuntimeError):  # the loop is closed: nobody watches
                self._loop.call_soon_threadsafe(self._offer, event)

    def _offer(self, event: ToolProgressed) -> None:
        if not self._is_over:
            self._watcher.offer(event)


def _copied(arguments: JsonObject) -> JsonObject:
    """A copy, so that whatever a tool or a hook does to it is not seen by anybody else."""
    return cast(JsonObject, clean_json(arguments))


def _refused(text: str) -> _Ended:
    return _Ended(result=ToolResult.error(text), outcome="refused")


def _cancelled(duration_s: float = 0.0) -> _Ended:
    if not duration_s:
        return _Ended(result=ToolResult.error(NOT_RUN_CALL), outcome="cancelled")
    return _Ended(result=ToolResult.error(CANCELLED_CALL), outcome="cancelled", duration_s=duration_s)
