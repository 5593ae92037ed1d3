"""A talker: a machine of the `stream` transport whose harness is the test, in one of three dialects."""

from __future__ import annotations

import json
from typing import Any

from inspan.model.plan import Attempt, TransportSettings
from inspan.model.reports import ReportBody
from inspan.transports.machine import HarnessEnd, Step
from inspan.transports.stream import StreamMachine

from .stream_ground import mode_of

__all__ = ["OPENING", "SESSION", "Talker", "opened"]

Json = dict[str, Any]

SESSION = "11111111-2222-4333-8444-555555555555"
OPENING: dict[str, tuple[Json, ...]] = {
    "rpc": (
        {"id": 1, "result": {"userAgent": "x"}},
        {"id": 3, "result": {"thread": {"id": SESSION}, "sandbox": {"type": "readOnly"}}},
    ),
    "command": (
        {
            "id": "1",
            "type": "response",
            "command": "get_state",
            "success": True,
            "data": {"sessionId": SESSION},
        },
    ),
    "control": (
        {"type": "control_response", "response": {"subtype": "success", "request_id": "1", "response": {}}},
    ),
}
"""What each dialect answers until its session is open."""


class Talker:
    """Feeds a machine and keeps what it says and writes.

    Attributes:
        machine: The machine.
        written: Every message that it wrote.
    """

    def __init__(
        self,
        dialect: str,
        *,
        attempt: Attempt = "fresh",
        session: str | None = None,
        options: dict[str, str] | None = None,
        frame_cap_bytes: int = 10_000,
    ) -> None:
        is_chosen = dialect == "control" and attempt == "fresh"
        self.settings = TransportSettings(
            workspace="/w",
            attempt=attempt,
            session_id=session or (SESSION if is_chosen else None),
            stream=mode_of(dialect).stream,
            config_options=options or {},
            frame_cap_bytes=frame_cap_bytes,
        )
        self.machine = StreamMachine(self.settings)
        self.written: list[Json] = []

    def start(self) -> list[ReportBody]:
        """Begins; what was reported."""
        return self.take(self.machine.start())

    def feed(self, *records: Json | bytes) -> list[ReportBody]:
        """Feeds records, or lines as they are; what was reported."""
        lines = (one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in records)
        return self.take(self.machine.feed(b"".join(lines)))

    def prompt(self, text: str = "hello", delivery: str = "d1") -> Json:
        """Sends a prompt; what was written."""
        self.take(self.machine.prompt(delivery, text))
        return self.written[-1]

    def cancel(self) -> list[Json]:
        """Asks for a cancel; what was written."""
        before = len(self.written)
        self.take(self.machine.cancel())
        return self.written[before:]

    def answer(self, wire_id: str, option: str | None) -> list[Json]:
        """Answers a request; what was written."""
        before = len(self.written)
        self.take(self.machine.answer(wire_id, option))
        return self.written[before:]

    def end(self, end: HarnessEnd) -> list[ReportBody]:
        """Ends the process; what was reported."""
        return [*self.take(self.machine.finish()), *self.take(self.machine.end(end))]

    def take(self, step: Step) -> list[ReportBody]:
        """Keeps what a step wrote; what it reported."""
        self.written += [json.loads(one.data) for one in step.outgoing]
        return [one.body for one in step.reports]

    def restore(self) -> None:
        """Goes on as another machine, from the snapshot of this one."""
        self.machine = StreamMachine(self.settings, snapshot=self.machine.snapshot())


def opened(dialect: str, **more: Any) -> Talker:
    """A talker whose session is open."""
    talker = Talker(dialect, **more)
    talker.start()
    talker.feed(*OPENING[dialect])
    return talker
