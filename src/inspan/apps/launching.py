"""Starts an app with a record of it on disk from before its first moment, and ends what such a record names."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

from .client import JsonObject
from .faults import Rejected
from .files import write_json
from .folder import AppRecord, Folder, mark_of
from .ports import base_url_of
from .processes import birth_of, end_tree
from .registry import now_iso
from .starting import start_app, wait_until_healthy

__all__ = ["LAUNCH_VARIABLE", "end_record", "end_unfinished", "launch_app", "listens", "sessions"]

LAUNCH_VARIABLE = "A2APP_LAUNCH"
"""In an app's environment: which start of it this is, as its record says."""


def launch_app(
    folder: Folder,
    place: Path,
    log: Path,
    environment: Mapping[str, str],
    *,
    port: int,
    further: Mapping[str, object] | None = None,
) -> int:
    """Starts the app and returns its process's id once it answers.

    The record is there before the process is, so that whoever comes after a program that was killed in between still
    finds what it started.

    Args:
        folder: The app.
        place: Where its record goes.
        log: Where its output goes.
        environment: Its environment.
        port: Where it will listen.
        further: More values for the record.

    Raises:
        Rejected: It has no start command, ended, or did not answer in time. It and its record are gone then.
    """
    launch = secrets.token_hex(8)
    record: JsonObject = {
        "port": port,
        "url": base_url_of(port),
        **(further or {}),
        "startedAt": now_iso(),
        "healthy": False,
        "launch": launch,
        "folder": mark_of(folder.path),
    }
    write_json(place, {"pid": os.getpid(), **record, "birth": birth_of(os.getpid())})
    try:
        process = start_app(folder, log, {**environment, LAUNCH_VARIABLE: launch})
    except BaseException:
        place.unlink(missing_ok=True)
        raise
    birth = birth_of(process.pid)
    record = {"pid": process.pid, **record, "birth": birth}
    try:
        write_json(place, record)
        wait_until_healthy(folder, process, port, log)
        write_json(place, {**record, "healthy": True})
    except BaseException:
        end_tree(process.pid, birth, term_s=2.0)
        process.poll()
        place.unlink(missing_ok=True)
        raise
    process.returncode = 0  # it lives on; nobody here will wait for it
    return process.pid


def end_record(record: AppRecord) -> None:
    """Ends the process of a record and its descendants.

    Raises:
        Rejected: Some of it is still there.
    """
    if not end_tree(record.pid, record.birth):
        raise Rejected(f"Process {record.pid} did not end.", hint="Its record is kept; try again.")


def end_unfinished(record: AppRecord | None) -> int | None:
    """Ends what was started by a program that was itself killed before it could note it; its pid, if there is one."""
    launch: object = record.raw.get("launch") if record is not None else None
    if record is None or record.is_alive or not isinstance(launch, str) or not launch:
        return None
    found = [pid for pid, given in sessions() if given.get(LAUNCH_VARIABLE) == launch]
    for pid in found:
        end_record(AppRecord(pid, birth_of(pid), record.port, False, {}))
    return found[0] if found else None


def sessions() -> Iterator[tuple[int, dict[str, str]]]:
    """Every process of ours that is the first of a session, as all are that are started here, with its environment."""
    import psutil

    for one in psutil.process_iter():
        try:
            if one.pid == os.getsid(one.pid):
                yield one.pid, one.environ()
        except (psutil.Error, OSError):
            continue


def listens(pid: int, port: int) -> bool:
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
