"""A harness that is written with the protocol's own SDK: `python sdk_agent.py`, its peer on standard streams.

A prompt of `ask` asks for a permission and says what was chosen, `hang` works until it is cancelled, `read` calls
a method that its client does not serve, and any other text is said again.
"""

from __future__ import annotations

import asyncio
from typing import Any

import acp
from acp import schema

__all__ = ["KNOWN_SESSION", "SdkAgent"]

KNOWN_SESSION = "known-session"
_MODES = schema.SessionModeState(
    current_mode_id="ask",
    available_modes=[schema.SessionMode(id="ask", name="Ask"), schema.SessionMode(id="edits", name="Edits")],
)


class SdkAgent:
    """The agent's side of one connection; says its mode at the end of each turn."""

    def __init__(self) -> None:
        self._client: Any = None
        self._mode = "ask"
        self._cancelled = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        """Keeps the connection."""
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> schema.InitializeResponse:
        """Offers to load and to list."""
        return schema.InitializeResponse(
            protocol_version=protocol_version,
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                session_capabilities=schema.SessionCapabilities(list=schema.SessionListCapabilities()),
            ),
            agent_info=schema.Implementation(name="sdk-agent", version="1"),
        )

    async def new_session(self, cwd: str, **_: Any) -> schema.NewSessionResponse:
        """Opens a session that is named for its folder."""
        return schema.NewSessionResponse(session_id=f"session of {cwd}", modes=_MODES)

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> schema.LoadSessionResponse:
        """Tells the only conversation that it knows again."""
        if session_id != KNOWN_SESSION:
            raise acp.RequestError.resource_not_found(session_id)
        await self._client.session_update(session_id, acp.update_user_message_text("earlier"))
        await self._client.session_update(session_id, acp.update_agent_message_text("answer"))
        return schema.LoadSessionResponse(modes=_MODES)

    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> schema.SetSessionModeResponse:
        """Takes the mode."""
        self._mode = mode_id
        return schema.SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> schema.PromptResponse:
        """Runs a turn."""
        self._cancelled.clear()
        text = prompt[0].text
        reason: Any = "end_turn"
        match text:
            case "ask":
                await self._say(session_id, await self._ask(session_id))
            case "hang":
                await self._say(session_id, "working")
                await self._cancelled.wait()
                reason = "cancelled"
            case "read":
                try:
                    await self._client.read_text_file(session_id=session_id, path="/etc/hosts")
                except acp.RequestError as error:
                    await self._say(session_id, f"declined {error.code}")
            case _:
                await self._say(session_id, text)
        await self._say(session_id, f"mode {self._mode}")
        usage = schema.Usage(total_tokens=5, input_tokens=2, output_tokens=3)
        return schema.PromptResponse(stop_reason=reason, usage=usage)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Ends the turn that hangs."""
        self._cancelled.set()

    async def _say(self, session_id: str, text: str) -> None:
        await self._client.session_update(session_id, acp.update_agent_message_text(text))

    async def _ask(self, session_id: str) -> str:
        call = acp.start_tool_call("tool-1", "Run ls", kind="execute", raw_input={"command": "ls"})
        await self._client.session_update(session_id, call)
        answer = await self._client.request_permission(
            session_id=session_id,
            tool_call=schema.ToolCallUpdate(tool_call_id="tool-1"),
            options=[
                schema.PermissionOption(option_id="go", name="Go", kind="allow_once"),
                schema.PermissionOption(option_id="stop", name="Stop", kind="reject_once"),
            ],
        )
        chosen = answer.outcome
        return f"chosen {chosen.option_id if chosen.outcome == 'selected' else chosen.outcome}"


if __name__ == "__main__":
    asyncio.run(acp.run_agent(SdkAgent()))  # pyright: ignore[reportArgumentType]
