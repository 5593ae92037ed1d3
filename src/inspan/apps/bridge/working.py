"""A bridge at work, in this process: once, or until it is told to stop."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator

import msgspec

from inspan.apps.client import JsonObject
from inspan.apps.faults import Rejected
from inspan.apps.files import locked
from inspan.apps.processes import birth_of, end_tree
from inspan.apps.programs.screen import print_json, warn
from inspan.apps.registry import now_iso

from .delivering import Courier, Pace
from .gateway import ensure_gateway
from .journal import Journal
from .line import AppLine
from .loop import Looper, Stopper, heeding_signals
from .options import StartOptions
from .queue import Queue
from .record import AgentMark, BridgeRecord, Record
from .routes import GatewayRoute, Profile, Route
from .setting import Setting
from .stopping import clear_remains

__all__ = ["Bridge", "running_bridge"]


class Bridge:
    """A bridge in this process.

    Args:
        setting: The app and its harness.
        options: What was asked for.
        record: Where it writes down that it runs.
        line: The line to the app, which answered.
        profile: The harness.
        route: The way to it.
    """

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
            with contextlib.ExitStack() as stack:
                if self._options.is_child:
                    # Whoever waits for the record is told that it runs: so it does by then.
                    self._open_gateway(stack, is_recorded=False)
                stack.enter_context(self._recorded())
                if not self._options.is_child:
                    self._open_gateway(stack, is_recorded=True)
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
                if running_bridge(self._file) is not None:
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

    def _open_gateway(self, stack: contextlib.ExitStack, *, is_recorded: bool) -> None:
        """Starts the gateway where it is not up; it ends with this bridge, but for one that looks once."""
        if not isinstance(self._route, GatewayRoute):
            return
        log, around = self._setting.folder.state / "bridge.log", self._setting.around
        started = ensure_gateway(self._route, app=around.app, environ=around.environ, log=log)
        if started is None:
            return
        if self._options.is_once:
            warn(f"the gateway that was started (process {started.pid}) keeps running after this one look")
        else:
            stack.callback(end_tree, started.pid, started.birth)
        self._record = msgspec.structs.replace(
            self._record, gateway_pid=started.pid, gateway_birth=started.birth
        )
        if is_recorded:
            self._file.write(self._record)

    def _say_start(self) -> None:
        wide = getattr(self._route, "grant", "")
        self._journal.say(
            f"Work of {self._setting.folder.name} goes to {self._profile.id} ({self._route.mode})"
            + (f"; {wide}" if wide else "")
            + f". Chosen: {self._setting.choice.why}."
        )

    def _outcome(self, *, once: bool) -> JsonObject:
        return {"ok": True, "once": once, "harness": self._profile.id, "mode": self._route.mode}


def running_bridge(record: Record) -> BridgeRecord | None:
    """The bridge that runs; what a dead one left is cleared away."""
    found = record.read()
    if found is None or found.pid == os.getpid():
        return None
    if found.is_alive:
        return found
    clear_remains(record, found)
    return None
