"""The service that the daemon serves: every operation on seats, as one typed surface.

`inspan.seats.core.Seats` fulfils it. Every method that changes something returns only after its events are
durable. Errors are `InspanError`s; none of them leaves anything half done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from inspan.model.console_views import PressKeys, ResizeTerminal, ScreenView
from inspan.model.plan import ProbeResult
from inspan.model.resource_views import ResourcesView
from inspan.model.session_views import (
    AnswerQuestion,
    ConfigureSeat,
    DeletedSession,
    DeleteSession,
    ForkSeat,
    QuestionView,
    SessionsView,
)
from inspan.model.views import (
    AddSeat,
    AnswerPermission,
    DeliveryView,
    ExplainView,
    HarnessView,
    PermissionView,
    SeatView,
    SendPrompt,
    TurnView,
)

from .hook_service import HookService
from .request_service import RequestService

__all__ = ["SeatService", "TerminalViewer"]


class TerminalViewer(Protocol):
    """One who looks at a terminal.

    Attributes:
        token: What proves that this viewer may type; empty for one that only looks on.
        columns: Width of the terminal when it was opened.
        rows: Its height.
        was_replaced: Another one took the keyboard.
    """

    token: str
    columns: int
    rows: int
    was_replaced: bool

    async def read(self) -> bytes | None:
        """The next piece of what draws the terminal, the whole screen first; `None` at the end."""
        ...

    def redraw(self) -> None:
        """Shows the whole screen again, in place of what was not read yet."""
        ...

    def close(self) -> None:
        """Looks on no more, and gives the keyboard back. May be called twice."""
        ...


class SeatService(RequestService, HookService, Protocol):
    """What can be asked of Inspan. Lists come in the order in which things were made."""

    async def list_harnesses(self) -> Sequence[HarnessView]:
        """All harnesses that are registered, with what keeps one from being used."""
        ...

    async def get_harness(self, harness: str) -> HarnessView:
        """One harness. Raises `unknown_harness`."""
        ...

    async def probe_harness(self, harness: str) -> ProbeResult:
        """Asks the installed program what it is; no model call."""
        ...

    async def list_resources(
        self, harness: str, workspace: str, *, resource: str | None = None
    ) -> ResourcesView:
        """Where a harness reads guidance, skills and the like in a workspace, and what lies there.

        With `resource`, where one of that name is or would be. Raises `unknown_harness`, `workspace_missing`.
        """
        ...

    async def add_seat(self, request: AddSeat) -> SeatView:
        """Makes a seat. Raises `seat_exists`, `unknown_harness`, `unknown_mode`, `workspace_missing`, …"""
        ...

    async def list_seats(self) -> Sequence[SeatView]:
        """All seats that were not removed."""
        ...

    async def get_seat(self, name: str) -> SeatView:
        """One seat. Raises `unknown_seat`."""
        ...

    async def remove_seat(self, name: str, *, stop: bool = False, delete_config: bool = False) -> SeatView:
        """Removes a seat; its history stays. Raises `seat_running` unless `stop`.

        With `delete_config`, its own configuration folder goes too, unless another seat uses it.
        """
        ...

    async def start_seat(self, name: str, *, fresh: bool = False, session: str | None = None) -> SeatView:
        """Starts the seat's harness and resumes its conversation, or begins a new one with `fresh`.

        With `session`, that conversation of the harness's is taken up instead, and becomes the seat's own once
        it is open. Returns once the launch is decided on, not once it is ready. Raises `session_in_use`.
        """
        ...

    async def fork_seat(self, name: str, request: ForkSeat) -> SeatView:
        """Makes a seat like this one, whose first launch begins with a fork of this one's conversation.

        Raises `unsupported_capability`, `session_missing`, `seat_exists`.
        """
        ...

    async def configure_seat(self, name: str, request: ConfigureSeat) -> SeatView:
        """Asks for a mode, a model or options of the open session; the view says what came of it so far.

        Raises `seat_not_running`, `option_unknown`, `unsupported_capability`.
        """
        ...

    async def list_sessions(
        self, name: str, *, page: str | None = None, workspace: str | None = None
    ) -> SessionsView:
        """A page of the sessions that the seat's running harness keeps.

        Raises `seat_not_running`, `unsupported_capability`, `call_timeout`, or what the harness answered.
        """
        ...

    async def delete_session(self, name: str, request: DeleteSession) -> DeletedSession:
        """Has the seat's running harness delete a session that no seat holds on to.

        Raises `session_in_use`, and as `list_sessions`.
        """
        ...

    async def list_questions(self, *, seat: str | None = None) -> Sequence[QuestionView]:
        """The open questions, the oldest first."""
        ...

    async def get_question(self, request: str) -> QuestionView:
        """One open question. Raises `unknown_question`."""
        ...

    async def answer_question(self, request: str, answer: AnswerQuestion) -> QuestionView:
        """Answers an open question, once. Raises `unknown_question`, `question_closed`, `answer_invalid`."""
        ...

    async def stop_seat(self, name: str) -> SeatView:
        """Stops the seat's harness in steps. The queue is kept. Stopping a stopped seat does nothing."""
        ...

    async def send_prompt(self, name: str, request: SendPrompt, *, peer: int | None = None) -> DeliveryView:
        """Accepts a prompt into the seat's queue, once per id. Starts the harness where none runs.

        `peer` is the process at the other end of the connection: where a seat's harness started it, the prompt is
        stamped with that seat.

        Raises `delivery_conflict` where the id was used with another text or seat.
        """
        ...

    async def list_deliveries(self, name: str, *, limit: int = 100) -> Sequence[DeliveryView]:
        """The newest deliveries of a seat."""
        ...

    async def get_delivery(self, delivery: str) -> DeliveryView:
        """One delivery. Raises `unknown_delivery`."""
        ...

    async def withdraw_delivery(self, delivery: str) -> DeliveryView:
        """Takes a prompt out of the queue. Raises `delivery_final` where it went out already."""
        ...

    async def release_seat(self, name: str) -> SeatView:
        """Lets prompts go on that were held since they would have failed as the one before.

        Raises `nothing_held`.
        """
        ...

    async def cancel_turn(self, name: str) -> SeatView:
        """Asks the harness to stop the turn that runs; the view shows the queue, which is kept.

        Raises `no_turn`.
        """
        ...

    async def list_turns(self, name: str, *, limit: int = 100) -> Sequence[TurnView]:
        """The newest turns of a seat."""
        ...

    async def get_turn(self, turn: str) -> TurnView:
        """One turn. Raises `unknown_turn`."""
        ...

    async def list_permissions(
        self, *, seat: str | None = None, include_closed: bool = False
    ) -> Sequence[PermissionView]:
        """Permission requests: the open ones, or all."""
        ...

    async def get_permission(self, request: str) -> PermissionView:
        """One permission request. Raises `unknown_permission`."""
        ...

    async def answer_permission(self, request: str, answer: AnswerPermission) -> PermissionView:
        """Answers an open request, once.

        Raises `permission_closed` where it was answered (the same answer again included),
        `permission_of_other_seat`, `permission_option_unknown`.
        """
        ...

    async def explain_seat(self, name: str) -> ExplainView:
        """Why the seat shows what it shows."""
        ...

    # Terminals

    async def show_screen(self, name: str, *, scrollback: int = 0) -> ScreenView:
        """What the seat's terminal shows, with so many of the lines above it. Raises `no_terminal`."""
        ...

    async def view_terminal(
        self, name: str, *, writes: bool = False, takes_over: bool = False
    ) -> TerminalViewer:
        """Attaches to the seat's terminal, until the viewer is closed.

        Args:
            name: The seat.
            writes: The viewer wants the keyboard; one has it at a time.
            takes_over: It takes the keyboard from who has it.

        Raises:
            UsageError: `no_terminal`, `writer_exists`.
        """
        ...

    async def type_keys(self, name: str, *, writer: str, keys: bytes) -> None:
        """Types what a person typed, who proves by `writer` to have the keyboard. Nothing of it is kept.

        Raises `no_terminal`, `not_the_writer`.
        """
        ...

    async def press_keys(self, name: str, request: PressKeys) -> SeatView:
        """Has keys pressed in the seat's console, whatever is seen there; recorded first. Raises `no_terminal`."""
        ...

    async def resize_terminal(self, name: str, request: ResizeTerminal, *, writer: str = "") -> None:
        """Gives the terminal another size. Raises `no_terminal`, `not_the_writer`."""
        ...
