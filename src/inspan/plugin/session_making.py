"""Making a session before a launch: the program is run once, and says the id of the session that it made."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from inspan.model.errors import HarnessError
from inspan.model.manifest import Manifest
from inspan.model.session_source import SessionCommand, SessionStore

from .programs import FoundProgram, expand_home
from .session_ids import find_session_id, workspace_name
from .short_runs import run_shortly

__all__ = ["make_session", "place_store"]


async def make_session(
    command: SessionCommand, program: FoundProgram, environ: Mapping[str, str], *, name: str, workspace: str
) -> str:
    """The id of a new session: the first that the program says. One that says it and does not end is ended.

    Args:
        command: How the program is asked for one.
        program: The program of the mode.
        environ: Its variables.
        name: The harness's name, for people.
        workspace: The seat's folder.

    Raises:
        HarnessError: `session_failed`: it failed, or named no session.
    """
    args = [arg.replace("{workspace}", workspace) for arg in command.args]
    run = await run_shortly(
        [program.path, *program.prefix, *args],
        environ,
        timeout_s=command.timeout_s,
        cwd=workspace,
        is_answer=lambda text: find_session_id(command.pattern, text, first=True) is not None,
    )
    session = None if run.fault else find_session_id(command.pattern, run.output, first=True)
    if session is None:
        fault = run.fault or "named no session"
        raise HarnessError(
            f"{name} was asked for a new session and {fault}.",
            code="session_failed",
            hint=f"Run it by hand once: {' '.join(args)}. It may want a sign-in.",
        )
    return session


def place_store(
    store: SessionStore, manifest: Manifest, workspace: str, environ: Mapping[str, str]
) -> SessionStore:
    """The store with the folder that it has for this seat, absolute."""
    config = manifest.config
    folder = (environ.get(config.variable) if config.variable else "") or config.folder
    placed = store.folder.replace("{config}", folder).replace("{workspace_name}", workspace_name(workspace))
    return msgspec.structs.replace(store, folder=expand_home(placed, environ))
