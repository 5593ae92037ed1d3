"""Serves and stops an app. What is ended is only ever the process that was started, never whoever has its number."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from .agent_work import work_of
from .client import JsonObject
from .faults import Rejected
from .files import Lock, locked, write_json
from .folder import AppRecord, Folder, open_folder
from .ownership import drifted_files
from .ports import base_url_of, who_answers
from .processes import birth_of, end_tree
from .registry import Registry, now_iso
from .starting import app_environment, run_step, start_app, wait_until_free, wait_until_healthy

__all__ = [
    "LAUNCH_VARIABLE",
    "Served",
    "Stopped",
    "data_folder",
    "end_record",
    "end_trial",
    "serve",
    "stop",
    "stop_dev",
]


LAUNCH_VARIABLE = "A2APP_LAUNCH"
"""In an app's environment: which start of it this is, as its record says."""


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
        found = who_answers(folder.port)
        if found.kind == "app" and found.app_id == folder.id:
            record = folder.serve_record()
            pid = record.pid if record is not None and record.is_alive else None
            url = base_url_of(folder.port)
            return Served(url, folder.port, pid, True, work_of(folder, url))
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
        return _start(folder, lock, installs=installs)


def stop(folder: Folder) -> Stopped:
    """Ends the app that `serve` started, with all that it started. Calling it twice is safe.

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
            if (unfinished := _end_unfinished(record)) is not None:
                (folder.state / "serve.json").unlink(missing_ok=True)
                wait_until_free(port)
                return Stopped(unfinished, False)
            if is_ours and (leader := _unrecorded(folder)) is not None:
                end_record(leader)
                wait_until_free(port)
                return Stopped(leader.pid, False)
            if is_ours:
                raise Rejected(
                    f"The app runs on port {port}, and was not started by agent-app serve.",
                    hint="End it where it was started.",
                )
            path = folder.state / "serve.json"
            was_there = path.exists()
            path.unlink(missing_ok=True)
            return Stopped(None, was_there)
        # With the start time in the record there is no doubt; without it, the app's own answer has to confirm it.
        if not record.birth and not (is_ours and _listens(record.pid, port)):
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
    was_alive = record is not None and record.is_alive
    if record is not None and was_alive:
        end_record(record)
    (folder.state / "dev.json").unlink(missing_ok=True)
    shutil.rmtree(folder.state / "dev", ignore_errors=True)
    return Stopped(
        record.pid if record is not None and was_alive else None, record is not None and not was_alive
    )


def end_record(record: AppRecord) -> None:
    """Ends the process of a record and its descendants.

    Raises:
        Rejected: Some of it is still there.
    """
    if not end_tree(record.pid, record.birth):
        raise Rejected(f"Process {record.pid} did not end.", hint="Its record is kept; try again.")


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
    _end_unfinished(record)
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
    path = folder.state / "serve.json"
    url = base_url_of(folder.port)
    launch = secrets.token_hex(8)
    record: JsonObject = {
        "port": folder.port,
        "url": url,
        "startedAt": now_iso(),
        "healthy": False,
        "launch": launch,
    }
    # Noted before there is anything to note: should this program be killed from here on, the next one still finds
    # what it started, by the launch in its environment.
    write_json(path, {"pid": os.getpid(), **record, "birth": birth_of(os.getpid())})
    try:
        process = start_app(folder, log, {**environment, LAUNCH_VARIABLE: launch})
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    birth = birth_of(process.pid)
    record = {"pid": process.pid, **record, "birth": birth}
    try:
        write_json(path, record)
        wait_until_healthy(folder, process, folder.port, log)
        write_json(path, {**record, "healthy": True})
    except BaseException:
        end_tree(process.pid, birth, term_s=2.0)
        process.poll()
        path.unlink(missing_ok=True)
        raise
    process.returncode = 0  # it lives on; nobody here will wait for it
    return Served(url, folder.port, process.pid, False, work_of(folder, url))


def _end_unfinished(record: AppRecord | None) -> int | None:
    """Ends what a `serve` started that was itself killed before it could write that down; its pid, if there is one."""
    launch: object = record.raw.get("launch") if record is not None else None
    if record is None or record.is_alive or not isinstance(launch, str) or not launch:
        return None
    found = [pid for pid, given in _sessions() if given.get(LAUNCH_VARIABLE) == launch]
    for pid in found:
        end_record(AppRecord(pid, birth_of(pid), record.port, False, {}))
    return found[0] if found else None


def _unrecorded(folder: Folder) -> AppRecord | None:
    """What was started by `serve` and has no record any more: it was given the app's data folder, and holds its port."""
    for pid, given in _sessions():
        is_given = (
            given.get("A2APP_DATA_DIR") == str(data_folder(folder)) and given.get("A2APP_ENV") == "live"
        )
        if is_given and _listens(pid, folder.port):
            return AppRecord(pid, birth_of(pid), folder.port, False, {})
    return None


def _sessions() -> Iterator[tuple[int, dict[str, str]]]:
    """Every process of ours that is the first of a session, as all are that `serve` starts, with its environment."""
    import psutil

    for one in psutil.process_iter():
        try:
            if one.pid == os.getsid(one.pid):
                yield one.pid, one.environ()
        except (psutil.Error, OSError):
            continue


def _listens(pid: int, port: int) -> bool:
    """Whether the process or one of its descendants holds the port; True where the system does not say."""
    import psutil

    try:
        leader = psutil.Process(pid)
        for one in (leader, *leader.children(recursive=True)):
            if any(
                held.laddr and held.laddr.port == port and held.status == psutil.CONN_LISTEN
                for held in one.net_connections("tcp")
            ):
                return True
    except psutil.AccessDenied:
        return True
    except psutil.Error:
        return False
    return False
