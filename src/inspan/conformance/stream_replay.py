"""Replay of a recorded conversation in a harness's own records: what the `stream` transport says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from inspan.model.errors import ManifestError, UsageError
from inspan.model.manifest import ModeManifest
from inspan.model.plan import Attempt, TransportSettings
from inspan.model.reports import PermissionRequested, PromptAnswered, PromptStarted, SessionReady
from inspan.model.turn import TurnOutcome
from inspan.transports.acp.loose import integer_in, mapping, text_in
from inspan.transports.machine import HarnessEnd, Step
from inspan.transports.stream import StreamMachine
from inspan.transports.stream.templates import recognise

from .foreign_client import ForeignClient, find_attempt
from .recording import RecordedLine, read_recording
from .replay import Replay, ReplayedPermission, ReplayedReport, ReplayedTurn

__all__ = ["replay_stream"]

_ATTEMPTS: dict[str, Attempt] = {"fresh": "fresh", "resume": "resume", "fork": "fork"}


def replay_stream(path: Path, mode: ModeManifest, options: dict[str, str] | None = None) -> Replay:
    """Plays a recorded conversation to the `stream` transport, which says again what it said. Nothing is started.

    Each process begins with a line `!` whose message has `started` (`fresh`, `resume`, `fork`) and, unless it is
    fresh, `session`; it may have `chosen`, the id that core chose. A line `!` with `exited`, and perhaps `stderr`,
    says how it ended. Without such lines a process begins with each first call of the handshake, and the ids that
    another client gave its calls are taken for those of ours.

    Args:
        path: The recording.
        mode: The mode whose rules are used.
        options: The session options that were asked for; none are compared with what is in force without them.

    Raises:
        ManifestError: `recording_invalid`.
    """
    lines = list(read_recording(path))
    is_marked = any(line.direction == "!" and _started(line) for line in lines)
    player = _Player(mode, options or {}, None if is_marked else lines)
    for line in lines:
        try:
            player.take(line)
        except UsageError as error:
            raise ManifestError(
                f"Line {line.number} of {path} comes before a session is open.",
                code="recording_invalid",
                hint="Each process begins with a line `!` that says how it was started.",
                detail={"file": str(path), "line": line.number},
            ) from error
    return player.end()


class _Player:
    def __init__(
        self, mode: ModeManifest, options: dict[str, str], unmarked: list[RecordedLine] | None
    ) -> None:
        self._mode = mode
        self._options = options
        self._unmarked = unmarked
        self._client: ForeignClient | None = None
        self._machine = StreamMachine(self._settings("fresh", None))
        self._launch = 0
        self._begun_at = 0
        self._reports: list[ReplayedReport] = []
        self._turns: dict[str, ReplayedTurn] = {}
        self._open: str | None = None
        self._held: str | None = None
        self._permissions: dict[int, ReplayedPermission] = {}

    def take(self, line: RecordedLine) -> None:
        message = mapping(line.message)
        if line.direction == "!":
            if message is not None and _started(line):
                self._begin(line, message)
            else:
                self._finish(line)
        elif self._launch == 0 or self._begins_anew(line, message):
            self._begin(line, self._find_start(line))
        if line.direction == "<":
            heard = self._client.translate(message) if self._client and message is not None else line.message
            if heard is not None:
                self._add(line, self._machine.feed(_as_written(heard) + b"\n"))
            self._release(line)
        elif line.direction == ">" and message is not None:
            self._say(line, message)

    def end(self) -> Replay:
        ready = (one.report.body for one in self._reports)
        sessions = (body.session_id for body in ready if isinstance(body, SessionReady))
        return Replay(
            launches=self._launch,
            reports=tuple(self._reports),
            sessions=tuple(dict.fromkeys(sessions)),
            turns=tuple(self._turns.values()),
            permissions=tuple(self._permissions.values()),
        )

    def _settings(self, attempt: Attempt, session: str | None) -> TransportSettings:
        return TransportSettings(
            workspace="/",
            attempt=attempt,
            session_id=session,
            stream=self._mode.stream,
            config_options=self._options,
            reads_last_words=bool(self._mode.turn_text_failures),
        )

    def _begins_anew(self, line: RecordedLine, message: dict[str, Any] | None) -> bool:
        """Whether another client begins with another process here."""
        return (
            self._client is not None
            and line.direction == ">"
            and message is not None
            and self._client.which(message) == "handshake.0"
            and line.number > self._begun_at
        )

    def _find_start(self, line: RecordedLine) -> dict[str, Any]:
        if self._unmarked is None:
            return {}
        self._client, self._begun_at = ForeignClient(self._mode.stream), line.number
        attempt, session = find_attempt(
            self._mode.stream, (one for one in self._unmarked if one.number >= line.number)
        )
        return {"started": attempt, "session": session or ""}

    def _begin(self, line: RecordedLine, started: dict[str, Any]) -> None:
        self._launch += 1
        attempt = _ATTEMPTS.get(text_in(started, "started"), "fresh")
        session = text_in(started, "session") or text_in(started, "chosen") or None
        self._machine, self._open = StreamMachine(self._settings(attempt, session)), None
        self._held = None
        self._add(line, self._machine.start())

    def _finish(self, line: RecordedLine) -> None:
        self._add(line, self._machine.finish())
        ended = mapping(line.message) or {}
        status = integer_in(ended, "exited")
        if status is not None:
            end = HarnessEnd(exit_code=status, stderr_tail=text_in(ended, "stderr"))
            self._add(line, self._machine.end(end if status >= 0 else HarnessEnd(signal=-status)))
        if self._open is not None:
            turn = self._turns[self._open]
            reason = str(line.message) if status is None else f"exit {status}"
            self._turns[self._open] = msgspec.structs.replace(turn, raw_reason=reason)
            self._open = None

    def _say(self, line: RecordedLine, message: dict[str, Any]) -> None:
        """Lets the machine say what was said: the handshake it says by itself."""
        rules = self._mode.stream
        if self._client is not None:
            self._client.note_theirs(message)
            which = self._client.which(message)
            if which == "prompt":
                self._prompt(line, {})
            elif which == "cancel":
                self._add(line, self._machine.cancel())
            elif not which:
                self._answer(line, message)
            return
        if rules.prompt is not None and (found := recognise(rules.prompt.write, message)) is not None:
            self._prompt(line, found)
        elif rules.cancel is not None and recognise(rules.cancel.write, message) is not None:
            self._add(line, self._machine.cancel())
        else:
            self._answer(line, message)

    def _prompt(self, line: RecordedLine, found: dict[str, Any]) -> None:
        delivery = line.delivery or f"{self._launch}.{line.number}"
        self._turns[delivery] = ReplayedTurn(
            line=line.number,
            phase=line.phase,
            launch=self._launch,
            delivery=delivery,
            outcome=TurnOutcome.LOST,
            raw_reason="",
        )
        if self._client is not None and self._open is not None:
            self._held = delivery
            return
        self._open = delivery
        self._add(line, self._machine.prompt(delivery, str(found.get("prompt", ""))))

    def _release(self, line: RecordedLine) -> None:
        """Says a prompt that another client said before the turn before it was over, as we would: afterwards."""
        if self._held is not None and self._open is None:
            delivery, self._held = self._held, None
            self._open = delivery
            self._add(line, self._machine.prompt(delivery, ""))

    def _answer(self, line: RecordedLine, message: dict[str, Any]) -> None:
        """Finds what was answered by answering: the option whose message is the recorded one."""
        for number, asked in self._permissions.items():
            if asked.launch != self._launch or asked.is_answered:
                continue
            before = self._machine.snapshot()
            for option in (*(one.id for one in asked.options), None):
                step = self._machine.answer(asked.wire_id, option)
                if [msgspec.json.decode(one.data) for one in step.outgoing] == [message]:
                    self._permissions[number] = msgspec.structs.replace(
                        asked, is_answered=True, answer=option
                    )
                    self._add(line, step)
                    return
                self._machine.rollback(before)

    def _add(self, line: RecordedLine, step: Step) -> None:
        if self._client is not None:
            for one in step.outgoing:
                self._client.note_ours(msgspec.json.decode(one.data))
        for report in step.reports:
            self._reports.append(
                ReplayedReport(
                    line=line.number, at_s=line.at_s, phase=line.phase, launch=self._launch, report=report
                )
            )
            body = report.body
            if isinstance(body, PromptStarted):
                self._change_turn(body.delivery, started=True)
            elif isinstance(body, PromptAnswered):
                self._open = None
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
                self._permissions[line.number] = ReplayedPermission(
                    line=line.number,
                    phase=line.phase,
                    launch=self._launch,
                    wire_id=body.wire_id,
                    tool_call=body.tool_call,
                    options=body.options,
                )

    def _change_turn(self, delivery: str, **changes: Any) -> None:
        self._turns[delivery] = msgspec.structs.replace(self._turns[delivery], **changes)


def _started(line: RecordedLine) -> bool:
    return text_in(mapping(line.message) or {}, "started") in _ATTEMPTS


def _as_written(message: Any) -> bytes:
    return message.encode() if isinstance(message, str) else msgspec.json.encode(message)
