"""One plugin of one agent, from its entry to its end."""

from __future__ import annotations

import asyncio
import logging
from copy import deepcopy
from dataclasses import dataclass
from inspect import isawaitable, iscoroutine
from pathlib import Path
from typing import Any, cast

from inspan.agent.faults import fault_name, is_fault
from inspan.agent.plugins.budget import Budget
from inspan.agent.plugins.checking import check_plugin
from inspan.agent.plugins.context import OwnedContext
from inspan.agent.plugins.contract import PluginContext, PluginStatus, RuntimePlugin
from inspan.agent.plugins.entries import PluginEntry
from inspan.agent.plugins.loading import FoundModule, find_module
from inspan.agent.plugins.module_state import find_module_state
from inspan.agent.plugins.owner import PluginOwner, Step
from inspan.agent.plugins.ownership import Ownership
from inspan.agent.plugins.services import PluginServices
from inspan.model.errors import PluginError

__all__ = ["PluginLife", "PluginLimits"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class PluginLimits:
    """How long a plugin may take, each in seconds. What does not end by then is left behind, and said.

    Attributes:
        setup_s: For its setup.
        start_s: For all of its starts together.
        stop_s: For everything at its end together: calls under way, audit events, disposers.
    """

    setup_s: float = 30.0
    start_s: float = 30.0
    stop_s: float = 5.0


class PluginLife:
    """Takes one plugin through its phases. None of the methods raises, but for the caller's own cancellation.

    Args:
        entry: What was asked for.
        services: What the agent has.
        home: Where a module may stand that is not installed.
        limits: How long it may take.
    """

    def __init__(
        self, entry: PluginEntry, services: PluginServices, *, home: Path, limits: PluginLimits
    ) -> None:
        self.entry = entry
        self._services = services
        self._home = home
        self._limits = limits
        self._own = Ownership(entry.id, is_required=entry.is_required)
        self._plugin = entry.plugin
        self._context: OwnedContext | None = None
        self._owner: PluginOwner | None = None
        self._module: FoundModule | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._version = ""
        self.state = "pending" if entry.is_enabled else "disabled"
        self.phase = ""
        self.error = ""
        self.message = entry.note

    @property
    def is_going(self) -> bool:
        """Whether it was neither disabled nor failed nor stopped."""
        return self.state in ("pending", "active")

    def status(self) -> PluginStatus:
        """What is known of it now."""
        return PluginStatus(
            id=self.entry.id,
            version=self._version,
            source=self.entry.source,
            state=self.state,
            is_required=self.entry.is_required,
            phase=self.phase,
            error=self.error,
            message=self.message,
            contributions=self._own.counts,
            warnings=tuple(self._own.warnings) + self._audit_warnings(),
        )

    def resolve(self) -> None:
        """Reads its code where that stands in a module, and checks its contract and its configuration."""
        if self.entry.fault:
            self._fail("resolve", "PluginError", f"It cannot be had: {self.entry.fault}.")
            return
        if self._plugin is None and not self._load():
            return
        plugin = cast(RuntimePlugin[Any], self._plugin)
        self._version, error, message = check_plugin(plugin, self.entry.id)
        if error:
            self._fail("contract", error, message)
            return
        try:
            # A copy: what a plugin does to it is not seen by another agent that was made with the same value.
            config = plugin.parse_config(deepcopy(self.entry.config))
        except BaseException as error:
            if not is_fault(error):
                raise
            self._fail("config", fault_name(error))
            return
        if iscoroutine(config):
            config.close()
            self._fail("config", "TypeError", "Its parse_config is a coroutine function.")
            return
        self._context = OwnedContext(self._own, self._services, config)

    async def set_up(self) -> None:
        """Runs its setup, in the task that it owns from now on. If it fails, everything is taken back."""
        plugin, context = cast(RuntimePlugin[Any], self._plugin), cast(OwnedContext, self._context)
        self._owner = self._new_owner()
        self._own.begin_setup()
        fault = await self._owner.run(
            lambda: plugin.setup(cast(PluginContext[Any], context)), self._limits.setup_s
        )
        self._own.end_setup()
        if fault:
            self._fail("setup", fault)
            self._note_what_remains(self._owner)
            await self.stop()

    async def start(self) -> None:
        """Runs what it wants run when all setups are done. If that fails, everything is taken back."""
        owner = cast(PluginOwner, self._owner)
        budget = Budget(self._limits.start_s)
        while self._own.starts:
            fault = await owner.run(self._own.starts.pop(0), budget.left_s)
            if fault:
                self._fail("start", fault)
                self._note_what_remains(owner)
                await self.stop()
                return
        if self.state == "pending":
            self.state = "active"

    async def stop(self) -> None:
        """Ends it: its signal is raised, its calls are waited for, its contributions go, its disposers run.

        Calling it twice is safe. A part that fails or takes too long is noted, and the next one comes. If the caller is
        cancelled, the work goes on.
        """
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop(), name=f"stop plugin {self.entry.id}")
        await asyncio.shield(self._stopping)

    async def _stop(self) -> None:
        if self.is_going:
            self.state = "stopped"
        self._own.end_setup()
        self._own.lease.stop()
        owner = self._owner
        if owner is not None:
            budget = Budget(self._limits.stop_s)
            await self._drain(budget, is_last=not self._own.disposers)
            self._own.revert()
            self._own.begin_disposing()
            while self._own.disposers:
                step = self._own.disposers.pop()
                if not owner.is_usable:
                    owner.end()
                    self._owner = owner = self._new_owner()
                await self._dispose(owner, step, budget.share_s(is_last=not self._own.disposers))
            owner.end()
            await owner.ended(budget.left_s)
        if self._module is not None:
            self._module.unload()

    async def _dispose(self, owner: PluginOwner, step: Step, timeout_s: float) -> None:
        fault = await owner.run(step, timeout_s)
        if fault:
            self._note("dispose", fault)
        self._note_what_remains(owner)

    def _note_what_remains(self, owner: PluginOwner) -> None:
        if not owner.is_usable:
            self._own.warn("It did not heed its cancellation: some of its work may go on.")

    def _load(self) -> bool:
        try:
            self._module = find_module(self.entry.module, folder=self._home, project=self._services.workspace)
        except PluginError as error:
            self._fail("resolve", type(error).__name__, error.message)
            return False
        try:
            module = self._module.load()
        except BaseException as error:
            if not is_fault(error):
                raise
            self._fail("import", fault_name(error))
            return False
        self._hint(self._module.file)
        self._plugin = getattr(module, self._module.attribute, None)
        if self._plugin is None:
            self._fail("contract", "PluginError", f"Its module has no attribute '{self._module.attribute}'.")
        return self._plugin is not None

    def _hint(self, file: Path | None) -> None:
        """Notes what looks like state outside of setup."""
        try:
            source = file.read_text(encoding="utf-8") if file is not None else ""
        except (OSError, ValueError):
            return
        for sentence in find_module_state(source):
            self._own.warn(sentence)

    async def _drain(self, budget: Budget, *, is_last: bool) -> None:
        lease = self._own.lease
        if lease.in_flight:
            drained = asyncio.ensure_future(lease.drained())
            await asyncio.wait({drained}, timeout=budget.share_s(is_last=is_last))
            drained.cancel()
        if lease.in_flight:
            self._note("drain", "TimeoutError", f"Its calls went on after it was stopped: {lease.in_flight}.")
        if await self._services.audit.drain(budget.share_s(is_last=is_last), owner=self.entry.id):
            self._note(
                "drain", "TimeoutError", "Its audit sink had not written all events when it was stopped."
            )

    def _new_owner(self) -> PluginOwner:
        return PluginOwner(f"plugin {self.entry.id}", self._lose)

    async def _lose(self) -> None:
        """Ends it in its own task, which somebody else cancelled."""
        if self.is_going:
            self._fail("run", "CancelledError", "Its task was cancelled before the agent was closed.")
        self._own.end_setup()
        self._own.lease.stop()
        self._own.revert()
        self._own.begin_disposing()
        budget = Budget(self._limits.stop_s)
        while self._own.disposers:
            step = self._own.disposers.pop()
            try:
                async with asyncio.timeout(budget.share_s(is_last=not self._own.disposers)):
                    await _as_coroutine(step)
            except BaseException as error:
                if not is_fault(error):
                    raise
                self._note("dispose", fault_name(error))

    def _fail(self, phase: str, error: str, message: str = "") -> None:
        self.state = "failed"
        self.phase, self.error, self.message = phase, error, message
        self._log(logging.ERROR if self.entry.is_required else logging.WARNING, phase, error, message)

    def _note(self, phase: str, error: str, message: str = "") -> None:
        """A fault that ends nothing."""
        if not self.phase:
            self.phase, self.error = phase, error
        self._own.warn(message or f"It failed in {phase} with {error}.")
        self._log(logging.WARNING, phase, error, message)

    def _log(self, level: int, phase: str, error: str, message: str) -> None:
        facts = f"The runtime plugin '{self.entry.id}' failed in {phase} with {error}."
        _log.log(level, "%s", f"{facts} {message}".rstrip())

    def _audit_warnings(self) -> tuple[str, ...]:
        dropped = self._services.audit.counts(self.entry.id).dropped
        return (f"Its audit sink was too slow: {dropped} events were dropped.",) if dropped else ()


async def _as_coroutine(step: Step) -> None:
    if isawaitable(result := step()):
        await result
