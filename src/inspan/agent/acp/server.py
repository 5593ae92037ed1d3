"""The agent as an ACP server: every method of the protocol's version 1 that an agent can have, on one connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from inspan import __version__
from inspan.agent.acp.client_servers import ClientServer, ClientServers, servers_in
from inspan.agent.acp.peer import INTERNAL, INVALID_PARAMS, Params, Peer, RpcError
from inspan.agent.acp.replay import replay
from inspan.agent.acp.settings import config_options, modes_of, read_option
from inspan.agent.acp.shapes import (
    PERMISSION_OPTIONS,
    STOP_REASONS,
    answer_of,
    content_of,
    permission_of,
    update_of,
    usage_of,
)
from inspan.agent.agent import Agent, AgentCreation
from inspan.agent.cancelling import CancelSource, run_until
from inspan.agent.commands import COMMANDS, command_in, run_command
from inspan.agent.engine.contract import StopReason
from inspan.agent.events import TurnEnded
from inspan.agent.models.well_known import default_model
from inspan.agent.permissions.values import Answer, PermissionMode, PermissionQuestion, Responder
from inspan.agent.session import Session
from inspan.agent.values import TextContent, Usage
from inspan.model.errors import HarnessError, InspanError, UsageError, error_to_wire

__all__ = ["AcpServer", "MakeAgent"]

PROTOCOL_VERSION = 1
AUTH_REQUIRED, RESOURCE_NOT_FOUND, LIMITED = -32000, -32002, 429
"""Codes of errors, as the protocol has them; a usage limit has none there."""

_PAGE = 100
_AUTH_CODES = frozenset({"model_missing", "model_key_missing", "agent_extra_missing"})
_AUTH_METHOD = "environment"

MakeAgent = Callable[[Responder], AgentCreation]
"""Makes the one agent of a connection, with the responder that asks its client."""


class _ListParams(msgspec.Struct, frozen=True):
    cwd: str | None = None
    cursor: str | None = None


@dataclass(slots=True)
class _Open:
    """A session that this connection has open."""

    session: Session
    agent: Agent
    servers: ClientServers
    told_title: str = ""
    tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    commands: set[CancelSource] = field(default_factory=set[CancelSource])


class AcpServer:
    """Serves one client.

    Args:
        reader: The client's lines.
        write: Writes one line to it.
        make_agent: Makes the agent.
        model: The model of new sessions, where one was chosen.
        environment: Where keys and the default model are looked for.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        write: Callable[[bytes], Awaitable[None]],
        *,
        make_agent: MakeAgent,
        model: str | None,
        environment: Mapping[str, str],
    ) -> None:
        self._make_agent = make_agent
        self._model = model
        self._environment = environment
        self._agent: Agent | None = None
        self._making = asyncio.Lock()
        self._open: dict[str, _Open] = {}
        self._peer = Peer(
            reader,
            write,
            requests={
                "initialize": self._initialize,
                "authenticate": self._authenticate,
                "session/new": self._new,
                "session/load": self._load,
                "session/resume": self._resume,
                "session/fork": self._fork,
                "session/list": self._list,
                "session/close": self._close,
                "session/delete": self._delete,
                "session/set_mode": self._set_mode,
                "session/set_config_option": self._set_option,
                "session/prompt": self._prompt,
            },
            notices={"session/cancel": self._cancel},
            explain=_explained,
        )

    async def serve(self) -> None:
        """Serves until the client closes its end; then all turns are cancelled and the agent is closed."""
        try:
            await self._peer.serve()
        finally:
            try:
                if self._agent is not None:
                    await self._agent.close()
            finally:
                await asyncio.gather(*(one.servers.close() for one in self._open.values()))

    # Beginnings

    async def _initialize(self, params: Params) -> Params:
        del params  # one version is spoken; a client that has another says so by leaving
        told: Params = {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": False, "sse": False},
                "sessionCapabilities": {"list": {}, "resume": {}, "fork": {}, "close": {}, "delete": {}},
            },
            "agentInfo": {"name": "inspan", "title": "Inspan's own agent", "version": __version__},
            "authMethods": [
                {
                    "id": _AUTH_METHOD,
                    "name": "A model's key in the environment",
                    "description": "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GOOGLE_API_KEY before the agent starts, "
                    "or INSPAN_MODEL to a model that needs no key.",
                }
            ],
        }
        return told

    async def _authenticate(self, params: Params) -> Params:
        if params.get("methodId") != _AUTH_METHOD:
            raise RpcError(INVALID_PARAMS, "There is no such way to sign in.")
        if self._model is None:
            default_model(self._environment)
        return {}

    async def _new(self, params: Params) -> Params:
        cwd, servers = _folder(params), servers_in(params)
        agent = await self._agent_of()
        opened = await self._keep(agent, await agent.new_session(workspace=cwd), servers)
        return {"sessionId": opened.session.id, **self._described(opened)}

    async def _load(self, params: Params) -> Params:
        opened = await self._reopen(params)
        for update in replay(opened.session.transcript, opened.session.announce):
            await self._update(opened, update)
        return self._described(opened)

    async def _resume(self, params: Params) -> Params:
        return self._described(await self._reopen(params))

    async def _fork(self, params: Params) -> Params:
        id, servers = _session_id(params), servers_in(params)
        agent = await self._agent_of()
        opened = await self._keep(agent, await agent.fork_session(id), servers)
        return {"sessionId": opened.session.id, **self._described(opened)}

    async def _list(self, params: Params) -> Params:
        agent = await self._agent_of()
        try:
            wanted = msgspec.convert(params, _ListParams)
            begin = int(wanted.cursor or 0)
        except (msgspec.ValidationError, ValueError):
            raise RpcError(INVALID_PARAMS, "The folder or the page's mark is none of ours.") from None
        found = [one for one in agent.list_sessions() if wanted.cwd is None or one.workspace == wanted.cwd]
        page = found[begin : begin + _PAGE]
        told: Params = {
            "sessions": [
                {
                    "sessionId": one.id,
                    "cwd": one.workspace,
                    "title": one.title or None,
                    "updatedAt": one.updated_at.isoformat(),
                }
                for one in page
            ]
        }
        if begin + _PAGE < len(found):
            told["nextCursor"] = str(begin + _PAGE)
        return told

    # Endings

    async def _close(self, params: Params) -> Params:
        opened = self._find(params)
        await opened.session.close()
        await self._forget(opened.session.id)
        return {}

    async def _delete(self, params: Params) -> Params:
        id = _session_id(params)
        agent = await self._agent_of()
        await agent.delete_session(id)
        await self._forget(id)
        return {}

    # Settings

    async def _set_mode(self, params: Params) -> Params:
        opened = self._find(params)
        try:
            mode = PermissionMode(str(params.get("modeId")))
        except ValueError:
            raise RpcError(INVALID_PARAMS, "There is no such mode.") from None
        await opened.session.configure(permission_mode=mode)
        await self._update(opened, {"sessionUpdate": "current_mode_update", "currentModeId": mode.value})
        options = config_options(
            opened.agent, opened.session, self._environment
        )  # the mode is one of them too
        await self._update(opened, {"sessionUpdate": "config_option_update", "configOptions": options})
        return {}

    async def _set_option(self, params: Params) -> Params:
        opened = self._find(params)
        before = opened.session.settings.permission_mode
        settings = await opened.session.configure(**read_option(params))
        if settings.permission_mode is not before:
            told = {"sessionUpdate": "current_mode_update", "currentModeId": settings.permission_mode.value}
            await self._update(opened, told)
        return {"configOptions": config_options(opened.agent, opened.session, self._environment)}

    # Turns

    async def _prompt(self, params: Params) -> Params:
        opened = self._find(params)
        try:
            content = content_of(params.get("prompt"))
        except TypeError as error:
            raise RpcError(INVALID_PARAMS, f"The prompt cannot be read: {error}.") from None
        if (
            len(content) == 1
            and isinstance(content[0], TextContent)
            and (name := command_in(content[0].text))
        ):
            return await self._command(opened, name)
        try:
            async with opened.session.prompt(content) as turn:
                async for event in turn:
                    if isinstance(event, TurnEnded):
                        await self._tell_title(opened)
                        return _turn_answer(event)
                    if (update := update_of(event)) is not None:
                        await self._update(opened, update)
        except asyncio.CancelledError:
            opened.session.cancel()
            raise
        raise RpcError(INTERNAL, "The turn ended without a word.")

    async def _command(self, opened: _Open, name: str) -> Params:
        source = CancelSource()
        opened.commands.add(source)
        try:
            text = await run_until(source.signal, run_command(opened.agent, opened.session, name))
        finally:
            opened.commands.discard(source)
        if text is None:
            return {"stopReason": "cancelled", "usage": usage_of(Usage())}
        await self._update(
            opened, {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        )
        return {"stopReason": "end_turn", "usage": usage_of(Usage())}

    def _cancel(self, params: Params) -> None:
        opened = self._open.get(str(params.get("sessionId")))
        if opened is not None:
            opened.session.cancel()
            for source in tuple(opened.commands):
                source.cancel()

    async def _ask(self, question: PermissionQuestion) -> Answer:
        params: Params = {
            "sessionId": question.session_id,
            "toolCall": permission_of(question),
            "options": list(PERMISSION_OPTIONS),
        }
        # That the question could not be put is no person's answer: the engine denies then, and says so.
        return answer_of(await self._peer.ask("session/request_permission", params))

    # What all of them use

    async def _agent_of(self) -> Agent:
        async with self._making:
            if self._agent is None:
                self._agent = await self._make_agent(self._ask)
            return self._agent

    async def _reopen(self, params: Params) -> _Open:
        id, servers = _session_id(params), servers_in(params)
        agent = await self._agent_of()
        known = self._open.get(id)
        if known is not None and known.session.is_running:
            raise UsageError("The session is in the middle of a turn.", code="turn_running")
        return await self._keep(agent, await agent.resume_session(id), servers)

    async def _keep(self, agent: Agent, session: Session, servers: Sequence[ClientServer]) -> _Open:
        opened = self._open.get(session.id)
        is_new = opened is None or opened.session is not session
        if opened is None or is_new:
            own = ClientServers(session.tools, session.workspace)
            opened = self._open[session.id] = _Open(session=session, agent=agent, servers=own)
        opened.told_title = session.title
        try:
            await opened.servers.serve(servers)
        except asyncio.CancelledError:  # whoever asked will not know of it
            if is_new:
                await session.close()
                await self._forget(session.id)
            raise
        return opened

    async def _forget(self, id: str) -> None:
        opened = self._open.pop(id, None)
        if opened is not None:
            await opened.servers.close()

    def _find(self, params: Params) -> _Open:
        opened = self._open.get(_session_id(params))
        if opened is None:
            raise RpcError(RESOURCE_NOT_FOUND, "The session is not open here.", {"code": "session_missing"})
        return opened

    def _described(self, opened: _Open) -> Params:
        """What the answer that opens a session says; its commands follow, and so the whole of a replay comes before them."""
        task = asyncio.create_task(self._tell_commands(opened))
        opened.tasks.add(task)
        task.add_done_callback(opened.tasks.discard)
        return {
            "modes": modes_of(opened.session),
            "configOptions": config_options(opened.agent, opened.session, self._environment),
        }

    async def _tell_commands(self, opened: _Open) -> None:
        await asyncio.sleep(0)  # behind the answer that names the session
        told = [{"name": one.name, "description": one.description} for one in COMMANDS]
        await self._update(opened, {"sessionUpdate": "available_commands_update", "availableCommands": told})

    async def _tell_title(self, opened: _Open) -> None:
        title = opened.session.title
        if title and title != opened.told_title:
            opened.told_title = title
            await self._update(opened, {"sessionUpdate": "session_info_update", "title": title})

    async def _update(self, opened: _Open, update: Mapping[str, Any]) -> None:
        await self._peer.tell("session/update", {"sessionId": opened.session.id, "update": update})


def _turn_answer(event: TurnEnded) -> Params:
    reason = STOP_REASONS.get(event.stop_reason)
    if reason is not None:
        return {"stopReason": reason, "usage": usage_of(event.usage)}
    code = LIMITED if event.stop_reason is StopReason.LIMITED else INTERNAL
    raise RpcError(code, event.message or "The turn failed.", {"code": event.stop_reason.value})


def _explained(error: Exception) -> RpcError | None:
    if not isinstance(error, InspanError):
        return None
    code = INTERNAL
    if error.code in _AUTH_CODES:
        code = AUTH_REQUIRED
    elif error.code == "session_missing":
        code = RESOURCE_NOT_FOUND
    elif isinstance(error, UsageError) or (isinstance(error, HarnessError) and error.code == "model_unknown"):
        code = INVALID_PARAMS
    text = f"{error.message} {error.hint}".strip()
    return RpcError(code, text, error_to_wire(error))


def _session_id(params: Params) -> str:
    id = params.get("sessionId")
    if not isinstance(id, str) or not id:
        raise RpcError(INVALID_PARAMS, "The session's id is missing.")
    return id


def _folder(params: Params) -> str:
    cwd = params.get("cwd")
    if not isinstance(cwd, str) or not Path(cwd).is_absolute():
        raise RpcError(INVALID_PARAMS, "The folder (`cwd`) has to be an absolute path.")
    return cwd
