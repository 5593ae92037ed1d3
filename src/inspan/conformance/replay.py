"""Replay: what the `acp` transport says of a recorded conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from inspan.model.content import Noise, ProtocolFault, UnknownMessage, UnknownUpdate
from inspan.model.permission import PermissionOption, ToolCall
from inspan.model.plan import TransportSettings
from inspan.model.reports import PermissionRequested, PromptAnswered, PromptStarted, Reported, SessionReady
from inspan.model.turn import CallError, TurnOutcome, Usage
from inspan.transports.acp.follow import AcpFollower
from inspan.transports.acp.loose import mapping, mapping_in, text_in

from .recording import RecordedLine, read_recording

__all__ = [
    "Replay",
    "ReplayedPermission",
    "ReplayedReport",
    "ReplayedTurn",
    "replay_lines",
    "replay_recording",
]


class ReplayedReport(msgspec.Struct, frozen=True, kw_only=True):
    """A report, and the line of the recording that it comes from.

    Attributes:
        line: The line's number, from 1.
        at_s: Seconds since the recording began.
        phase: The recording's own name for what was going on.
        launch: Which process of the recording, from 1.
        report: The report.
    """

    line: int
    at_s: float
    phase: str
    launch: int
    report: Reported


class ReplayedTurn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A prompt of the recorded client, and how its turn ended.

    Attributes:
        line: The line of the prompt.
        phase: The phase of the prompt.
        launch: Which process of the recording.
        delivery: The id that the replay gave to the prompt.
        outcome: How it ended; `lost` where the process ended first.
        raw_reason: The harness's own word for it, or what is recorded of the process's end.
        started: Whether there was a witness that it began.
        declined: Whether the harness declined the call itself.
        error: The harness's error.
        usage: Tokens used.
        answered_line: The line of the answer.
        last_words: The beginning of its last message, where the settings ask for it.
        model_wrote: Whether tokens that the model wrote were counted in it.
    """

    line: int
    phase: str
    launch: int
    delivery: str
    outcome: TurnOutcome
    raw_reason: str
    started: bool = False
    declined: bool = False
    error: CallError | None = None
    usage: Usage | None = None
    answered_line: int | None = None
    last_words: str | None = None
    model_wrote: bool | None = None


