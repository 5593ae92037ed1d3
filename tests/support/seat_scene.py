"""A seat on paper: feeds inputs to the pure decider and folds what it decides."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TypeVar

from inspan.model.capability import Capabilities, Claim, Support
from inspan.model.content import MessageChunk
from inspan.model.events import Event, EventDraft, PermissionOpened
from inspan.model.evidence import Source
from inspan.model.evolving import evolve
from inspan.model.permission import OptionKind, PermissionOption, ToolCall
from inspan.model.posture import Posture
from inspan.model.reports import (
    Connected,
    PermissionRequested,
    PromptAnswered,
    PromptStarted,
    ReportBody,
    Reported,
    SessionReady,
)
from inspan.model.session import OpenedHow
from inspan.model.state import SeatState
from inspan.model.turn import TurnOutcome
from inspan.seats.decide import decide
from inspan.seats.decision import Context
from inspan.seats.inputs import (
    AddSeat,
    HolderUp,
    Input,
    LaunchPlanned,
    QueuePrompt,
    TransportReported,
    WriteEnded,
)

__all__ = ["ALL", "OPTIONS", "NotFoundError", "Scene", "claims"]

YES = Claim(support=Support.SUPPORTED)
NO = Claim(support=Support.UNSUPPORTED)
ALL = Capabilities(
    launch=YES,
    resume=YES,
    fork=YES,
    activity=YES,
    permission_report=YES,
    permission_answer=YES,
    cancel=YES,
    context_usage=YES,
)
OPTIONS = (
    PermissionOption(id="always", name="Always", kind=OptionKind.ALLOW_ALWAYS, raw_kind="allow_always"),
    PermissionOption(id="once", name="Once", kind=OptionKind.ALLOW_ONCE, raw_kind="allow_once"),
    PermissionOption(id="once-and-more", name="Once+", kind=OptionKind.ALLOW_ONCE, raw_kind="allow_once"),
    PermissionOption(id="no", name="Reject", kind=OptionKind.REJECT_ONCE, raw_kind="reject_once"),
)
"""The standing option first and two of one kind, as real harnesses offer them."""

E = TypeVar("E")


class NotFoundError(LookupError):
    """No event of the wanted type was decided on."""


def claims(**changes: Claim) -> Capabilities:
    """All capabilities, with some of them changed."""
    values = {name: getattr(ALL, name) for name in ALL.__struct_fields__}
    return Capabilities(**{**values, **changes})


class Scene:
    """One seat with its log."""

    def __init__(
        self, *, posture: Posture | None = None, capabilities: Capabilities = ALL, one_shot: bool = False
    ) -> None:
        self.name = "worker"
        self.capabilities = capabilities
        self.one_shot = one_shot
        self.now = datetime(2026, 11, 30, 12, tzinfo=UTC)
        self.state: SeatState | None = None
        self.log: list[EventDraft] = []
        self._ids = 0
        self.give(AddSeat(harness="made-up", mode="acp", workspace="/w", posture=posture or Posture()))

    @property
    def seat(self) -> SeatState:
        assert self.state is not None
        return self.state

    @property
    def launch(self) -> str:
        assert self.seat.launch is not None
        return self.seat.launch.id

    def context(self) -> Context:
        return Context(
            now=self.now,
            new_id=self._new_id,
            capabilities=self.capabilities,
            resume_type="made-up.session",
            is_one_shot=self.one_shot,
        )

    def give(self, given: Input) -> list[Event]:
        """Decides, folds, and returns the events."""
        self.now += timedelta(seconds=1)
        drafts = decide(self.name, self.state, given, self.context())
        for draft in drafts:
            self.state = evolve(self.state, draft)
        self.log.extend(drafts)
        return [draft.event for draft in drafts]

    def report(self, body: ReportBody, *, launch: str | None = None) -> list[Event]:
        reported = Reported(body=body, source=Source.PROTOCOL, rule="test.rule", session="s-1")
        return self.give(TransportReported(launch=launch or self.launch, reported=reported))

    def send(self, delivery: str = "d-1", text: str = "hello") -> list[Event]:
        return self.give(QueuePrompt(delivery=delivery, text=text))

    def connect(self) -> None:
        """From a requested launch to a harness that runs and is being asked for a session."""
        self.give(
            LaunchPlanned(
                launch=self.launch,
                nonce="n",
                directory="/d",
                program="/bin/x",
                arguments=(),
                transport="acp",
            )
        )
        self.give(HolderUp(launch=self.launch, pid=10, holder_pid=9))
        self.report(Connected(protocol_version=1, harness_name="Made Up", offers=("resume",)))

    def open_session(self, session: str = "s-1") -> list[Event]:
        self.connect()
        return self.report(SessionReady(session_id=session, how=OpenedHow.NEW))

    def running(self, delivery: str = "d-1") -> Scene:
        """A seat in the middle of a turn."""
        self.send(delivery)
        self.open_session()
        self.wrote(delivery)
        self.report(PromptStarted(delivery=delivery))
        self.report(MessageChunk(role="agent", text="Hel"))
        return self

    def wrote(self, delivery: str = "d-1") -> list[Event]:
        return self.give(WriteEnded(launch=self.launch, delivery=delivery, result="done"))

    def answered(
        self, delivery: str = "d-1", outcome: TurnOutcome = TurnOutcome.COMPLETED, reason: str = "end_turn"
    ) -> list[Event]:
        return self.report(PromptAnswered(delivery=delivery, outcome=outcome, raw_reason=reason))

    def ask(
        self, wire_id: str = "0", kind: str = "execute", options: tuple[PermissionOption, ...] = OPTIONS
    ) -> str:
        """The harness asks for permission; the id of the request."""
        self.report(
            PermissionRequested(
                wire_id=wire_id, tool_call=ToolCall(id="c-1", title="rm it", kind=kind), options=options
            )
        )
        return self.last(PermissionOpened).request

    def last(self, kind: type[E]) -> E:
        """The newest event of a type."""
        for draft in reversed(self.log):
            if isinstance(draft.event, kind):
                return draft.event
        raise NotFoundError(kind.__name__)

    def count(self, kind: type[object]) -> int:
        return sum(isinstance(draft.event, kind) for draft in self.log)

    def _new_id(self, prefix: str) -> str:
        self._ids += 1
        return f"{prefix}-{self._ids}"
