"""A live console: the terminal of one launch, while this daemon is attached to its holder.

Bytes are shown as they come, what the terminal answers goes back at once, and the screen is looked at once a burst
of output has come to its end, or goes on for too long.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator

import msgspec

from inspan.holder import HolderConnection, TerminalSize, WriteResult
from inspan.model.console_views import ConsoleExplanation, ForegroundView, ScreenView
from inspan.model.errors import HolderError
from inspan.model.plan import Problem
from inspan.model.typing_recipe import TypingBlock
from inspan.store import OutboxRow
from inspan.transports.watching import WatchingMachine

from .actor import SeatActor
from .console_turns import next_typed, what_is_ignored
from .faults import fault_of
from .hook_post import HookPost
from .inboxes import Posted, post_prompt
from .inputs import ConsoleFree
from .link import Link
from .viewers import Viewer, Viewers

__all__ = ["LiveConsole", "last_lines"]

BURST_END_S = 0.008
"""How long a program must be quiet for its screen to count as drawn."""
LOOK_AT_LATEST_S = 0.05
"""After how much of a burst the screen is looked at all the same."""
FRAME_END = b"\x1b[?2026l"
"""What a program writes that has drawn a whole frame: there is nothing to wait for then."""
FRAMES_EVERY_S = 0.02
"""How soon after a look the end of a frame brings the next."""
FOREGROUND_EVERY_S = 1.0
"""How often it is asked, at most, who has the terminal."""
PERSON_TYPES_S = 5.0
"""How long after a key a person who is attached counts as typing."""
QUIET_LOOK_S = 2.0
"""How long a console that is quiet goes without a look: a program in front of it may be silent."""

AFTER_FAULT_S = 1.0
"""How long a console is not looked at after a fault of ours."""
LAST_LINES = 12

_POSTED: dict[Posted, TypingBlock] = {"taken": "", "refused": "command", "unknown": "typing"}
"""What became of a prompt for an inbox, as machines are told it."""

_log = logging.getLogger("inspan.seats")


class LiveConsole:
    """The terminal of a launch.

    Args:
        actor: The seat.
        link: The launch.
        machine: Its machine, which is `link.machine`.
        connection: The way to its holder.

    Attributes:
        viewers: Who looks on.
        hooks: What takes the events of its harness's hooks.
    """

    def __init__(
        self, actor: SeatActor, link: Link, machine: WatchingMachine, connection: HolderConnection
    ) -> None:
        self.viewers = Viewers()
        self.hooks: HookPost | None = None
        self._actor = actor
        self._link = link
        self._machine = machine
        self._connection = connection
        welcome = connection.welcome
        self._answered = welcome.answered_offset
        self._caught_up_at = welcome.journal.end
        self._dirty = asyncio.Event()
        self._is_caught_up = asyncio.Event()
        self._foreground = ForegroundView()
        self._asked_at = 0.0
        self._looked_at = 0.0
        self._is_frame_whole = False
        self._owes_redraw = False
        self._fault: Problem | None = None
        self._typed_at: float | None = None
        self._is_urgent = False
        self._note_place()

    async def follow(self, from_offset: int) -> AsyncIterator[None]:
        """Shows what the program writes from `from_offset` on, and writes back what the terminal answers.

        One step a piece. What a daemon before this one answered is fed apart; what the terminal says to it
        again is dropped.

        Raises:
            HolderError: The connection ended.
        """
        async for piece in await self._connection.terminal_pieces(from_offset):
            await self._fit(piece.size)
            if piece.data:
                await self._actor.absorb(self._link, piece.data)
                await self._reply(piece.offset + len(piece.data))
                self.viewers.show(piece.data)
                self._is_frame_whole = piece.data.endswith(FRAME_END)
            if self._owes_redraw and self._machine.is_at_ground:
                self._owes_redraw = False
                self.viewers.redraw()
            self._note_place()
            self._dirty.set()
            yield

    async def watch(self) -> None:
        """Looks at the screen whenever it may say something else, for as long as the launch is followed."""
        await self._is_caught_up.wait()
        while True:
            try:
                await self._look()
            except Exception as error:  # noqa: BLE001 - logged and shown
                # A fault of ours must not freeze what is believed without a word.
                _log.exception("the console of seat %s is not looked at for now", self._actor.name)
                self._fault = self._actor.fault = fault_of(error)
                await asyncio.sleep(AFTER_FAULT_S)
                continue
            if self._fault is not None and self._actor.fault is self._fault:
                self._actor.fault = None
            self._fault = None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(QUIET_LOOK_S, self._machine.look_again_s() or QUIET_LOOK_S)):
                    await self._dirty.wait()
                    await self._await_burst_end()

    @property
    def can_type(self) -> bool:
        """Whether prompts can be typed into it."""
        return self._machine.can_type

    def typing_blocks(self) -> tuple[TypingBlock, ...]:
        """Why nothing may be typed into it now, the strongest first."""
        self._note_person()
        return self._machine.typing_blocks()

    @property
    def has_fault(self) -> bool:
        """Whether the newest look failed."""
        return self._fault is not None

    def wake(self) -> None:
        """Has the screen looked at now: something was decided that it has to do with."""
        self._is_urgent = True
        self._dirty.set()

    async def write(self, row: OutboxRow) -> tuple[WriteResult, TypingBlock]:
        """Writes keys, if what is seen right now still allows them; otherwise nothing of them.

        What the holder took before is not looked at again: only what became of it is asked.

        Raises:
            HolderError: As `HolderConnection.write`.
        """
        if row.purpose == "inbox":
            return await self._post(row)
        block: TypingBlock = ""
        is_guarded = self._connection.can_guard
        if row.op > self._connection.welcome.accepted_op:
            if not (is_guarded and self._foreground.is_harness):
                await self._ask_foreground(is_urgent=True)
            self._note_person()
            block = self._machine.check_write(row.purpose)
        result = await self._connection.write(row.op, b"" if block else row.data, is_guarded=is_guarded)
        if result.duplicate:
            block = "" if result.length else "not_ready"
        elif not block and row.data and not result.length:
            block = "foreground"
            await self._ask_foreground(is_urgent=True)
        return result, block

    async def _post(self, row: OutboxRow) -> tuple[WriteResult, TypingBlock]:
        """Puts a prompt into the inbox, at most once: its number is noted before, and never tried again."""
        inbox = self._machine.inbox
        block: TypingBlock = "command" if inbox is None else ""
        if row.op > self._connection.welcome.accepted_op and not block:
            await self._ask_foreground(is_urgent=True)
            block = self._machine.check_write(row.purpose)
        result = await self._connection.write(row.op, b"")
        if result.duplicate:
            return result, "typing"
        if inbox is None or block:
            return result, block
        posted = await post_prompt(inbox, self._actor.state, row.data.decode("utf-8", "replace"))
        return result, _POSTED[posted]

    async def type_keys(self, token: str, data: bytes) -> None:
        """Types what a person typed.

        Raises:
            UsageError: `not_the_writer`.
            HolderError: The holder did not take it; nothing was typed.
        """
        self.viewers.check_writer(token, seat=self._actor.name)
        self._typed_at = time.monotonic()
        await self._connection.type_keys(data)

    async def resize(self, token: str, *, columns: int, rows: int) -> None:
        """Gives the terminal another size; only who has the keyboard may, where somebody has it.

        Raises:
            UsageError: `not_the_writer`.
            HolderError: The holder did not take it.
        """
        if self.viewers.has_writer:
            self.viewers.check_writer(token, seat=self._actor.name)
        await self._connection.resize(columns, rows)

    def open_viewer(self, *, writes: bool, takes_over: bool) -> Viewer:
        """One who looks on from now.

        Raises:
            UsageError: `writer_exists`.
        """
        columns, rows = self._machine.size
        self._owes_redraw = not self._machine.is_at_ground
        return self.viewers.open(
            self._machine.redraw,
            seat=self._actor.name,
            columns=columns,
            rows=rows,
            writes=writes,
            takes_over=takes_over,
        )

    def show_screen(self, *, scrollback: int = 0) -> ScreenView:
        """What is shown now."""
        shown = self._machine.show_screen(seat=self._actor.name, scrollback=scrollback)
        return msgspec.structs.replace(shown, offset=self._link.fed)

    async def explain(self) -> ConsoleExplanation:
        """Why it is believed to be in its state."""
        self._asked_at = 0.0
        await self._ask_foreground()
        explained = self._machine.explain()
        if self.hooks is None:
            return explained
        return msgspec.structs.replace(explained, hooks=self.hooks.heard)

    def close(self) -> None:
        """Ends what viewers see."""
        self.viewers.end()

    async def _look(self) -> None:
        await self._ask_foreground()
        self._note_person()
        self._looked_at = time.monotonic()
        await self._actor.look(self._link, self._machine)
        await self._let_go()

    async def _fit(self, size: TerminalSize) -> None:
        """Gives the screen the size that is in force from the next byte on."""
        columns, rows = size.columns, size.rows
        if self._machine.size != (columns, rows):
            await self._actor.speak(self._link, lambda: self._machine.resize(columns=columns, rows=rows))
            reply = self._machine.take_reply()
            if reply and self._is_caught_up.is_set():
                # A program that asked to be told of its size is told of this one, which no byte of its own asked for.
                await self._connection.type_keys(reply)
            self.viewers.redraw()

    async def _reply(self, offset: int) -> None:
        reply = self._machine.take_reply()
        if reply and offset > self._answered:
            await self._connection.reply(offset, reply)

    async def _await_burst_end(self) -> None:
        latest = time.monotonic() + LOOK_AT_LATEST_S
        while not self._is_urgent and (left_s := latest - time.monotonic()) > 0:
            if self._is_frame_whole and time.monotonic() - self._looked_at >= FRAMES_EVERY_S:
                break
            self._dirty.clear()
            try:
                async with asyncio.timeout(min(BURST_END_S, left_s)):
                    await self._dirty.wait()
            except TimeoutError:
                break
        self._is_urgent = False
        self._dirty.clear()

    async def _let_go(self) -> None:
        """Has the next prompt typed, where one waits and nothing stands in the way."""
        state = self._actor.state
        if state is None or not state.queue or state.in_flight is not None:
            return
        prompt = next_typed(state.queue)
        if prompt is None:
            return
        if set(self._machine.typing_blocks()) <= set(what_is_ignored(prompt)):
            await self._actor.give_surely(ConsoleFree(launch=self._link.launch))

    def _note_person(self) -> None:
        is_typing = self._typed_at is not None and time.monotonic() - self._typed_at < PERSON_TYPES_S
        self._machine.note_person(is_typing=is_typing and self.viewers.has_writer)

    async def _ask_foreground(self, *, is_urgent: bool = False) -> None:
        if not is_urgent and time.monotonic() - self._asked_at < FOREGROUND_EVERY_S:
            return
        self._asked_at = time.monotonic()
        try:
            found = await self._connection.foreground()
        except HolderError as error:
            _log.debug("who has the terminal of launch %s is not known: %s", self._link.launch, error.code)
            return
        self._foreground = ForegroundView(
            is_harness=found.is_harness,
            pid=None if found.leader is None else found.leader.pid,
            name=found.name,
        )
        self._machine.note_foreground(self._foreground)

    def _note_place(self) -> None:
        if self._link.fed >= self._caught_up_at:
            self._is_caught_up.set()


def last_lines(machine: WatchingMachine) -> str:
    """The last that a console showed: what it says when it ends stands where others write to standard error."""
    shown = machine.show_screen(seat="")
    lines = [line for line in shown.lines if line.strip()]
    return "\n".join(lines[-LAST_LINES:])
