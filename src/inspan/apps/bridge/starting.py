"""`bridge start`: in the background as a rule; in this process for one look, a dry run, or the foreground."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import msgspec

from inspan.apps.client import JsonObject
from inspan.apps.faults import Misused, Rejected
from inspan.apps.files import locked
from inspan.apps.folder import Folder
from inspan.apps.processes import birth_of, end_tree
from inspan.apps.programs.screen import note, print_json, warn
from inspan.apps.registry import now_iso

from .delivering import Courier, Pace
from .gateway import StartedGateway, ensure_gateway
from .journal import Journal, last_lines, trim
from .line import AppLine, LineTrouble
from .loop import Looper, Stopper, heeding_signals
from .options import CHILD, StartOptions
from .queue import Queue
from .record import AgentMark, BridgeRecord, Record
from .reporting import harness_of, tell_ladder
from .routes import GatewayRoute, Profile, Route, SubscribeRoute
from .setting import Setting, open_setting
from .stopping import clear_remains

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
    if not options.is_dry and (running := _running(record)) is not None:
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
            return _start_in_background(folder, options, record, profile)
        return _Bridge(setting, options, record, line, profile, route).run()
    finally:
        line.close()


class _Bridge:
    """A bridge in this process."""

    def __init__(
        self,
        setting: Setting,
        options: StartOptions,
        record: Record,
        line: AppLine,
        profile: Profile,
        route: Route,
    ) -> None:
        self._setting = setting
        self._options = options
        self._file = record
        self._line = line
        self._profile = profile
        self._route = route
        log = setting.folder.state / "bridge.log"
        self._journal = Journal(log=log if options.is_child else None)
        self._record = BridgeRecord(
            pid=os.getpid(),
            birth=birth_of(os.getpid()),
            harness=profile.id,
            mode=route.mode,
            interval_ms=options.interval_ms,
            started_at=now_iso(),
            base_url=line.base_url,
        )
        self._stopper = Stopper()

    def run(self) -> int:
        """Until it is told to stop, or once."""
        with heeding_signals(self._stopper):
            if self._options.is_dry:
                tally = self._looper().look(is_dry=True)
                print_json(
                    {**self._outcome(once=True), **tally.to_wire(), "dryRun": True, "prompts": tally.prompts}
                )
                return 1 if tally.is_unanswered else 0
            with self._recorded():
                self._open_gateway()
                if not self._options.is_once:
                    self._say_start()
                    self._looper().run(self._options.interval_ms / 1000)
                    self._journal.say("The bridge has stopped.")
                    return 0
                tally = self._looper().look()
                print_json({**self._outcome(once=True), **tally.to_wire()})
                return 1 if tally.failed or tally.is_unanswered else 0

    @contextlib.contextmanager
    def _recorded(self) -> Generator[None]:
        """Within the block this is the app's bridge; afterwards there is none."""
        if self._options.is_child:  # its parent holds the lock until the record is there
            self._file.write(self._record)
        else:
            with locked(self._file.path.with_name("bridge.lock")):
                if _running(self._file) is not None:
                    raise Rejected("Another bridge of this app was started at this moment.")
                self._file.write(self._record)
        try:
            yield
        finally:
            self._file.clear(pid=self._record.pid)

    def _looper(self) -> Looper:
        queue = Queue(self._line)
        options = self._options
        courier = Courier(
            queue,
            self._setting.facts,
            reference=str(self._setting.folder.path),
            harness=self._profile.id,
            route=self._route,
            around=self._setting.around,
            variables=self._setting.variables,
            pace=Pace(
                task_s=options.task_timeout_ms / 1000,
                heartbeat_s=options.heartbeat_ms / 1000,
                look_s=min(2.0, options.heartbeat_ms / 1000),
            ),
            say=self._journal.say,
            mark=self._mark,
        )
        return Looper(
            queue,
            courier,
            capabilities=options.capabilities,
            stopper=self._stopper,
            say=self._journal.say,
        )

    def _mark(self, agent: AgentMark | None) -> None:
        self._record = msgspec.structs.replace(self._record, agent=agent, base_url=self._line.base_url)
        self._file.write(self._record)

    def _open_gateway(self) -> None:
        if not isinstance(self._route, GatewayRoute):
            return
        log = self._setting.folder.state / "bridge.log"
        around = self._setting.around
        started: StartedGateway | None = ensure_gateway(
            self._route, app=around.app, environ=around.environ, log=log
        )
        if started is None:
            return
        self._record = msgspec.structs.replace(
            self._record, gateway_pid=started.pid, gateway_birth=started.birth
        )
        self._file.write(self._record)
        if self._options.is_once:
            warn(f"the gateway that was started (process {started.pid}) keeps running after this one look")

    def _say_start(self) -> None:
        wide = getattr(self._route, "grant", "")
        self._journal.say(
            f"Work of {self._setting.folder.name} goes to {self._profile.id} ({self._route.mode})"
            + (f"; {wide}" if wide else "")
            + f". Chosen: {self._setting.choice.why}."
        )

    def _outcome(self, *, once: bool) -> JsonObject:
        return {"ok": True, "once": once, "harness": self._profile.id, "mode": self._route.mode}


def _running(record: Record) -> BridgeRecord | None:
    """The bridge that runs; what a dead one left is cleared away."""
    found = record.read()
    if found is None or found.pid == os.getpid():
        return None
    if found.is_alive:
        return found
    clear_remains(record, found)
    return None


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


def _start_in_background(folder: Folder, options: StartOptions, record: Record, profile: Profile) -> int:
    log = folder.state / "bridge.log"
    with locked(folder.state / "bridge.lock") as lock:
        if (running := _running(record)) is not None:
            print_json(_already(running))
            return 0
        trim(log)
        child = _spawn(folder, msgspec.structs.replace(options, harness=profile.id), log)
        birth = birth_of(child.pid)
        deadline = time.monotonic() + _CHILD_S
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
