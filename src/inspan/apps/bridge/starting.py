"""`bridge start`: in the background as a rule; in this process for one look, a dry run, or the foreground."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from inspan.apps.client import JsonObject
from inspan.apps.faults import Misused, Rejected
from inspan.apps.files import locked
from inspan.apps.folder import Folder
from inspan.apps.processes import birth_of, end_tree
from inspan.apps.programs.screen import note, print_json

from .journal import last_lines, trim
from .line import AppLine, LineTrouble
from .options import CHILD, StartOptions
from .record import BridgeRecord, Record
from .reporting import harness_of, tell_ladder
from .routes import GatewayRoute, Profile, Route, SubscribeRoute
from .setting import Setting, open_setting
from .working import Bridge, running_bridge

__all__ = ["start"]

_CHILD_S = 15.0
_LOOK_S = 0.2
_LOG_LINES = 20


def start(folder: Folder, options: StartOptions) -> int:
    """Starts the app's bridge, or says why not. Prints one JSON value, but for the process in the background.

    Raises:
        Misused: The app does not answer, or somebody else does.
        Rejected: A profile or a gateway is of no use.
    """
    record = Record(folder)
    if not options.is_dry and (running := running_bridge(record)) is not None:
        print_json(_already(running))
        return 0
    setting = open_setting(folder, harness=options.harness)
    profile, route = setting.choice.profile, setting.choice.ladder.route
    if profile is None or route is None:
        return _unsupported(setting)
    if isinstance(route, SubscribeRoute):
        return _subscribed(folder, profile, route)
    line = AppLine(folder)
    try:
        line.renew()
    except LineTrouble as trouble:
        raise Misused(str(trouble), hint=f"Launch it first: agent-app {folder.path} serve") from trouble
    try:
        if options.is_background:
            return _start_in_background(folder, options, record, profile, route)
        return Bridge(setting, options, record, line, profile, route).run()
    finally:
        line.close()


def _already(running: BridgeRecord) -> JsonObject:
    return {"ok": True, "started": False, "alreadyRunning": True, **running.to_public()}


def _unsupported(setting: Setting) -> int:
    profile, ladder = setting.choice.profile, [one.to_wire() for one in setting.choice.ladder.rungs]
    harness = harness_of(profile)
    print_json(
        {"ok": False, "supported": False, "harness": harness["id"] if harness else None, "ladder": ladder}
    )
    note(f"Nothing was started: {setting.choice.why}.")
    tell_ladder(profile, ladder, is_usable=False)
    return 1


def _subscribed(folder: Folder, profile: Profile, route: SubscribeRoute) -> int:
    listen = f"a2app {folder.path} tasks next --wait 60000"
    print_json({"ok": True, "started": False, "mode": route.mode, "harness": profile.id, "listen": listen})
    note(f"{profile.id} fetches work by itself; nothing was started. It listens with: {listen}")
    return 0


def _start_in_background(
    folder: Folder, options: StartOptions, record: Record, profile: Profile, route: Route
) -> int:
    patience_s = _CHILD_S + (route.ready_ms / 1000 if isinstance(route, GatewayRoute) else 0.0)
    log = folder.state / "bridge.log"
    with locked(folder.state / "bridge.lock") as lock:
        if (running := running_bridge(record)) is not None:
            print_json(_already(running))
            return 0
        trim(log)
        child = _spawn(folder, msgspec.structs.replace(options, harness=profile.id), log)
        birth = birth_of(child.pid)
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline and child.poll() is None:
            found = record.read()
            if found is not None and found.pid == child.pid:
                print_json({"ok": True, "started": True, **found.to_public()})
                child.returncode = 0  # it is nobody's child from here on
                return 0
            lock.renew()
            time.sleep(_LOOK_S)
        end_tree(child.pid, birth)
        child.wait()
        with contextlib.suppress(OSError):  # that may be what it failed of
            record.clear(pid=child.pid)
    for line in last_lines(log, _LOG_LINES):
        note(f"  log: {line}")
    raise Rejected("The bridge did not start.", hint=f"See {log}.")


def _spawn(folder: Folder, options: StartOptions, log: Path) -> subprocess.Popen[bytes]:
    # Without -P the app's folder, in which it stands, could put a module of its own in front of ours.
    words = [
        sys.executable,
        "-P",
        "-m",
        "inspan.apps.bridge",
        str(folder.path),
        "start",
        *options.to_args(),
        CHILD,
    ]
    log.parent.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    try:
        return subprocess.Popen(
            words,
            cwd=folder.path,
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            start_new_session=True,
        )
    finally:
        os.close(handle)
