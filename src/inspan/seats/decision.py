"""A decision in the making: the state so far, and the events that were decided on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from inspan.model.capability import Capabilities
from inspan.model.diagnosis import TurnTextFailure
from inspan.model.errors import UsageError
from inspan.model.events import Event, EventDraft
from inspan.model.evidence import Source
from inspan.model.evolving import evolve
from inspan.model.session import Provenance
from inspan.model.state import InFlight, LaunchState, SeatState
from inspan.model.typing_recipe import TypingBlock

__all__ = ["Context", "Decision"]


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a decision depends on besides the state and the input.

    Attributes:
        now: The time of the decision, aware UTC.
        new_id: Makes a fresh id with a prefix.
        capabilities: What the seat's mode can do.
        resume_type: The form of the harness's session ids.
        provenance: Where they come from.
        prompt_cap_bytes: The largest prompt, in bytes of UTF-8.
        turn_text_failures: How the last words of a turn that ended well tell that it did not.
        model_option: The session option by which the model is chosen, as the manifest says.
        is_wake_expensive: A start costs so much that core makes none by itself.
        is_one_shot: The mode runs its harness once for each prompt.
        is_watched: The mode shows the harness's own console.
        can_type: Somebody said how a prompt is typed into it.
        takes_text_while_running: It takes text that is submitted during a turn.
        typed_commands: The characters by which it knows a text for a command of its own.
        typing_blocks: Why nothing may be typed into it now, the strongest first.
    """

    now: datetime
    new_id: Callable[[str], str]
    capabilities: Capabilities = Capabilities()
    resume_type: str = ""
    provenance: Provenance = Provenance.REPORTED
    prompt_cap_bytes: int = 16 * 1024 * 1024
    turn_text_failures: tuple[TurnTextFailure, ...] = ()
    model_option: str = ""
    is_wake_expensive: bool = False
    is_one_shot: bool = False
    is_watched: bool = False
    can_type: bool = False
    takes_text_while_running: bool = False
    typed_commands: str = ""
    typing_blocks: tuple[TypingBlock, ...] = ("not_ready",)


class Decision:
    """Collects events and folds each at once, so that the next rule sees what the last one decided."""

    def __init__(self, name: str, state: SeatState | None, context: Context) -> None:
        self.name = name
        self.state = state
        self.context = context
        self.drafts: list[EventDraft] = []

    @property
    def seat(self) -> SeatState:
        """The state of a seat that exists.

        Raises:
            UsageError: `unknown_seat`.
        """
        if self.state is None or self.state.removed:
            raise UsageError(
                f"There is no seat {self.name!r}.",
                code="unknown_seat",
                hint="`inspan seat list` shows the seats.",
                detail={"seat": self.name},
            )
        return self.state

    @property
    def launch(self) -> LaunchState | None:
        """The live launch."""
        return None if self.state is None else self.state.live_launch

    @property
    def flight(self) -> InFlight | None:
        """The prompt that is with the harness."""
        return None if self.state is None else self.state.in_flight

    def emit(
        self,
        event: Event,
        *,
        source: Source,
        rule: str,
        launch: str | None = None,
        session: str | None = None,
        in_turn: bool = True,
    ) -> None:
        """Decides on an event.

        Args:
            event: The event.
            source: Whose evidence it rests on.
            rule: The rule or command behind it.
            launch: The launch that it belongs to; the live one where not given.
            session: The session id that the wire named; the seat's open one where not given.
            in_turn: Whether it belongs to the open turn, if there is one.
        """
        state = self.state
        if launch is None and state is not None and state.live_launch is not None:
            launch = state.live_launch.id
        if session is None and state is not None and state.session_open and state.session is not None:
            session = state.session.id
        turn = getattr(event, "turn", None)
        if turn is None and in_turn and state is not None and state.in_flight is not None:
            turn = state.in_flight.turn
        draft = EventDraft(
            at=self.context.now,
            seat=self.name,
            source=source,
            rule=rule,
            event=event,
            launch=launch,
            session=session,
            turn=turn,
        )
        self.drafts.append(draft)
        self.state = evolve(state, draft)
