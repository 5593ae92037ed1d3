"""Running a launch: from the decision to start it until it is proven to be over, across restarts of the daemon."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Literal

from inspan.holder import (
    HarnessExit,
    HolderConnection,
    HolderSpec,
    LaunchDisk,
    WriteResult,
    connect_holder,
    start_holder,
    stop_orphans,
)
from inspan.model.errors import HarnessError, HolderError, InspanError
from inspan.model.ids import new_nonce
from inspan.model.state import LaunchState, SeatState
from inspan.model.turn import CallError
from inspan.model.typing_recipe import TypingBlock
from inspan.store import LaunchCursor, OutboxRow, Store
from inspan.transports import TERMINAL, HarnessEnd, is_one_shot, open_machine
from inspan.transports.terminal.opening import load_engine

from .actor import SeatActor
from .beside import work_beside
from .consoles import LiveConsole, last_lines
from .faults import fault_of
from .handshake import watch_handshake
from .harnesses import Harnesses
from .holder_calls import insist, part_from, put_first
from .hook_following import follow_hooks, take_left_hooks
from .hook_launch import install_own_hooks, tell_hooks
from .inboxes import keep_inbox
from .inputs import (
    HolderLost,
    HolderUp,
    LaunchPlanned,
    LaunchRefused,
    ProcessExited,
    Resumed,
    WriteEnded,
)
from .launch_folder import LaunchFiles, harness_environment, read_files, terminal_size, write_files
from .launch_planning import plan_launch
from .link import Link
from .session_finding import find_session
from .sessions import with_settings
from .start_budget import StartMemory, budget_s
from .surroundings import SeatSurroundings

__all__ = ["LaunchRunner"]

_STDERR_TAIL_BYTES = 4096
_ACK_EVERY_BYTES = 256 * 1024
_CLOSE_WAIT_S = 2.0
"""How long a clean stop waits for the harness to close its session."""

_CLAIM_WAIT_S = 20.0
"""How long a holder that claimed a launch may take to start it, seen from a daemon that came back."""
_AFTER_FAULT_S = (0.5, 1.0, 5.0, 30.0)
"""Waits after a fault of ours, before a launch is taken up again."""
_GIVE_UP_AFTER = 2
"""How often a launch of which no process came is tried again."""
_RECONNECT_S = (0.05, 0.2, 0.5, 1.0, 2.0)
_WriteEnd = Literal["done", "clean", "cut"]
_WRITE_RESULTS: dict[str, _WriteEnd] = {
    "done": "done",
    "failed_clean": "clean",
    "cut": "cut",
    "in_doubt": "cut",
}
"""What a holder, or what it left on the disk, says of a write, as the decider takes it."""

_log = logging.getLogger("inspan.seats")


class LaunchRunner:
    """Carries out launches. One task of `run` a launch.

    Args:
        store: The log.
        planner: Makes plans.
        launches: The folder that holds one folder a launch.
        environ: The environment that harnesses inherit.
    """

    def __init__(
        self, *, store: Store, planner: Harnesses, launches: Path, environ: Mapping[str, str]
    ) -> None:
        self._store = store
        self._planner = planner
        self._launches = launches
        self._starts = StartMemory(launches.with_name("starts.json"))
        self._environ = environ
        self._surroundings = SeatSurroundings(
            store=store, harnesses=planner, launches=launches, environ=environ
        )

    async def run(self, actor: SeatActor, launch: str) -> None:
        """Follows a launch to its end, from wherever the log says that it stands."""
        attempt = 0
        while True:
            try:
                await self._carry_out(actor, launch)
            except Exception as error:  # noqa: BLE001 - logged and shown
                # A fault of ours must not take the daemon down, and must not be taken for the harness's end:
                # it is said, and the launch is taken up again from what is durable.
                _log.exception("launch %s of seat %s is not followed for now", launch, actor.name)
                actor.is_attached = False
                actor.fault = fault_of(error)
            else:
                actor.fault = None
                return
            if actor.link is None and attempt == _GIVE_UP_AFTER:
                # No process came of it: the launch is given up, so that its prompts do not wait for ever.
                error = CallError(code="internal", message=actor.fault.message, hint=actor.fault.hint)
                await actor.give_surely(LaunchRefused(launch=launch, error=error), drop_launch=launch)
                actor.fault = None
                return
            await asyncio.sleep(_AFTER_FAULT_S[min(attempt, len(_AFTER_FAULT_S) - 1)])
            attempt += 1
            if actor.link is not None:
                actor.link.close()
            if actor.state is not None:
                actor.link = await self.restore_link(actor.state)

    async def _carry_out(self, actor: SeatActor, launch: str) -> None:
        state = actor.state
        live = None if state is None else state.live_launch
        if state is None or live is None or live.id != launch:
            return
        if live.status == "requested":
            await self._start(actor, state, live)
        else:
            await self._return_to(actor, live)

    async def restore_link(self, state: SeatState) -> Link | None:
        """The link of a launch that a daemon before this one followed.

        `None` where its intent does not stand yet, or where its folder does not say how to follow it.
        """
        live = state.live_launch
        cursor = None if live is None else self._store.cursor(live.id)
        if live is None or cursor is None:
            return None
        files = read_files(Path(live.directory))
        if files is None:
            return None
        if files.transport == TERMINAL:
            await asyncio.to_thread(load_engine)
        return Link(cursor, open_machine(files.transport, files.settings, snapshot=cursor.snapshot))

    def sweep(self, live: set[str]) -> None:
        """Removes folders of launches that are over."""
        if not self._launches.is_dir():
            return
        for folder in self._launches.iterdir():
            if folder.name in live or not folder.is_dir():
                continue
            disk = LaunchDisk(folder)
            with contextlib.suppress(HolderError):
                # A removal that was cut in the middle may have taken the claim with it.
                if disk.abandon() or disk.is_holder_dead():
                    shutil.rmtree(folder, ignore_errors=True)

    async def _start(self, actor: SeatActor, state: SeatState, live: LaunchState) -> None:
        launch = live.id
        folder = self._launches / launch
        try:
            around = self._surroundings.prepare(state)
            plan = with_settings(
                await plan_launch(self._planner, self._store, state, live, around), state.settings
            )
            config = self._planner.registry.manifest(state.harness).config
            await asyncio.to_thread(install_own_hooks, plan.settings.hooks, config, around, state.workspace)
            plan = keep_inbox(plan, self._environ)
            hooked = tell_hooks(plan, folder, actor.name, around.inherited, around.given)
            plan = hooked.plan
            if actor.stop_wanted.is_set():
                raise HarnessError("It was stopped before it was started.", code="launch_failed")
            start = self._starts.look_up(state.harness, state.mode, plan.program)
            files = LaunchFiles(
                transport=plan.transport,
                settings=plan.settings,
                handshake_timeout_s=budget_s(plan, start),
                start=start,
                stop_grace_s=plan.stop_grace_s,
                hook_token_hash=hooked.token_hash,
            )
            write_files(folder, plan, files)
            if plan.transport == TERMINAL:
                await asyncio.to_thread(load_engine)
            machine = open_machine(plan.transport, plan.settings)
            cursor = LaunchCursor(
                launch=launch, seat=actor.name, offset=0, next_op=1, snapshot=machine.snapshot()
            )
            link = Link(cursor, machine)
            nonce = new_nonce()
            await actor.plan(
                link,
                LaunchPlanned(
                    launch=launch,
                    nonce=nonce,
                    directory=str(folder),
                    program=plan.program,
                    arguments=plan.arguments,
                    transport=plan.transport,
                ),
            )
            spec = HolderSpec(
                launch=launch,
                nonce=nonce,
                argv=(plan.program, *plan.arguments),
                env=harness_environment(around.inherited, plan, around.given, hooked.variables),
                cwd=Path(plan.cwd),
                directory=folder,
                socket=folder / "holder.sock",
                terminal=terminal_size(plan),
            )
            await start_holder(spec)
        except InspanError as error:
            await self._refuse(actor, launch, error, folder)
            return
        except OSError as error:
            text = f"The launch's folder cannot be written ({os.strerror(error.errno or 0)})."
            await self._refuse(actor, launch, HolderError(text, hint="Make room on the disk."), folder)
            return
        await self._follow(actor, link, folder, nonce, files)

    async def _refuse(self, actor: SeatActor, launch: str, error: InspanError, folder: Path) -> None:
        shown = CallError(code=error.code, message=error.message, hint=error.hint)
        await actor.give_surely(LaunchRefused(launch=launch, error=shown), drop_launch=launch)
        shutil.rmtree(folder, ignore_errors=True)

    async def _return_to(self, actor: SeatActor, live: LaunchState) -> None:
        """Attaches to a launch of a daemon that died."""
        folder = Path(live.directory)
        link = actor.link
        files = None if link is None else read_files(folder)
        if link is None or files is None:
            _log.warning("the folder of launch %s does not say how to follow it", live.id)
            await self._bury(actor, None, live.id, folder)
            return
        disk = LaunchDisk(folder)
        if disk.identity() is None and not await self._await_claim(disk):
            failure = disk.failure()
            if failure is None:
                error = CallError(
                    code="launch_failed", message="The harness was never started: the daemon ended before."
                )
            else:
                error = CallError(code="launch_failed", message=failure.message)
            await actor.give_surely(
                LaunchRefused(launch=live.id, error=error, never_started=True), drop_launch=live.id
            )
            shutil.rmtree(folder, ignore_errors=True)
            return
        for row in self._store.outbox(live.id):
            link.writes.put_nowait(row)
        await self._follow(actor, link, folder, live.nonce, files)

    async def _await_claim(self, disk: LaunchDisk) -> bool:
        """Whether a holder that is on its way starts the harness; abandons a launch that nobody claimed."""
        if disk.abandon():
            return False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLAIM_WAIT_S):
                while disk.identity() is None:
                    if disk.failure() is not None or disk.is_holder_dead():
                        return disk.identity() is not None
                    await asyncio.sleep(0.05)
        return disk.identity() is not None

    async def _follow(
        self, actor: SeatActor, link: Link, folder: Path, nonce: str, files: LaunchFiles
    ) -> None:
        """Stays with a launch, connecting as often as it takes, until it is over."""
        disk = LaunchDisk(folder)
        attempt = 0
        while True:
            try:
                async with await connect_holder(folder, nonce=nonce) as connection:
                    attempt = 0
                    await self._serve(actor, link, connection, folder, files)
                    return
            except HolderError as error:
                if error.code == "holder_lost" and disk.is_holder_dead():
                    await self._bury(actor, link, link.launch, folder)
                    return
                if attempt == len(_RECONNECT_S):
                    _log.warning("launch %s cannot be reached: %s", link.launch, error.message)
            finally:
                actor.is_attached = False
            await asyncio.sleep(_RECONNECT_S[min(attempt, len(_RECONNECT_S) - 1)])
            attempt += 1

    async def _serve(
        self,
        actor: SeatActor,
        link: Link,
        connection: HolderConnection,
        folder: Path,
        files: LaunchFiles,
    ) -> None:
        """Follows a launch over one connection, to its end. Raises `HolderError` when the connection ends."""
        actor.is_attached = True
        console = LiveConsole(actor, link, machine, connection) if (machine := link.watching) else None
        actor.console = console
        seen = None if actor.state is None else actor.state.live_launch
        if seen is not None and seen.pid is None:
            identity = LaunchDisk(folder).identity()
            holder_pid = 0 if identity is None else identity.holder.pid
            up = HolderUp(launch=link.launch, pid=connection.welcome.harness.pid, holder_pid=holder_pid)
            await actor.begin(link, up)
        else:
            await actor.give_surely(Resumed())
        async with work_beside(
            connection,
            self._write(actor, link, connection, files),
            _stop_when_wanted(actor, connection, files),
            watch_handshake(actor, link, files, self._starts) if console is None else console.watch(),
        ):
            try:
                async with follow_hooks(actor, link, console, folder, files, connection.welcome.harness.pid):
                    await self._read(actor, link, connection, console)
            finally:
                actor.console = None
                if console is not None:
                    console.close()
        await self._end(actor, link, link.launch, folder, connection.exit)
        await part_from(connection, folder)
        shutil.rmtree(folder, ignore_errors=True)

    async def _read(
        self, actor: SeatActor, link: Link, connection: HolderConnection, console: LiveConsole | None
    ) -> None:
        acknowledged = link.offset
        steps = _follow_pipes(actor, link, connection) if console is None else console.follow(link.fed)
        async for _ in steps:
            if console is None or not console.has_fault:
                actor.fault = None
            if link.offset - acknowledged >= _ACK_EVERY_BYTES:
                acknowledged = link.offset
                await connection.ack(acknowledged)

    async def _write(
        self, actor: SeatActor, link: Link, connection: HolderConnection, files: LaunchFiles
    ) -> None:
        """Hands durable writes to the holder, one after the other, and notes what became of each.

        The input of a one-shot run ends with its prompt. Ending it twice is safe, so a daemon that comes back
        does it again, unless there is something left to write first.
        """
        one_shot = is_one_shot(files.transport)
        if one_shot and link.next_op > 1 and link.writes.empty():
            await insist(connection, link.launch, connection.close_stdin)
        while True:
            row = await link.writes.get()
            try:
                result, block = await insist(
                    connection, row.launch, lambda row=row: _hand_over(actor, connection, row)
                )
            except BaseException:
                # It is still in the outbox, and the holder knows it by its number: the next connection asks.
                put_first(link, row)
                raise
            machine = link.watching
            if machine is None or result.outcome != "done":
                await self._note_write(actor, row, _WRITE_RESULTS[result.outcome])
            else:
                await actor.note_keys(link, machine, row, block, _end_of_keys(row, block))
            if one_shot:
                await insist(connection, link.launch, connection.close_stdin)

    async def _note_write(self, actor: SeatActor, row: OutboxRow, result: _WriteEnd) -> None:
        await actor.give_surely(_end_of(row, result), done=((row.launch, row.op),))

    async def _bury(self, actor: SeatActor, link: Link | None, launch: str, folder: Path) -> None:
        """Ends a launch whose holder is proven dead, with all that its journal still tells."""
        with contextlib.suppress(HolderError):
            await stop_orphans(folder)
        disk = LaunchDisk(folder)
        exited: HarnessExit | None = None
        try:
            exited = disk.exit()
            if link is not None:
                for _, data in disk.read_journal(min(link.fed, disk.journal().end)):
                    await actor.absorb(link, data)
        except HolderError as error:
            _log.warning("the journal of launch %s cannot be read: %s", launch, error.message)
        await self._end(actor, link, launch, folder, exited)
        shutil.rmtree(folder, ignore_errors=True)

    async def _end(
        self, actor: SeatActor, link: Link | None, launch: str, folder: Path, exited: HarnessExit | None
    ) -> None:
        """Records the end: first what was said last, then what became of the last writes, then the end."""
        # Before the end stands in the log: a daemon that dies in between comes back to it.
        await self._surroundings.stop_background(actor.state, launch)
        if link is not None:
            await take_left_hooks(actor, link, folder)
            await actor.finish(link)
        disk = LaunchDisk(folder)
        tail = ""
        with contextlib.suppress(HolderError):
            tail = disk.stderr_tail(_STDERR_TAIL_BYTES).decode("utf-8", "replace")
        if not tail and link is not None and link.watching is not None:
            tail = last_lines(link.watching)
        try:
            operations = disk.operations()
        except HolderError:
            operations = None
        for row in self._store.outbox(launch):
            if row.delivery is None:
                continue
            outcome = "in_doubt" if operations is None else operations.outcome(row.op)
            if outcome != "not_begun":
                await self._note_write(actor, row, _WRITE_RESULTS[outcome])
        if link is not None and exited is not None:
            end = HarnessEnd(exit_code=exited.exit_code, signal=exited.signal, stderr_tail=tail)
            await actor.take_end(link, end)
            looked_up = await find_session(actor.state, folder, tail)
            if looked_up is not None:
                await actor.give_surely(looked_up)
        if exited is None:
            await actor.give_surely(HolderLost(launch=launch, stderr_tail=tail), drop_launch=launch)
        else:
            await actor.give_surely(
                ProcessExited(
                    launch=launch,
                    exit_code=exited.exit_code,
                    signal=exited.signal,
                    stderr_tail=tail,
                    meaning=await actor.read_early_exit(tail),
                ),
                drop_launch=launch,
            )


async def _hand_over(
    actor: SeatActor, connection: HolderConnection, row: OutboxRow
) -> tuple[WriteResult, TypingBlock]:
    console = actor.console
    return (await connection.write(row.op, row.data), "") if console is None else await console.write(row)


def _end_of_keys(row: OutboxRow, block: TypingBlock) -> WriteEnded | None:
    """What is to be noted of keys that went out, or of an inbox of which nobody knows whether it took a prompt."""
    if row.purpose == "inbox" and block == "typing":
        return _end_of(row, "cut")
    return None if block else _end_of(row, "done")


def _end_of(row: OutboxRow, result: _WriteEnd) -> WriteEnded | None:
    if row.delivery is None:
        return None
    return WriteEnded(launch=row.launch, delivery=row.delivery, result=result, purpose=row.purpose)


async def _follow_pipes(actor: SeatActor, link: Link, connection: HolderConnection) -> AsyncIterator[None]:
    async for _, data in await connection.chunks(link.fed):
        await actor.absorb(link, data)
        yield


async def _stop_when_wanted(actor: SeatActor, connection: HolderConnection, files: LaunchFiles) -> None:
    await actor.stop_wanted.wait()
    state = actor.state
    launch = None if state is None else state.live_launch
    if launch is not None and launch.stopped_by == "operator" and "close" in launch.offers:
        # The stop asked the harness to close its session; a harness that takes its time is stopped all the same.
        await actor.wait_until(lambda now: now is None or not now.session_open, _CLOSE_WAIT_S)
    # The input of a one-shot run has ended already, so that its end says nothing more.
    eof_grace_s = 0.0 if is_one_shot(files.transport) else files.stop_grace_s
    with contextlib.suppress(HolderError):
        await connection.stop(eof_grace_s=eof_grace_s, term_grace_s=files.stop_grace_s)
