"""Saying: a machine's state, and what came of the step that is under way."""

from __future__ import annotations

from typing import Any

from inspan.model.content import ProtocolFault
from inspan.model.evidence import Source
from inspan.model.plan import TransportSettings
from inspan.model.reports import PromptAccepted, PromptStarted, Reported, SessionReady
from inspan.model.session import OpenedHow
from inspan.transports.last_words import note_words
from inspan.transports.machine import Outgoing, Step
from inspan.transports.noise import take_noise

from .state import HeadlessState

__all__ = ["Saying"]


class Saying:
    """Collects reports and keeps the state that goes with them.

    Attributes:
        settings: What the transport was told of the launch.
        state: The durable state; whoever changes it sets `is_changed`.
        is_changed: Whether the state changed in this step.
    """

    def __init__(self, settings: TransportSettings, state: HeadlessState) -> None:
        self.settings = settings
        self.state = state
        self.is_changed = False
        self._reports: list[Reported] = []
        self._outgoing: list[Outgoing] = []

    def report(self, body: Any, rule: str, *, source: Source = Source.PROTOCOL) -> None:
        """Adds a report."""
        self._reports.append(
            Reported(body=body, source=source, rule=f"headless.{rule}", session=self.state.session)
        )
        if self.settings.reads_last_words and note_words(self.state, body):
            self.is_changed = True

    def fault(self, code: str, message: str, *, is_fatal: bool = False) -> None:
        """Adds a report that the harness broke its format."""
        self.report(ProtocolFault(code=code, message=message, fatal=is_fatal), f"fault.{code}")

    def noise(self, line: bytes) -> None:
        """Adds a line that is no record; lines that follow each other make one report."""
        self.report(take_noise(self._reports, line), "noise")

    def write(self, outgoing: Outgoing) -> None:
        """Adds bytes to write."""
        self._outgoing.append(outgoing)

    def name_session(self, session: str, rule: str) -> None:
        """Says which session it is, once; an id that changes later in the same run is not believed."""
        state = self.state
        if not session or state.session is not None:
            return
        state.session = session
        self.is_changed = True
        wanted, attempt = self.settings.session_id, self.settings.attempt
        how = {"fresh": OpenedHow.NEW, "resume": OpenedHow.RESUMED, "fork": OpenedHow.FORKED}[attempt]
        if attempt == "resume" and wanted is not None and session != wanted:
            self.fault(
                "session_changed", "The harness answers under another session id than the one to resume."
            )
        self.report(SessionReady(session_id=session, how=how), rule)

    def accept(self) -> None:
        """Says, once, that the harness took its prompt."""
        state = self.state
        if (
            state.phase == "prompted"
            and not (state.is_accepted or state.is_started)
            and state.delivery is not None
        ):
            state.is_accepted = True
            self.is_changed = True
            self.report(PromptAccepted(delivery=state.delivery), "accepts")

    def witness(self, rule: str) -> None:
        """Says, once, that the harness works on its prompt."""
        state = self.state
        if state.phase == "prompted" and not state.is_started and state.delivery is not None:
            state.is_started = True
            self.is_changed = True
            self.report(PromptStarted(delivery=state.delivery), rule)

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
