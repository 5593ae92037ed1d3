"""A tool caller with everything that it tells, kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from inspan.agent.audit.events import AuditEvent
from inspan.agent.audit.sinks import AuditBus
from inspan.agent.calling import CallLimits, ToolCaller
from inspan.agent.cancelling import CancelSignal, CancelSource
from inspan.agent.events import ToolEnded
from inspan.agent.hooks import HookBus
from inspan.agent.leases import OwnerLease
from inspan.agent.permissions.engine import PermissionEngine
from inspan.agent.permissions.values import PermissionMode
from inspan.agent.registries import ToolRegistry
from inspan.agent.tools.contract import Tool
from inspan.agent.values import JsonObject, ToolCall, ToolResult

__all__ = ["Ground"]


class Ground:
    """A caller with everything that it tells, kept."""

    def __init__(self, *tools: Tool, mode: PermissionMode = PermissionMode.BYPASS) -> None:
        self.events: list[Any] = []
        self.audited: list[AuditEvent] = []
        self.hooks = HookBus()
        self.lease = OwnerLease("tester")
        self.registry = ToolRegistry()
        for tool in tools:
            self.registry.add(tool, "tester", self.lease)
        audit = AuditBus()
        audit.add(self, "tester")
        self.audit = audit
        self.permissions = PermissionEngine(mode=mode)
        self.caller = ToolCaller(
            tools=self.registry,
            permissions=self.permissions,
            hooks=self.hooks,
            audit=audit,
            session_id="s_1",
            workspace=Path("/"),
            limits=CallLimits(heed_s=0.05, grace_s=0.2),
        )

    async def write(self, event: AuditEvent) -> None:
        self.audited.append(event)

    async def show(self, event: Any) -> None:
        self.events.append(event)

    def offer(self, event: Any) -> None:
        self.events.append(event)

    async def call(
        self,
        tool: str = "note",
        arguments: JsonObject | None = None,
        cancel: CancelSignal | None = None,
        **rest: Any,
    ) -> ToolResult:
        call = ToolCall(id="c1", tool=tool, arguments=arguments or {}, **rest)
        result = await self.caller.call(call, cancel or CancelSource().signal, self)
        await self.audit.drain(5)
        return result

    @property
    def outcomes(self) -> list[str]:
        return [event.outcome for event in self.events if isinstance(event, ToolEnded)]
