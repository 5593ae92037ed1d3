"""The context that one plugin of one agent is given."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from inspan.agent.cancelling import CancelSignal
from inspan.agent.plugins.owner import Step
from inspan.agent.plugins.ownership import Ownership
from inspan.agent.plugins.rooms import (
    AuditRoom,
    AuthRoom,
    HookRoom,
    ModelRoom,
    PageRoom,
    PromptRoom,
    SkillRoom,
    ToolRoom,
)
from inspan.agent.plugins.services import PluginServices
from inspan.agent.private_folders import make_private
from inspan.agent.threads import run_in_thread

__all__ = ["OwnedContext"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


class OwnedContext:
    """Fulfils `plugins.contract.PluginContext`.

    Args:
        own: The plugin's account.
        services: What the agent has.
        config: What `parse_config` gave.
    """

    def __init__(self, own: Ownership, services: PluginServices, config: Any) -> None:
        self._own = own
        self._services = services
        self.config = config
        self.tools = ToolRoom(own=own, services=services)
        self.skills = SkillRoom(own=own, services=services)
        self.models = ModelRoom(own=own, services=services)
        self.auth = AuthRoom(own=own, services=services)
        self.hooks = HookRoom(own=own, services=services)
        self.audit = AuditRoom(own=own, services=services)
        self.prompts = PromptRoom(own=own, services=services)
        self.pages = PageRoom(own=own, services=services)
        self.logger = logging.getLogger(f"inspan.agent.plugin.{own.owner}")

    @property
    def signal(self) -> CancelSignal:
        """Raised when the plugin is to stop, before its contributions go."""
        return self._own.lease.signal

    @property
    def workspace(self) -> Path:
        """The agent's default workspace, absolute and resolved."""
        return self._services.workspace

    @property
    def data_dir(self) -> Path:
        """A folder of the plugin's own below the agent's home, 0700, made on first use."""
        folder = self._services.data_root / self._own.owner
        make_private(folder)
        return folder

    def on_start(self, start: Step) -> None:
        """Runs `start` when every plugin's setup is done.

        Raises:
            PluginError: `plugin_setup_over`.
        """
        with self._own.registering("starts"):
            self._own.starts.append(start)

    def on_dispose(self, dispose: Step) -> None:
        """Runs `dispose` when the plugin stops, latest first. It may be called until the disposers begin to run.

        Raises:
            PluginError: `plugin_stopped`: close what was acquired yourself, the plugin is gone.
        """
        self._own.add_disposer(dispose)

    async def run_sync(self, work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Runs blocking work in a thread, so that it does not stall the agent."""
        return await run_in_thread(partial(work, *args, **kwargs), name=f"plugin {self._own.owner}")
