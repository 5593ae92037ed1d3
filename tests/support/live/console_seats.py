"""Real consoles as seats, in this process: the real service, whose harnesses live in the sealed namespace."""

from __future__ import annotations

import asyncio
import ctypes
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from inspan.home import Home, prepare_home
from inspan.host import HarnessHost
from inspan.model.console import ConsoleJudged
from inspan.model.console_views import ScreenView
from inspan.model.evidence import Source
from inspan.model.posture import Posture
from inspan.model.views import AddSeat, SeatView
from inspan.seats.core import Seats, open_seats
from inspan.store import open_store
from support.live.arena import FAKE_KEY, Arena
from support.live.netns import Namespace
from support.live.target import ReadyTarget

__all__ = ["SEAT", "ConsoleSeats", "Said", "run_inside"]

SEAT = "tester"
ENTER = b"\r"
BRACKETED_PASTE = 2004
"""The mode in which a program takes a paste apart from keys."""

_DEADLINE_S = 45.0
_POLL_S = 0.02
_PRESS_AGAIN_S = 2.0
_PRESS_TIMES = 4
_CLONE_NEWNET = 0x40000000


class Said(NamedTuple):
    """One verdict, as it stands in the log."""

    at: datetime
    source: Source
    rule: str
    judged: ConsoleJudged

    def __str__(self) -> str:
        error = self.judged.error
        beside = [str(self.judged.kind or ""), self.judged.gate or "", *self.judged.signs]
        beside.append("" if error is None else f"{error.code}: {error.message[:60]}")
        words = " ".join(word for word in beside if word)
        return f"{self.at:%H:%M:%S.%f} {self.judged.activity} [{self.source} {self.rule}] {words}"


def run_inside(namespace: Namespace, story: Callable[[], Coroutine[object, object, None]]) -> None:
    """Runs `story` in a thread whose children are in `namespace`; what it raises is raised here.

    A network namespace belongs to a thread, and children and threads that it starts inherit it.
    """
    failed: list[BaseException] = []

    def run() -> None:
        try:
            _enter(namespace)
            asyncio.run(story())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            failed.append(error)

    thread = threading.Thread(target=run, name=namespace.name, daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


class ConsoleSeats:
    """A home in an arena, with one seat on a console. The service can be closed and opened again."""

    def __init__(self, ready: ReadyTarget) -> None:
        self.arena: Arena = ready.arena
        self.harness = ready.harness
        self.home = prepare_home(Home(self.arena.inspan_home))

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Seats]:
        """The service, as a daemon has it, on the arena's environment."""
        environ = dict(self.arena.environment)
        async with (
            open_store(self.home.database) as store,
            HarnessHost(self.home.path, environ=environ) as host,
            open_seats(store=store, host=host, home=self.home, environ=environ) as seats,
        ):
            yield seats

    async def add(self, seats: Seats, posture: Posture, *, trusts_workspace: bool = False) -> None:
        """Adds the seat in terminal mode, with the key that its harness signs in with."""
        keys = {name: value for name, value in self.arena.environment.items() if value == FAKE_KEY}
        await seats.add_seat(
            AddSeat(
                name=SEAT,
                harness=self.harness,
                mode="terminal",
                workspace=str(self.arena.workspace),
                posture=posture,
                environment=keys,
                trusts_workspace=trusts_workspace,
            )
        )

    async def press(self, seats: Seats, keys: bytes) -> None:
        """Presses keys as a person who attaches with the keyboard, and leaves again."""
        viewer = await seats.view_terminal(SEAT, writes=True)
        try:
            await seats.type_keys(SEAT, writer=viewer.token, keys=keys)
        finally:
            viewer.close()

    async def ask(self, seats: Seats, text: str) -> None:
        """Pastes a prompt once the console is ready, sees it there, and presses Enter, again where nothing comes of it.

        Some consoles take an Enter that follows a paste at once for a part of it.
        """
        await self.until(seats, lambda view: view.console is not None and view.console.is_ready, "ready")
        shown = await seats.show_screen(SEAT)
        assert BRACKETED_PASTE in shown.modes, shown.modes
        await self.press(seats, b"\x1b[200~" + text.encode() + b"\x1b[201~")
        begin = text[:30]  # which no console breaks into two rows
        await self.until_shown(seats, lambda now: any(begin in line for line in now.lines))
        before = len(await self.verdicts())
        begun_at = datetime.now(UTC)

        async def is_taken() -> bool:
            # A draft that is seen, or readiness, is a verdict too; a turn may be over before anybody looks.
            return any(
                one.judged.activity != "idle"
                or (one.judged.is_turn_over and one.judged.at is not None and one.judged.at > begun_at)
                for one in (await self.verdicts())[before:]
            )

        for _ in range(_PRESS_TIMES):
            await self.press(seats, ENTER)
            if await _within(_PRESS_AGAIN_S, is_taken):
                return
        raise AssertionError(f"Enter does nothing\n{await _show(seats)}")

    async def press_until(
        self, seats: Seats, key: bytes, holds: Callable[[SeatView], bool], what: str
    ) -> SeatView:
        """Presses a key, and again after a while where nothing came of it; the view once it is as wanted."""

        async def is_wanted() -> bool:
            return holds(await seats.get_seat(SEAT))

        for _ in range(_PRESS_TIMES):
            await self.press(seats, key)
            if await _within(_PRESS_AGAIN_S, is_wanted):
                break
        return await self.until(seats, holds, what)

    async def until(self, seats: Seats, holds: Callable[[SeatView], bool], what: str) -> SeatView:
        """The seat's view, once it is as wanted."""
        view = await seats.get_seat(SEAT)
        try:
            async with asyncio.timeout(_DEADLINE_S):
                while not holds(view):
                    await asyncio.sleep(_POLL_S)
                    view = await seats.get_seat(SEAT)
        except TimeoutError:
            said = "\n".join(map(str, await self.verdicts()))
            shown = await _show(seats)
            raise AssertionError(f"not {what}: {view.status}, {view.activity}\n{said}\n{shown}") from None
        return view

    async def until_shown(self, seats: Seats, holds: Callable[[ScreenView], bool]) -> ScreenView:
        """The screen, once there is one as wanted."""
        try:
            async with asyncio.timeout(_DEADLINE_S):
                while True:
                    if seats.actor(SEAT).console is not None:
                        shown = await seats.show_screen(SEAT)
                        if holds(shown):
                            return shown
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            raise AssertionError(f"the screen stays\n{await _show(seats)}") from None

    async def verdicts(self) -> list[Said]:
        """Every verdict in the log, in order."""
        async with open_store(self.home.database, read_only=True) as store:
            return [
                Said(one.at, one.source, one.rule, one.event)
                for one in store.events(limit=100_000)
                if isinstance(one.event, ConsoleJudged)
            ]


async def _within(seconds: float, holds: Callable[[], Awaitable[bool]]) -> bool:
    """Whether something comes true in time."""
    try:
        async with asyncio.timeout(seconds):
            while not await holds():  # noqa: ASYNC110 - another process sets no event
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        return False
    return True


async def _show(seats: Seats) -> str:
    if seats.actor(SEAT).console is None:
        return "no screen"
    return "\n".join(line for line in (await seats.show_screen(SEAT)).lines if line.strip())


def _enter(namespace: Namespace) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    handle = os.open(Path("/run/netns") / namespace.name, os.O_RDONLY)
    try:
        if libc.setns(handle, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace.name}")
    finally:
        os.close(handle)
