"""Acting on a real console through the service: send, hold, answer, interrupt, and what reached the model for it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

from inspan.model.delivery import DeliveryState, HeldReason
from inspan.model.permission import NeedsInputKind
from inspan.model.turn import TurnOutcome
from inspan.model.views import AnswerPermission, DeliveryView, PermissionView, SeatView, SendPrompt
from inspan.seats.core import Seats
from support.live.acting_consoles import ActingConsole
from support.live.console_seats import ENTER, SEAT, ConsoleSeats

__all__ = ["Acting", "is_free", "is_open"]

_DEADLINE_S = 60.0
_POLL_S = 0.02
_READ_S = 1.0
"""How long a person reads what is asked."""

SEEN = {DeliveryState.RENDERED, DeliveryState.STARTED}
"""How far a prompt got whose turn ended: its harness may have a witness of it, or none."""


class Acting:
    """One seat on a real console, while one service is open.

    Args:
        ground: The home and the arena.
        console: What is known of the harness's console.
        seats: The service.
    """

    def __init__(self, ground: ConsoleSeats, console: ActingConsole, seats: Seats) -> None:
        self.ground = ground
        self.console = console
        self.seats = seats

    async def add(self) -> None:
        """Adds the seat, in the posture of the walk."""
        walk = self.console.walk
        await self.ground.add(self.seats, walk.posture, trusts_workspace=walk.is_gated)

    async def start(self) -> SeatView:
        """Starts the seat and waits until a prompt may be typed."""
        await self.seats.start_seat(SEAT)
        return await self.until(is_free, "free")

    async def start_after_kill(self) -> SeatView:
        """As `start`; a person says that the conversation is in use by nobody, where the harness asks."""
        await self.seats.start_seat(SEAT)
        if self.console.doubts_kill:
            view = await self.until(lambda v: is_free(v) or _is_questioned(v), "free or asking")
            if _is_questioned(view):
                await self.ground.press(self.seats, ENTER)
        return await self.until(is_free, "free")

    async def send(self, text: str) -> DeliveryView:
        """Gives a prompt to the seat."""
        return await self.seats.send_prompt(SEAT, SendPrompt(text=text))

    async def ask(self, text: str, outcome: TurnOutcome = TurnOutcome.COMPLETED) -> DeliveryView:
        """Sends a prompt and waits for its turn's end, which is as wanted."""
        return await self.ended(await self.send(text), outcome)

    async def ended(self, sent: DeliveryView, outcome: TurnOutcome = TurnOutcome.COMPLETED) -> DeliveryView:
        """The delivery once its turn ended, as wanted."""
        await self.until_delivery(sent, lambda found: found.turn_outcome is not None, "ended")
        found = await self.seats.get_delivery(sent.id)
        assert (found.turn_outcome, found.state in SEEN) == (outcome, True), await self.tell(str(found))
        return found

    async def until(self, holds: Callable[[SeatView], bool], what: str) -> SeatView:
        """The seat's view, once it is as wanted."""
        return await self.ground.until(self.seats, holds, what)

    async def until_delivery(
        self, sent: DeliveryView, holds: Callable[[DeliveryView], bool], what: str
    ) -> DeliveryView:
        """A delivery, once it is as wanted."""
        found = await self.seats.get_delivery(sent.id)
        try:
            async with asyncio.timeout(_DEADLINE_S):
                while not holds(found):
                    await asyncio.sleep(_POLL_S)
                    found = await self.seats.get_delivery(sent.id)
        except TimeoutError:
            raise AssertionError(await self.tell(f"not {what}: {found}")) from None
        return found

    async def until_held(self, sent: DeliveryView, why: HeldReason) -> None:
        """Waits until a prompt is held for this reason."""

        def is_held(view: SeatView) -> bool:
            return any((one.id, one.held) == (sent.id, why) for one in view.queue)

        await self.until(is_held, f"held: {why}")

    async def check_waits(self, sent: DeliveryView) -> None:
        """A prompt waits while the turn before it asks something; nothing of it was typed."""
        view = await self.until(lambda v: v.status == "needs_input", "a dialog")
        assert [one.id for one in view.queue] == [sent.id]
        assert view.in_flight is not None, await self.tell(str(view))
        assert view.in_flight.id != sent.id

    async def until_asked(self) -> PermissionView:
        """The permission request that is open, once there is one that stands: while it is drawn it may change."""
        await self.until(lambda view: view.status == "needs_input", "asking")
        found: list[PermissionView] = []

        async def look() -> bool:
            found[:] = [one for one in await self.seats.list_permissions() if is_open(one)]
            return bool(found)

        since, seen = 0.0, ""
        clock = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout(_DEADLINE_S):
                while not await look() or seen != found[0].id or clock() - since < _READ_S:
                    if found and seen != found[0].id:
                        since, seen = clock(), found[0].id
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            raise AssertionError(await self.tell("no permission is asked for")) from None
        assert len(found) == 1, found
        return found[0]

    async def answer(self, request: PermissionView, answer: AnswerPermission) -> None:
        """Answers a permission request."""
        await self.seats.answer_permission(request.id, answer)

    async def kill(self) -> SeatView:
        """Kills the harness with all that it started, as a machine out of memory would."""
        view = await self.seats.get_seat(SEAT)
        assert view.launch is not None
        assert view.launch.pid is not None
        os.killpg(view.launch.pid, signal.SIGKILL)
        return await self.until(lambda v: v.launch is not None and v.launch.status == "ended", "ended")

    def reached(self, tag: str) -> list[str]:
        """The newest user messages of the turns that the model was asked for, where `tag` is in them."""
        turns = self.ground.arena.model.turns()
        newest = [self.console.said(turn) for turn in turns if not turn["has_tool_result"]]
        return [text for text in newest if tag in text]

    def check_never_doubled(self, *tags: str) -> None:
        """In no conversation that the model was told does a prompt stand twice."""
        for turn in self.ground.arena.model.turns():
            told = "\n".join(turn["user_texts"])
            for tag in tags:
                assert told.count(tag) <= 1, turn["user_texts"]

    async def until_reached(self, tag: str) -> None:
        """Waits until the model was asked with `tag`, and its turn is seen to run."""
        await self.until(
            lambda view: view.status == "running" and bool(self.reached(tag)), f"asked for {tag}"
        )

    async def check_reached(self, tag: str, wanted: list[str]) -> None:
        """The texts with `tag` reached the model once each, in this order, letter for letter."""
        found = self.reached(tag)
        assert found == wanted, await self.tell(f"{tag}: {found}")

    async def tell(self, what: str) -> str:
        """What is known where something went wrong."""
        said = "\n".join(map(str, await self.ground.verdicts()))
        lines = ["no screen"]
        if self.seats.actor(SEAT).console is not None:
            shown = await self.seats.show_screen(SEAT)
            lines = [line for line in shown.lines if line.strip()]
        model = [str(turn["user_texts"]) for turn in self.ground.arena.model.turns()]
        permissions = map(str, await self.seats.list_permissions(include_closed=True))
        return "\n".join([what, said, *permissions, *lines, *model])


def is_free(view: SeatView) -> bool:
    """Whether a prompt may be typed."""
    return view.console is not None and view.console.can_type and not view.console.typing_block


def _is_questioned(view: SeatView) -> bool:
    return [one.kind for one in view.needs_input] == [NeedsInputKind.QUESTION]


def is_open(request: PermissionView) -> bool:
    """Whether it waits for an answer."""
    return request.decision is None
