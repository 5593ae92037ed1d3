"""Serves and stops an app. What is ended is only ever the process that was started, never whoever has its number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from .agent_work import work_of
from .backups import keep_served_code
from .client import JsonObject
from .faults import Rejected
from .files import Lock, locked
from .folder import AppRecord, Folder, open_folder
from .launching import end_record, end_unfinished, launch_app, listens, sessions
from .ownership import drifted_files
from .ports import base_url_of, who_answers
from .processes import birth_of
from .registry import Registry
from .starting import app_environment, run_step, wait_until_free

__all__ = [
    "Served",
    "Stopped",
    "data_folder",
    "end_trial",
    "serve",
    "stop",
    "stop_dev",
]


class Served(NamedTuple):
    """An app that answers.

    Attributes:
        url: Where.
        port: Its port.
        pid: The process that was started, or None where somebody else started it.
        already_running: Whether it ran before.
        agent_work: Its work for an agent (`agent_work.work_of`).
    """

    url: str
    port: int
    pid: int | None
    already_running: bool
    agent_work: JsonObject


class Stopped(NamedTuple):
    """What was ended.

    Attributes:
        pid: The process, or None where there was none.
        was_stale: Whether a record of a process that is gone was cleared.
    """

    pid: int | None
    was_stale: bool


def data_folder(folder: Folder) -> Path:
    """Where the app that is served keeps its data."""
    return folder.path / "data"


def serve(
    folder: Folder, registry: Registry, *, installs: bool = False, warn: Callable[[str], None]
) -> Served:
    """Starts the app by its manifest and returns when it answers; one that runs is left as it is.

    Args:
        folder: The app.
        registry: The index, which is told of the app as well as it goes.
        installs: Whether to run the manifest's install step before.
        warn: Is told of what is odd and no hindrance.

    Raises:
        Rejected: Somebody else holds the port, a file of the framework was changed, a step failed, or the app did
            not answer in time; whatever was started is ended then.
        LockHeld: Another program serves or stops it at this moment.
    """
    try:
        registry.register(folder)
    except Rejected as fault:
        warn(f"the app is not in the index: {fault.message}")
    with locked(folder.state / "serve.lock") as lock:
        folder = _checked(folder)
        if (running := _running(folder)) is not None:
            if running.pid is None and (twin := registry.twin_on(folder, running.port)) is not None:
                raise Rejected(
                    f"Port {running.port} is held by the app in {twin.path}, which has the same id: one is a copy"
                    " of the other.",
                    hint=f"Give this one an id and a `port` of its own in {folder.path / 'manifest.json'}.",
                )
            return running
        found = who_answers(folder.port)
        if found.kind != "nobody":
            who = (
                f"another app ({found.app_id[:80]})"
                if found.kind == "app"
                else "a program that is no such app"
            )
            raise Rejected(
                f"Port {folder.port} is held by {who}.",
                hint=f"End that program, or give this app another `port` in {folder.path / 'manifest.json'}.",
            )
        _end_leftover(folder)
        _check_ownership(folder)
        served = _start(folder, lock, installs=installs)
        try:
            keep_served_code(folder)
        except OSError as error:
            warn(f"no copy of the code that is served could be kept: {error.strerror or error}")
        return served


def stop(folder: Folder, registry: Registry) -> Stopped:
    """Ends the app that `serve` started, with all that it started. Calling it twice is safe.

    Where a copy of the app answers in its place, nothing of this one runs, and that one is left alone.

    Raises:
        Rejected: It runs, and was not started by `serve`; or it did not end.
        LockHeld: Another program serves or stops it at this moment.
    """
    with locked(folder.state / "serve.lock"):
        record = folder.serve_record()
        port = record.port if record is not None else folder.port
        found = who_answers(port)
        is_ours = found.kind == "app" and found.app_id == folder.id
        if record is None or not record.is_alive:
            if (unfinished := end_unfinished(record)) is not None:
                (folder.state / "serve.json").unlink(missing_ok=True)
                wait_until_free(port)
                return Stopped(unfinished, False)
            if is_ours and (leader := _unrecorded(folder)) is not None:
                end_record(leader)
                wait_until_free(port)
                return Stopped(leader.pid, False)
            if is_ours and registry.twin_on(folder, port) is None:
                raise Rejected(
                    f"The app runs on port {port}, and was not started by agent-app serve.",
                    hint="End it where it was started.",
                )
            path = folder.state / "serve.json"
            was_there = path.exists()
            path.unlink(missing_ok=True)
            return Stopped(None, was_there)
        # With the start time in the record there is no doubt; without it, the app's own answer has to confirm it.
        if not record.birth and not (is_ours and listens(record.pid, port)):
            raise Rejected(
                f"Process {record.pid} may be another program by now, so it is left alone.",
                hint="End the app where it was started.",
            )
        end_record(record)
        (folder.state / "serve.json").unlink(missing_ok=True)
        wait_until_free(port)
        return Stopped(record.pid, False)


def stop_dev(folder: Folder) -> Stopped:
    """Ends the trial of a change and throws its data away. Calling it twice is safe.

    Raises:
        Rejected: It did not end.
        LockHeld: Another program serves or stops the app at this moment.
    """
    with locked(folder.state / "serve.lock"):
        return end_trial(folder)


def end_trial(folder: Folder) -> Stopped:
    """The same, for who holds the app's lock."""
    import shutil

    record = folder.dev_record()
    end_unfinished(record)
    was_alive = record is not None and record.is_alive
    if record is not None and was_alive:
        end_record(record)
    (folder.state / "dev.json").unlink(missing_ok=True)
    shutil.rmtree(folder.state / "dev", ignore_errors=True)
    return Stopped(
        record.pid if record is not None and was_alive else None, record is not None and not was_alive
    )


