"""What the built-in tools of one agent share."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from inspan.agent.threads import run_in_thread
from inspan.agent.values import Json, JsonObject, Location

from .confinement import Confinement
from .contract import ToolCallContext
from .ledger import FileLedger
from .names import show_name
from .problems import ToolProblem
from .settings import ToolSettings
from .spills import Spills

__all__ = ["Ground", "run_blocking"]

_LAST_MOMENT_S = 1.8
_R = TypeVar("_R")


class Ground:
    """Settings, what was seen of files, and where long output goes. One an agent."""

    def __init__(self, settings: ToolSettings) -> None:
        self.settings = settings
        self.ledger = FileLedger()
        self.spills = Spills()

    def confinement(self, call: ToolCallContext) -> Confinement:
        """What this call's file tools may touch: its workspace, the configured roots, the session's long outputs."""
        outputs = self.spills.folder_of(call.session_id)
        read_roots = [*self.settings.read_roots, *([outputs] if outputs else [])]
        return Confinement(call.workspace, self.settings.roots, read_roots)

    def locations_of(self, key: str) -> Callable[[JsonObject, Path], tuple[Location, ...]]:
        """Gives the places of calls whose argument `key` is a path, resolved; none for a path that is refused."""

        def locations(arguments: JsonObject, workspace: Path) -> tuple[Location, ...]:
            given: Json = arguments.get(key, ".")
            if not isinstance(given, str):
                return ()
            confinement = Confinement(workspace, self.settings.roots, self.settings.read_roots)
            try:
                place = confinement.find(given)
            except ToolProblem:
                return ()
            return (Location(path=show_name(str(place.path))),)

        return locations


async def run_blocking(call: ToolCallContext, work: Callable[[threading.Event], _R]) -> _R:
    """Runs work in a thread and gives it an event that is set when the call is cancelled or its task is.

    The thread itself cannot be stopped: work that may take long looks at the event. A cancelled task waits a moment for it.
    """
    stop = threading.Event()
    leave = call.cancel.listen(stop.set)
    running = asyncio.ensure_future(run_in_thread(lambda: work(stop), name=f"tool-{call.call_id[:20]}"))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait({running}, timeout=_LAST_MOMENT_S)
        running.cancel()
        raise
    finally:
        stop.set()
        leave()
