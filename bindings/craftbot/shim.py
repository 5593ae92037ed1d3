"""The only place that knows CraftBot: its decorator, and what it is called."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

__all__ = ["HostAction", "load_action"]

Run = Callable[[dict[str, Any]], dict[str, Any]]


class HostAction(Protocol):
    """`agent_core.action`: decorating registers."""

    def __call__(
        self,
        *,
        name: str,
        description: str,
        mode: str,
        action_sets: list[str],
        input_schema: dict[str, Any],
        output_schema: dict[str, Any],
        parallelizable: bool,
    ) -> Callable[[Run], Run]:
        """Gives the decorator."""
        ...


def load_action() -> HostAction:
    """The host's decorator. Raises ImportError outside CraftBot."""
    return import_module("agent_core").action