def _running(folder: Folder) -> Served | None:
    """The app as it answers already: where it was started, though its manifest may name another port by now."""
    record = folder.serve_record()
    live = record if record is not None and record.is_alive else None
    for port in {live.port if live is not None else folder.port, folder.port}:
        if who_answers(port).app_id == folder.id:
            url = base_url_of(port)
            return Served(url, port, live.pid if live is not None else None, True, work_of(folder, url))
    return None


def _checked(folder: Folder) -> Folder:
    """The app as it is now, if its manifest is one that can be served."""
    from inspan.model.errors import InspanError

    from .model.manifest import read_manifest

    try:
        read_manifest(folder.path / "manifest.json")
    except InspanError as error:
        raise Rejected(error.message, hint=error.hint) from error
    return open_folder(folder.path)


def _end_leftover(folder: Folder) -> None:
    """Ends one that was started earlier and does not answer, if it is certainly that one; forgets it if it is gone."""
    record = folder.serve_record()
    end_unfinished(record)
    if record is not None and record.is_alive:
        if not record.birth:
            raise Rejected(
                f"Process {record.pid} was started to serve this app and does not answer.",
                hint="End it, then serve the app again.",
            )
        end_record(record)
    (folder.state / "serve.json").unlink(missing_ok=True)


def _check_ownership(folder: Folder) -> None:
    drifted = drifted_files(folder.path)
    if drifted:
        raise Rejected(
            f"Files of the framework were changed: {', '.join(drifted)}.",
            hint="Restore them; what is the app's own belongs into other files.",
            fields={"drifted": drifted},
        )


def _start(folder: Folder, lock: Lock, *, installs: bool) -> Served:
    log = folder.state / "serve.log"
    data = data_folder(folder)
    data.mkdir(mode=0o700, exist_ok=True)
    environment = app_environment(port=folder.port, data=data, env="live")
    if installs:
        run_step(folder, "install", log, environment, still_here=lock.renew)
    run_step(folder, "build", log, environment, still_here=lock.renew)
    pid = launch_app(folder, folder.state / "serve.json", log, environment, port=folder.port)
    url = base_url_of(folder.port)
    return Served(url, folder.port, pid, False, work_of(folder, url))


def _unrecorded(folder: Folder) -> AppRecord | None:
    """What was started by `serve` and has no record any more: it was given the app's data folder, and holds its port."""
    for pid, given in sessions():
        is_given = (
            given.get("A2APP_DATA_DIR") == str(data_folder(folder)) and given.get("A2APP_ENV") == "live"
        )
        if is_given and listens(pid, folder.port):
            return AppRecord(pid, birth_of(pid), folder.port, False, {})
    return None
