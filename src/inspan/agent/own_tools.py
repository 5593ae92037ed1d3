"""Gives an agent its built-in tools: their children run in the session that calls, their plans are shown by it."""

from __future__ import annotations

from collections.abc import Mapping

from inspan.agent.leases import OwnerLease
from inspan.agent.registries import ToolRegistry
from inspan.agent.session import Session
from inspan.agent.skills.catalogue import SkillCatalogue
from inspan.agent.tools.builtin import BuiltinTools
from inspan.agent.tools.contract import ToolCallContext
from inspan.agent.tools.settings import ToolSettings
from inspan.agent.tools.subagent import ChildAllowance, ChildRequest, ChildResult
from inspan.agent.tools.todo import PlanEntry
from inspan.model.errors import UsageError

__all__ = ["bring_tools"]


def bring_tools(
    settings: ToolSettings,
    *,
    skills: SkillCatalogue,
    registry: ToolRegistry,
    lease: OwnerLease,
    sessions: Mapping[str, Session],
) -> BuiltinTools:
    """Registers the tools of one agent, owned by `builtin`. Close what it returns when its sessions are closed.

    Args:
        settings: What is set about them.
        skills: The agent's.
        registry: Where they are registered.
        lease: Under which their calls are made.
        sessions: The agent's open sessions by id, as they are at any time.

    Raises:
        PluginError: `plugin_conflict` for a name that is taken.
    """
    own = BuiltinTools(settings, skills, children=_Children(sessions))
    for tool in own.tools:
        registry.add(tool, "builtin", lease)

    def show(session_id: str, entries: tuple[PlanEntry, ...]) -> None:
        if (session := sessions.get(session_id)) is not None:
            session.update_plan(entries)

    own.plans.listen(show)
    return own


class _Children:
    """Runs the child agents of all sessions; see `tools.subagent.ChildRunner`."""

    def __init__(self, sessions: Mapping[str, Session]) -> None:
        self._sessions = sessions

    def allowance_of(self, call: ToolCallContext) -> ChildAllowance:
        return self._session(call).children.allowance_of(call)

    async def run_child(self, request: ChildRequest, call: ToolCallContext) -> ChildResult:
        return await self._session(call).children.run_child(request, call)

    def _session(self, call: ToolCallContext) -> Session:
        session = self._sessions.get(call.session_id)
        if session is None:
            raise UsageError("The session is closed.", code="session_closed")
        return session
