"""The `memory` transport: a scripted wire for tests of the rooms above, with nothing to interpret.

Each line from the harness's side is the JSON of a list of `Reported`, which is said as it stands. Each line to
it is a JSON object: `{"op": "start", "attempt", "session"}`, `{"op": "prompt", "delivery", "text"}`,
`{"op": "cancel"}` or `{"op": "answer", "request", "option"}`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from inspan.model.content import Noise, ProtocolFault
from inspan.model.evidence import Source
from inspan.model.plan import TransportSettings
from inspan.model.reports import PermissionRequested, PermissionWithdrawn, PromptAnswered, Reported
from inspan.transports.machine import HarnessEnd, Outgoing, Step

__all__ = ["MemoryMachine", "encode_reports"]

_decode_reports = msgspec.json.Decoder(tuple[Reported, ...]).decode


class _State(msgspec.Struct, kw_only=True):
    open_prompts: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()


class MemoryMachine:
    """`inspan.transports.machine.Machine` that says what a test feeds it.

    Attributes:
        prompts: The delivery and text of each prompt of this machine, in order; not part of the snapshot.
    """

    def __init__(self, settings: TransportSettings, *, snapshot: bytes | None = None) -> None:
        self._settings = settings
        self._state = _State() if snapshot is None else _read(snapshot)
        self._held = b""
        self.prompts: list[tuple[str, str]] = []

    def start(self) -> Step:
        """Writes `start`."""
        settings = self._settings
        return _step(
            "handshake", {"op": "start", "attempt": settings.attempt, "session": settings.session_id}
        )

    def feed(self, data: bytes) -> Step:
        """Says the reports of every whole line; a line of another shape is noise."""
        before = self.snapshot()
        held = self._held + data
        whole, newline, self._held = held.rpartition(b"\n")
        reports: list[Reported] = []
        for line in whole.split(b"\n") if newline else ():
            if line.strip():
                reports += self._read_line(line)
        return Step(
            reports=tuple(reports),
            consumed=len(held) - len(self._held),
            changed=self.snapshot() != before,
        )

    def finish(self) -> Step:
        """Reports the beginning of a line as `truncated`."""
        cut, self._held = self._held, b""
        if not cut:
            return Step()
        fault = ProtocolFault(code="truncated", message="The output ends within a line.")
        report = Reported(body=fault, source=Source.PROTOCOL, rule="memory.fault.truncated")
        return Step(reports=(report,), consumed=len(cut))

    def end(self, end: HarnessEnd) -> Step:
        """Says nothing."""
        return Step()

    def prompt(self, delivery: str, text: str) -> Step:
        """Writes `prompt`."""
        self.prompts.append((delivery, text))
        self._state.open_prompts = (*self._state.open_prompts, delivery)
        body = {"op": "prompt", "delivery": delivery, "text": text}
        return _step("prompt", body, delivery=delivery, changed=True)

    def cancel(self) -> Step:
        """Writes `cancel`; an empty step where no prompt is open."""
        return _step("cancel", {"op": "cancel"}) if self._state.open_prompts else Step()

    def answer(self, wire_id: str, option: str | None) -> Step:
        """Writes `answer`; an empty step where no request of that id is open."""
        if wire_id not in self._state.permissions:
            return Step()
        self._state.permissions = _without(self._state.permissions, wire_id)
        body = {"op": "answer", "request": wire_id, "option": option}
        return _step("answer", body, request=wire_id, changed=True)

    def snapshot(self) -> bytes:
        """Open prompts and permission requests, as JSON."""
        return msgspec.json.encode(self._state)

    def rollback(self, snapshot: bytes) -> None:
        """Returns to an earlier snapshot."""
        self._state = _read(snapshot)
        self._held = b""

    def _read_line(self, line: bytes) -> tuple[Reported, ...]:
        try:
            reports = _decode_reports(line)
        except (msgspec.DecodeError, RecursionError):
            sample = line[:200].decode("utf-8", errors="replace")
            noise = Reported(body=Noise(lines=1, sample=sample), source=Source.PROTOCOL, rule="memory.noise")
            return (noise,)
        state = self._state
        for report in reports:
            match report.body:
                case PermissionRequested(wire_id=wire_id):
                    state.permissions = (*_without(state.permissions, wire_id), wire_id)
                case PermissionWithdrawn(wire_id=wire_id):
                    state.permissions = _without(state.permissions, wire_id)
                case PromptAnswered(delivery=delivery):
                    state.open_prompts = _without(state.open_prompts, delivery)
                case _:
                    pass
        return reports


def encode_reports(*reports: Reported) -> bytes:
    """The line that makes a `MemoryMachine` say these reports."""
    return msgspec.json.encode(reports) + b"\n"


def _read(snapshot: bytes) -> _State:
    return msgspec.json.decode(snapshot, type=_State)


def _without(values: tuple[str, ...], value: str) -> tuple[str, ...]:
    return tuple(one for one in values if one != value)


def _step(
    purpose: Literal["handshake", "prompt", "cancel", "answer"],
    body: dict[str, Any],
    *,
    delivery: str | None = None,
    request: str | None = None,
    changed: bool = False,
) -> Step:
    data = msgspec.json.encode(body) + b"\n"
    outgoing = Outgoing(data=data, purpose=purpose, delivery=delivery, request=request)
    return Step(outgoing=(outgoing,), changed=changed)
