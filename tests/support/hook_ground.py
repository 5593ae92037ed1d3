"""A ground for seats whose harness has hooks: a scripted console that runs the real relay."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from inspan.model.hooks import HookEvent, HookInstall, HookSession, HookSettings, HookTurnEnd
from inspan.model.permission import NeedsInputKind

from .console_ground import ConsoleGround, open_console_ground

__all__ = ["HOOKS", "SCRIPTED_HOOKED", "SEAT_FILE", "SESSION", "SILENT_HOOKS", "open_hook_ground"]

SCRIPTED_HOOKED = Path(__file__).with_name("scripted_hooked.py")
SESSION = "5e551011-0000-4000-8000-000000000001"

SEAT_FILE = HookInstall(
    scope="seat",
    path="hooks.json",
    entry='{"hooks": [{"type": "command", "command": "{command}"}]}',
    environment={"SCRIPTED_HOOKS": "{file}"},
)
_FAILURE = HookTurnEnd(
    outcome="failed", error="error", message="message", limited="rate_limit", auth_required="authentication"
)

HOOKS = HookSettings(
    events=(
        HookEvent(
            name="SessionStart", when={"source": ("clear",)}, begins_session=True, changes_session=True
        ),
        HookEvent(name="SessionStart", begins_session=True),
        HookEvent(name="UserPromptSubmit", says="running", prompt="prompt"),
        HookEvent(name="PermissionRequest", says="needs_input", kind=NeedsInputKind.PERMISSION),
        HookEvent(name="PostToolUse", says="running"),
        HookEvent(name="Stop", ends=HookTurnEnd()),
        HookEvent(name="StopFailure", ends=_FAILURE),
    ),
    ignore_when={"agent_id": ()},
    session=HookSession(id="session_id", folder="cwd", turn="turn_id"),
    install=(SEAT_FILE,),
    source="scripted_hooked.py",
    verified="2026-11-30",
)

SILENT_HOOKS = HookSettings(
    events=tuple(one for one in HOOKS.events if not one.prompt),
    session=HOOKS.session,
    install=HOOKS.install,
    source=HOOKS.source,
    verified=HOOKS.verified,
)
"""Hooks that tell no prompt."""


@asynccontextmanager
async def open_hook_ground(hooks: HookSettings = HOOKS) -> AsyncGenerator[ConsoleGround]:
    """A fresh ground whose harness runs hooks; every harness that was started on it is stopped at the end."""
    async with open_console_ground(composes=True) as ground:
        ground.consoles.program_file = SCRIPTED_HOOKED
        ground.consoles.hooks = hooks
        yield ground
