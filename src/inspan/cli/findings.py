"""What `inspan doctor` finds: each check looks at one thing and says the fact, and the remedy where one is needed."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
from collections.abc import Iterator
from typing import Literal, NamedTuple

from inspan import __version__
from inspan.home import API_VERSION, HOME_VARIABLE, SOCKET_PATH_LIMIT, Home
from inspan.model.errors import InspanError

from .context import Context
from .fields import Json, number, record, records, text

__all__ = ["Finding", "Level", "find_all"]

Level = Literal["ok", "warn", "fail"]

_ROOM_FAIL_BYTES = 64 * 1024**2
_ROOM_WARN_BYTES = 1024**3
_QUICK_CHECK_BYTES = 256 * 1024**2
_CALL_S = 20.0


class Finding(NamedTuple):
    """One line of the doctor.

    Attributes:
        level: `ok`, `warn` or `fail`.
        name: What was looked at.
        fact: What was found.
        remedy: What to do; empty where nothing has to be done.
    """

    level: Level
    name: str
    fact: str
    remedy: str = ""


def find_all(context: Context) -> Iterator[Finding]:
    """Every finding, as it is made. Nothing is started and nothing is changed."""
    yield _python()
    yield _platform()
    yield _home(context.home)
    yield _socket_length(context.home)
    yield _room(context.home)
    status, finding = _daemon(context)
    yield finding
    yield _store(context.home, status)
    seats, fault = _seats(context, status)
    yield from _launches(context.home, status, seats)
    if fault is not None:
        yield fault
    elif status:
        from .seat_findings import find_of_seats

        yield from find_of_seats(seats)
    else:
        yield Finding("ok", "seats", "not asked, since no daemon runs; `inspan seat list` starts one")
    from .harness_findings import find_of_harnesses

    yield from find_of_harnesses(context, is_served=bool(status))


def _python() -> Finding:
    return Finding("ok", "python", f"{platform.python_version()}, inspan {__version__}")


def _platform() -> Finding:
    if sys.platform == "linux":
        return Finding("ok", "system", f"Linux {platform.release()}")
    if sys.platform == "darwin":
        return Finding(
            "warn", "system", "macOS is meant to work, and is tested less", "Report what does not work."
        )
    return Finding("fail", "system", f"{sys.platform} is not supported", "Use Linux or macOS.")


def _home(home: Home) -> Finding:
    try:
        found = home.path.stat()
    except FileNotFoundError:
        return Finding("ok", "home", f"{home.path} does not exist yet; it is made at first use")
    except OSError as error:
        return Finding(
            "fail", "home", f"{home.path}: {error.strerror}", f"Name another home in {HOME_VARIABLE}."
        )
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISDIR(found.st_mode):
        return Finding(
            "fail", "home", f"{home.path} is not a folder", f"Name another home in {HOME_VARIABLE}."
        )
    if found.st_uid != os.geteuid():
        return Finding(
            "fail", "home", f"{home.path} belongs to another user", f"Name your own in {HOME_VARIABLE}."
        )
    if mode & 0o077:
        return Finding(
            "fail", "home", f"{home.path} is open to others ({mode:04o})", f"Run `chmod 700 {home.path}`."
        )
    if not os.access(home.path, os.W_OK | os.X_OK):
        return Finding(
            "fail", "home", f"{home.path} cannot be written", "Make it writable: is the disk read-only?"
        )
    return Finding("ok", "home", f"{home.path} ({mode:04o})")


def _socket_length(home: Home) -> Finding:
    longest = max(len(os.fsencode(home.socket)), len(os.fsencode(home.launch_socket("l_" + 19 * "0"))))
    if longest > SOCKET_PATH_LIMIT:
        return Finding(
            "fail",
            "sockets",
            f"a socket's path would have {longest} bytes, and the system's limit is {SOCKET_PATH_LIMIT}",
            f"Name a shorter home in {HOME_VARIABLE}.",
        )
    return Finding("ok", "sockets", f"paths of at most {longest} of {SOCKET_PATH_LIMIT} bytes")


def _room(home: Home) -> Finding:
    place = home.path
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        return Finding("warn", "disk", f"unknown: {error.strerror}", f"Look at {place}.")
    shown = f"{free / 1024**3:.1f} GiB free at {place}"
    if free < _ROOM_FAIL_BYTES:
        return Finding("fail", "disk", shown, "Make room: events that cannot be written stop all work.")
    if free < _ROOM_WARN_BYTES:
        return Finding("warn", "disk", shown, "Make room before the log cannot be written.")
    return Finding("ok", "disk", shown)


def _daemon(context: Context) -> tuple[Json, Finding]:
    try:
        status = record(context.call("GET", "/v1/status", is_starting=False, timeout_s=_CALL_S))
    except InspanError as error:
        if not context.home.socket.exists():
            return {}, Finding("ok", "daemon", "not running; it starts when a command needs it")
        if error.message.startswith("No daemon runs"):
            return {}, Finding("ok", "daemon", "not running; it died, and the next one takes its socket over")
        return {}, Finding("fail", "daemon", error.message, "See `inspan daemon logs`.")
    version, api = text(status, "version"), number(status, "api")
    if api != API_VERSION:
        fact = f"it speaks version {api} of the HTTP interface, and this program {API_VERSION}"
        return status, Finding(
            "fail", "daemon", fact, "Run `inspan daemon stop`; the next command starts a new one."
        )
    if version != __version__:
        fact = f"it is version {version}, and this program {__version__}"
        return status, Finding(
            "warn", "daemon", fact, "Run `inspan daemon stop`; the next command starts a new one."
        )
    return status, Finding("ok", "daemon", f"pid {number(status, 'pid')}, version {version}")


def _store(home: Home, status: Json) -> Finding:
    state = text(status, "store", default="ok")
    if state != "ok":
        return Finding(
            "fail", "log", f"it cannot be written: {state}", "See `inspan daemon logs`, and make room."
        )
    try:
        size = home.database.stat().st_size
    except FileNotFoundError:
        return Finding("ok", "log", "empty: nothing happened yet")
    except OSError as error:
        return Finding("fail", "log", f"{home.database}: {error.strerror}", "Make it readable.")
    shown = f"{size / 1024**2:.1f} MiB"
    if size > _QUICK_CHECK_BYTES:
        return Finding("ok", "log", f"{shown}; not examined, since it is large: `inspan store check` does")
    import sqlite3
    from contextlib import closing

    try:
        with closing(sqlite3.connect(f"{home.database.absolute().as_uri()}?mode=ro", uri=True)) as database:
            answer = str(database.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.Error as error:
        answer = str(error)
    if answer != "ok":
        return Finding(
            "fail", "log", f"damaged: {answer}", "Run `inspan store check`; restore a copy of the log."
        )
    return Finding("ok", "log", f"{shown}, whole at a quick look")


def _seats(context: Context, status: Json) -> tuple[list[Json], Finding | None]:
    if not status:
        return [], None
    try:
        return records(context.call("GET", "/v1/seats", is_starting=False, timeout_s=_CALL_S)), None
    except InspanError as error:
        return [], Finding("fail", "seats", error.message, error.hint or "See `inspan daemon logs`.")


def _launches(home: Home, status: Json, seats: list[Json]) -> Iterator[Finding]:
    try:
        folders = sorted(entry.name for entry in os.scandir(home.launches) if entry.is_dir())
    except OSError:
        folders = []
    if not folders:
        yield Finding("ok", "launches", "none")
        return
    from inspan.holder.disk import LaunchDisk

    alive: list[str] = []
    for folder in folders:
        try:
            if not LaunchDisk(home.launch_folder(folder)).is_holder_dead():
                alive.append(folder)
        except InspanError as error:
            yield Finding("warn", "launches", f"{folder}: {error.message}", "Look into its folder.")
    if not status:
        yield Finding(
            "ok", "launches", f"{len(alive)} of {len(folders)} live; the next daemon attaches to them"
        )
        return
    launches = [record(seat, "launch") for seat in seats]
    known = {text(one, "id") for one in launches if one and text(one, "status") != "ended"}
    if stale := [folder for folder in alive if folder not in known]:
        yield Finding(
            "warn",
            "launches",
            f"no seat knows of {', '.join(stale)}, which may still run",
            "Restart the daemon with `inspan daemon stop`; if they stay, end their processes.",
        )
    if lost := sorted(known - set(alive)):
        yield Finding(
            "warn",
            "launches",
            f"a seat counts on {', '.join(lost)}, whose holder is gone",
            "See `inspan daemon logs`.",
        )
    if not stale and not lost:
        yield Finding("ok", "launches", f"{len(alive)} live, {len(folders) - len(alive)} ended")
