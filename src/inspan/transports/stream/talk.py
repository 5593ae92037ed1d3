"""Talk: a machine's state, and what came of the step that is under way."""

from __future__ import annotations

import uuid
from typing import Any, Literal

from inspan import __version__
from inspan.model.content import ProtocolFault
from inspan.model.evidence import Source
from inspan.model.plan import TransportSettings
from inspan.model.reports import PromptAccepted, PromptStarted, Reported
from inspan.model.stream import CallRule, Match, StreamSettings
from inspan.transports.last_words import note_words
from inspan.transports.machine import Outgoing, Step
from inspan.transports.noise import take_noise
from inspan.transports.records.paths import Place

from .state import OpenCall, StreamState
from .templates import encode_line, fill

__all__ = ["Purpose", "Talk", "is_foreign", "is_match", "uuid_of"]

Purpose = Literal["handshake", "session", "prompt", "cancel", "answer", "reply"]

_DELIVERIES = uuid.UUID("7b1f6a0e-8c1d-4c0b-9d53-3f3a5a1f0c9e")


class Talk:
    """Collects reports and messages to write, and keeps the state that goes with them.

    Attributes:
        settings: What the transport was told of the launch.
        state: The durable state; whoever changes it sets `is_changed`.
        is_changed: Whether the state changed in this step.
    """

    def __init__(self, settings: TransportSettings, state: StreamState) -> None:
        self.settings = settings
        self.state = state
        self.is_changed = False
        self._reports: list[Reported] = []
        self._outgoing: list[Outgoing] = []

    @property
    def rules(self) -> StreamSettings:
        """How the harness is spoken to."""
        return self.settings.stream

    def report(self, body: Any, rule: str, *, source: Source = Source.PROTOCOL) -> None:
        """Adds a report."""
        self._reports.append(
            Reported(body=body, source=source, rule=f"stream.{rule}", session=self.state.session)
        )
        if self.settings.reads_last_words and note_words(self.state, body):
            self.is_changed = True

    def fault(self, code: str, message: str, *, is_fatal: bool = False) -> None:
        """Adds a report that the harness broke its protocol."""
        self.report(ProtocolFault(code=code, message=message, fatal=is_fatal), f"fault.{code}")

    def noise(self, line: bytes) -> None:
        """Adds a line that is no record; lines that follow each other make one report."""
        self.report(take_noise(self._reports, line), "noise")

    def name_session(self, session: str, rule: str) -> None:
        """Takes note of the session that a record names; one that is open keeps its identity."""
        state = self.state
        if not session:
            return
        if state.session is None:
            if not state.named:
                state.named = session
                self.is_changed = True
        elif session != state.session:
            self.fault("session_changed", "The harness goes on under another session id than it began with.")

    def accept(self) -> None:
        """Says, once, that the harness took the prompt in flight."""
        state = self.state
        if state.delivery is not None and not (state.is_accepted or state.is_started):
            state.is_accepted = True
            self.is_changed = True
            self.report(PromptAccepted(delivery=state.delivery), "accepts")

    def witness(self, rule: str) -> None:
        """Says, once, that the harness works on the prompt in flight."""
        state = self.state
        if state.delivery is not None and not state.is_started:
            state.is_started = True
            self.is_changed = True
            self.report(PromptStarted(delivery=state.delivery), rule)

    def values(self, **more: Any) -> dict[str, Any]:
        """What the placeholders of a message stand for."""
        settings, state = self.settings, self.state
        known = {
            "session": state.session or state.named or settings.session_id,
            "workspace": settings.workspace,
            "version": __version__,
            "option": settings.config_options,
            "kept": state.kept,
        }
        return {**known, **more}

    def call(self, rule: CallRule, call: OpenCall, purpose: Purpose, **more: Any) -> None:
        """Writes a message; one that is answered is remembered by its id."""
        state = self.state
        number = state.next_id
        ident: int | str = number if self.rules.ids == "number" else str(number)
        message = fill(rule.write, self.values(id=ident, **more))
        self.write(message, purpose, delivery=call.delivery)
        state.next_id = number + 1
        if rule.is_answered:
            state.open_calls = {**state.open_calls, str(number): call}
        self.is_changed = True

    def write(
        self, message: Any, purpose: Purpose, *, delivery: str | None = None, request: str | None = None
    ) -> None:
        """Adds a message to write."""
        data = encode_line(message)
        self._outgoing.append(Outgoing(data=data, purpose=purpose, delivery=delivery, request=request))

    def end_step(self, *, consumed: int = 0) -> Step:
        """Everything since the last step ended."""
        step = Step(
            reports=tuple(self._reports),
            outgoing=tuple(self._outgoing),
            consumed=consumed,
            changed=self.is_changed,
        )
        self._reports, self._outgoing, self.is_changed = [], [], False
        return step


def is_match(match: Match, place: Place) -> bool:
    """Whether a record meets all conditions, of which there must be one."""
    if match == Match():
        return False
    return (
        place.holds(match.when)
        and not place.holds_any(match.unless)
        and all(place.find(path) is not None for path in match.has)
        and all(place.find(path) is None for path in match.lacks)
    )


def uuid_of(delivery: str) -> str:
    """A delivery's id as a UUID, which is the same each time."""
    return str(uuid.uuid5(_DELIVERIES, delivery))


def is_foreign(talk: Talk, place: Place) -> bool:
    """Whether a record says that it is about another session than the one that is open."""
    belongs, session = place.text(talk.rules.belongs), talk.state.session
    return bool(belongs) and session is not None and belongs != session
