"""Changes an app safely: a change is tried beside the app, passes the gate, and only then takes its place."""

from __future__ import annotations

import hashlib
import os
import socket
import time
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from .backups import Backup, app_files, take_backup
from .faults import Rejected
from .files import locked, read_json, write_json
from .folder import Folder
from .launching import launch_app
from .ownership import digest_of, drifted_files
from .ports import base_url_of
from .registry import Registry, now_iso
from .serving import Served, end_trial, serve, stop
from .starting import app_environment, run_step

__all__ = ["Promoted", "Trial", "code_digest", "pass_gate", "promote", "try_change"]


class Trial(NamedTuple):
    """A change that is being tried.

    Attributes:
        url: Where it answers; whoever operates the app meanwhile operates this.
        port: Its port.
        pid: Its process.
        boot_folder: Its own data and log, relative to the app's folder.
    """

    url: str
    port: int
    pid: int
    boot_folder: str


class Promoted(NamedTuple):
    """A change that took the app's place.

    Attributes:
        served: The app as it runs now.
        backup: What was there before; None the first time.
    """

    served: Served
    backup: Backup | None


def try_change(folder: Folder) -> Trial:
    """Starts the app's code as it is now beside the app that is served, with a port and data of its own.

    One that was tried before is ended first.

    Raises:
        Rejected: A file of the framework was changed, the build failed, or it did not answer in time; what was
            started is ended then.
        LockHeld: Another program serves or stops the app at this moment.
    """
    with locked(folder.state / "serve.lock") as lock:
        drifted = drifted_files(folder.path)
        if drifted:
            raise Rejected(
                f"Files of the framework were changed: {', '.join(drifted)}.", hint="Restore them."
            )
        end_trial(folder)
        boot = folder.state / "dev" / f"{time.time_ns() // 1_000_000:x}-{os.getpid()}"
        (boot / "data").mkdir(mode=0o700, parents=True)
        port, log = _free_port(), boot / "dev.log"
        environment = app_environment(port=port, data=boot / "data", env="dev")
        run_step(folder, "build", log, environment, still_here=lock.renew)
        inner = str(boot.relative_to(folder.path))
        place = folder.state / "dev.json"
        pid = launch_app(folder, place, log, environment, port=port, further={"bootDir": inner})
        return Trial(base_url_of(port), port, pid, inner)


def pass_gate(folder: Folder) -> bool:
    """Notes that the code as it is now was found right while it was being tried; False if it is not being tried."""
    trial = folder.dev_record()
    if trial is None or not trial.is_alive or not trial.is_healthy:
        return False
    write_json(
        folder.state / "gate.json",
        {"code": code_digest(folder), "at": now_iso(), "url": base_url_of(trial.port)},
    )
    return True


def promote(folder: Folder, registry: Registry, *, warn: Callable[[str], None]) -> Promoted:
    """Puts the change in the app's place: a backup first, then the trial ends, then the app starts anew.

    The backup holds the records as they are, with the code that was served before: the folder has the new code already.

    Raises:
        Rejected: The code is not what passed the gate, the app is locked against changes, no backup could be taken
            (nothing was touched in these cases), or the app did not start.
        LockHeld: Another program serves or stops the app at this moment.
    """
    if folder.manifest.get("modificationLock") is True:
        raise Rejected("The app is locked against changes (`modificationLock` in its manifest).")
    with locked(folder.state / "serve.lock"):
        _check_gate(folder)
        was_served = folder.serve_record() is not None or any((folder.path / "data").glob("*"))
        backup = take_backup(folder, "before promote", as_served=True) if was_served else None
        end_trial(folder)
        (folder.state / "gate.json").unlink(missing_ok=True)
    stop(folder, registry)
    try:
        return Promoted(serve(folder, registry, warn=warn), backup)
    except Rejected as fault:
        if backup is not None:
            warn(f"the app as it was served before is in the backup {backup.id}")
            back = f"Put it back: agent-app APP restore {backup.id}, then agent-app APP serve"
            hint = f"{fault.hint}\n{back}".strip()
            raise Rejected(fault.message, hint=hint, fields=fault.fields) from None
        raise


def code_digest(folder: Folder) -> str:
    """One digest of all of the app's files but its records."""
    whole = hashlib.sha256()
    for name in app_files(folder.path, data=False):
        path = folder.path / name
        state = os.readlink(path) if path.is_symlink() else digest_of(path)
        whole.update(f"{name}\0{state}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{whole.hexdigest()}"


def _check_gate(folder: Folder) -> None:
    try:
        value = cast("dict[str, Any]", read_json(folder.state / "gate.json"))
        passed = str(value["code"])
    except (OSError, ValueError, KeyError, TypeError):
        raise Rejected(
            "No change has passed the gate.", hint="Run: agent-app APP dev, then agent-app APP validate"
        ) from None
    if passed != code_digest(folder):
        raise Rejected(
            "The code was changed after it passed the gate.",
            hint="Run: agent-app APP dev, then agent-app APP validate",
        )


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
