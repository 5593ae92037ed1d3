"""Exchange: a machine's state, and what came of the step that is under way."""

from __future__ import annotations

from typing import Any, Literal

from inspan.model.content import ProtocolFault
from inspan.model.evidence import Source
from inspan.model.plan import TransportSettings
from inspan.model.reports import Reported
from inspan.transports.last_words import forget_words, note_words
from inspan.transports.machine import Outgoing, Step
from inspan.transports.noise import take_noise

from .state import AcpState, OpenCall
from .wire import encode_message

__all__ = ["Exchange", "Purpose"]

Purpose = Literal["handshake", "session", "prompt", "cancel", "answer", "reply"]


class Exchange:
    """Collects reports and bytes to write, and keeps the state that goes with them.

    Attributes:
        settings: What the transport was told of the launch.
        state: The durable state; whoever changes it sets `is_changed`.
        is_changed: Whether the state changed in this step.
    """

    def __init__(self, settings: TransportSettings, state: AcpState) -> None:
        self.settings = settings
        self.state = state
        self.is_changed = False
        self._reports: list[Reported] = []
        self._outgoing: list[Outgoing] = []

    def report(self, body: Any, rule: str, *, session: str | None = None) -> None:
        """Adds a report."""
        self._reports.append(Reported(body=body, source=Source.PROTOCOL, rule=rule, session=session))
        if self.settings.reads_last_words and note_words(self.state, body):
            self.is_changed = True

    def fault(self, code: str, message: str, *, is_fatal: bool = False) -> None:
        """Adds a report that the harness broke its protocol."""
        body = ProtocolFault(code=code, message=message, fatal=is_fatal)
        self.report(body, f"acp.fault.{code}")

    def noise(self, line: bytes) -> None:
        """Adds a line that belongs to no message; lines that follow each other make one report."""
        self.report(take_noise(self._reports, line), "acp.noise")

    def call(self, call: OpenCall, method: str, params: dict[str, Any], *, purpose: Purpose) -> None:
        """Writes a request and remembers what it is for."""
        state = self.state
        number = state.next_id
        self.write(
            encode_message(id=number, method=method, params=params), purpose=purpose, delivery=call.delivery
        )
        state.next_id = number + 1
        self.open_call(str(number), call)

    def open_call(self, key: str, call: OpenCall) -> None:
        """Remembers a request that was written."""
        state = self.state
        state.calls[key] = call
        if call.kind in ("load", "resume", "fork"):
            state.replay, state.has_replayed, state.has_ended_replay = "opening", False, False
        if call.kind == "prompt" and call.session == state.session:
            state.unwitnessed = key
            state.rejecting, state.has_rejected = (), False
            forget_words(state)
        self.is_changed = True

    def note_answer(self, option: str | None) -> None:
        """Remembers whether the answer to a permission request was a rejection."""
        if option is not None and option in self.state.rejecting:
            self.state.has_rejected = True
            self.is_changed = True

    def answer_theirs(
        self,
        wire_id: str,
        *,
        result: Any = None,
        error: dict[str, Any] | None = None,
        purpose: Purpose = "reply",
    ) -> None:
        """Writes an answer to a request of the harness."""
        data = encode_message(id=wire_id, result=result, error=error)
        self.write(data, purpose=purpose, request=wire_id if purpose == "answer" else None)

    def write(
        self, data: bytes, *, purpose: Purpose, delivery: str | None = None, request: str | None = None
    ) -> None:
        """Adds bytes to write."""
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