class ReplayedPermission(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A permission request, and what the recorded client answered.

    Attributes:
        line: The line of the request.
        phase: The phase of the request.
        launch: Which process of the recording.
        wire_id: The request's id, as JSON text.
        tool_call: What it is about.
        options: What the harness offers.
        is_answered: Whether the recorded client answered.
        answer: The id of the option that it chose; `None` for `cancelled`.
    """

    line: int
    phase: str
    launch: int
    wire_id: str
    tool_call: ToolCall
    options: tuple[PermissionOption, ...]
    is_answered: bool = False
    answer: str | None = None


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a recording.

    Attributes:
        launches: How many processes it holds.
        reports: All reports, in order.
        sessions: Session ids, in the order in which they were first opened.
        turns: All prompts, in order.
        permissions: All permission requests, in order.
    """

    launches: int
    reports: tuple[ReplayedReport, ...]
    sessions: tuple[str, ...]
    turns: tuple[ReplayedTurn, ...]
    permissions: tuple[ReplayedPermission, ...]

    def summary(self) -> dict[str, Any]:
        """Counts, as a JSON object."""
        bodies = [one.report.body for one in self.reports]
        return {
            "launches": self.launches,
            "sessions": list(self.sessions),
            "turns": dict(Counter(turn.outcome.value for turn in self.turns)),
            "permissions": len(self.permissions),
            "reports": len(bodies),
            "replayed": sum(1 for body in bodies if getattr(body, "replay", False)),
            "unknown_updates": sum(isinstance(body, UnknownUpdate) for body in bodies),
            "unknown_messages": sum(isinstance(body, UnknownMessage) for body in bodies),
            "noise_lines": sum(body.lines for body in bodies if isinstance(body, Noise)),
            "faults": sum(isinstance(body, ProtocolFault) for body in bodies),
        }


def replay_recording(path: Path, settings: TransportSettings) -> Replay:
    """Plays a recording of a conversation over the Agent Client Protocol to the `acp` transport.

    Only what the harness wrote is fed; the recorded client's calls stand for our own. Nothing is started.

    Args:
        path: The recording.
        settings: What the transport is told; the manifest's `acp` settings matter, the rest does not.

    Raises:
        ManifestError: `recording_invalid`.
    """
    player = _Player(settings)
    for line in read_recording(path):
        player.take(line)
    return player.end()


def replay_lines(replay: Replay) -> Iterator[str]:
    """The replay as JSON lines: one a report, then one with `summary`, `turns` and `permissions`."""
    for one in replay.reports:
        yield msgspec.json.encode(one).decode()
    last = {"summary": replay.summary(), "turns": replay.turns, "permissions": replay.permissions}
    yield msgspec.json.encode(last).decode()


class _Player:
    def __init__(self, settings: TransportSettings) -> None:
        self._settings = settings
        self._follower = AcpFollower(settings)
        self._launch = 0
        self._end: RecordedLine | None = None
        self._last: RecordedLine | None = None
        self._reports: list[ReplayedReport] = []
        self._turns: dict[str, ReplayedTurn] = {}
        self._permissions: dict[tuple[int, str, int], ReplayedPermission] = {}

    def take(self, line: RecordedLine) -> None:
        message = mapping(line.message)
        if line.direction == "!":
            # What it says is for people: whether a process ended is told by what comes next.
            self._end = line
            return
        if self._launch == 0 or (message is not None and self._is_beginning(line, message)):
            self._begin()
        self._end = None
        self._last = line
        if line.direction == "<":
            self._add(line, self._follower.feed(_as_written(line.message) + b"\n").reports)
        elif message is not None:
            self._observe(line, message)

    def end(self) -> Replay:
        self._finish_launch()
        ready = (one.report.body for one in self._reports)
        sessions = (body.session_id for body in ready if isinstance(body, SessionReady))
        return Replay(
            launches=self._launch,
            reports=tuple(self._reports),
            sessions=tuple(dict.fromkeys(sessions)),
            turns=tuple(self._turns.values()),
            permissions=tuple(self._permissions.values()),
        )

    def _is_beginning(self, line: RecordedLine, message: dict[str, Any]) -> bool:
        return line.direction == ">" and message.get("method") == "initialize"

    def _begin(self) -> None:
        self._finish_launch()
        self._launch += 1
        self._follower = AcpFollower(self._settings)

    def _finish_launch(self) -> None:
        last = self._end or self._last
        if last is None:
            return
        self._add(last, self._follower.finish().reports)
        if self._end is not None:
            for key, turn in self._turns.items():
                if turn.launch == self._launch and turn.answered_line is None:
                    self._turns[key] = msgspec.structs.replace(turn, raw_reason=str(self._end.message))
        self._end = self._last = None

    def _observe(self, line: RecordedLine, message: dict[str, Any]) -> None:
        wire_id = msgspec.json.encode(message.get("id")).decode()
        delivery = f"{self._launch}.{wire_id}"
        if message.get("method") == "session/prompt":
            self._turns[delivery] = ReplayedTurn(
                line=line.number,
                phase=line.phase,
                launch=self._launch,
                delivery=delivery,
                outcome=TurnOutcome.LOST,
                raw_reason="",
            )
        elif "method" not in message:
            self._note_answer(wire_id, message)
        self._follower.observe(message, delivery=delivery)

    def _note_answer(self, wire_id: str, message: dict[str, Any]) -> None:
        for key, asked in reversed(self._permissions.items()):
            if key[:2] == (self._launch, wire_id) and not asked.is_answered:
                option = _chosen(message)
                self._permissions[key] = msgspec.structs.replace(asked, is_answered=True, answer=option)
                return

    def _add(self, line: RecordedLine, reports: tuple[Reported, ...]) -> None:
        number, phase, launch = line.number, line.phase, self._launch
        for report in reports:
            self._reports.append(
                ReplayedReport(line=number, at_s=line.at_s, phase=phase, launch=launch, report=report)
            )
            body = report.body
            if isinstance(body, PromptStarted):
                self._change_turn(body.delivery, started=True)
            elif isinstance(body, PromptAnswered):
                self._change_turn(
                    body.delivery,
                    outcome=body.outcome,
                    raw_reason=body.raw_reason,
                    declined=body.declined,
                    error=body.error,
                    usage=body.usage,
                    last_words=body.last_words,
                    model_wrote=body.model_wrote,
                    answered_line=line.number,
                )
            elif isinstance(body, PermissionRequested):
                key = (self._launch, body.wire_id, line.number)
                self._permissions[key] = ReplayedPermission(
                    line=number,
                    phase=phase,
                    launch=launch,
                    wire_id=body.wire_id,
                    tool_call=body.tool_call,
                    options=body.options,
                )

    def _change_turn(self, delivery: str, **changes: Any) -> None:
        self._turns[delivery] = msgspec.structs.replace(self._turns[delivery], **changes)


def _as_written(message: Any) -> bytes:
    return message.encode() if isinstance(message, str) else msgspec.json.encode(message)


def _chosen(message: dict[str, Any]) -> str | None:
    return text_in(mapping_in(mapping_in(message, "result"), "outcome"), "optionId") or None
