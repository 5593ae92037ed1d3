"""Finding the session that a launch made, where nothing said its id while the launch ran."""

from __future__ import annotations

import asyncio
from pathlib import Path

from inspan.model.manifest import ModeManifest
from inspan.model.session import IdentityState, Provenance
from inspan.model.state import SeatState
from inspan.plugin.session_ids import FoundSession, find_session_id, look_up_session

from .inputs import SessionLookedUp
from .launch_folder import read_files

__all__ = ["find_session", "given_provenance"]

_GIVEN = {
    "chosen": Provenance.CHOSEN,
    "environment": Provenance.CHOSEN,
    "command": Provenance.COMMAND,
}


def given_provenance(mode: ModeManifest) -> Provenance | None:
    """Where an id comes from that a harness is told; `None` where it tells us one."""
    return _GIVEN.get(mode.session_id.kind)


async def find_session(state: SeatState | None, folder: Path, last_words: str) -> SessionLookedUp | None:
    """What is found of the session of a launch whose process has ended; `None` where nothing is to be looked for.

    Args:
        state: The seat, with the launch.
        folder: The launch's folder.
        last_words: The last that the harness wrote.
    """
    files = read_files(folder)
    live = None if state is None else state.live_launch
    if state is None or live is None or files is None or state.session is not None:
        return None
    source = files.settings.session_source
    if source.kind == "screen":
        session = find_session_id(source.pattern, last_words)
        found = FoundSession(
            state=IdentityState.NOT_YET if session is None else IdentityState.KNOWN,
            session_id=session,
            why="Its last words name no session." if session is None else "",
        )
        provenance = Provenance.SCREEN
    elif source.kind == "store" and source.store is not None:
        store, workspace, since = source.store, state.workspace, live.begun_at
        found = await asyncio.to_thread(look_up_session, store, workspace=workspace, since=since)
        provenance = Provenance.STORE
    else:
        return None
    return SessionLookedUp(
        launch=live.id,
        identity=found.state,
        session_id=found.session_id,
        provenance=provenance,
        why=found.why,
    )
