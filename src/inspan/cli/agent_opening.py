"""Opens the agent and a session of it, as a command's options say."""

from __future__ import annotations

from pathlib import Path

from inspan.agent.agent import Agent
from inspan.agent.permissions.values import PermissionMode, Responder
from inspan.agent.session import Session
from inspan.model.errors import UsageError

from .agent_thread import AgentThread
from .arguments import Namespace
from .context import Context

__all__ = ["open_agent", "open_session"]


def open_agent(context: Context, args: Namespace, *, asks: bool) -> AgentThread:
    """The agent, not begun yet."""

    async def create(responder: Responder | None) -> Agent:
        return await Agent.create(
            workspace=Path(args.workspace),
            home=context.home.path,
            model=args.model,
            permission_mode=PermissionMode(args.permission_mode),
            responder=responder,
            effort=args.effort or "",
            instructions=args.instructions,
            is_ephemeral=args.ephemeral,
            is_strict=args.strict,
        )

    return AgentThread(create, asks=asks)


def open_session(thread: AgentThread, args: Namespace) -> Session:
    """The session that is meant: a new one, the named one, or the folder's newest.

    Raises:
        UsageError: There is none to go on with.
    """
    agent = thread.agent
    if args.resume:
        return thread.call(agent.resume_session(args.resume))
    if args.newest:
        found = next((one for one in agent.list_sessions() if one.workspace == str(agent.workspace)), None)
        if found is None:
            raise UsageError(
                "No session of this folder is kept.", code="session_missing", hint="Leave --continue out."
            )
        return thread.call(agent.resume_session(found.id))
    return thread.call(agent.new_session())
