"""The state machine of one launch that is spoken to in records of its own: bytes in, reports and bytes out."""

from __future__ import annotations

from typing import Any

from inspan.model.content import UnknownUpdate, UsageUpdated
from inspan.model.plan import TransportSettings
from inspan.model.records import EndRule
from inspan.model.stream import StreamRule
from inspan.transports.acp.depth import DEPTH_CAP, is_too_deep
from inspan.transports.acp.lines import LineReader
from inspan.transports.machine import HarnessEnd, Step
from inspan.transports.records.ending import read_error
from inspan.transports.records.lines import quoted, read_record
from inspan.transports.records.paths import Place, as_text, as_token
from inspan.transports.records.reading import apply_rule, is_about

from .opening import fail_by_exit, go_on, on_step_answer
from .requests import answer_request, take_request, withdraw_request
from .state import StreamState, read_state, write_state
from .talk import Talk, is_foreign, is_match, uuid_of
from .turns import cancel_turn, end_turn, keep, on_prompt_answer, send_prompt

__all__ = ["StreamMachine"]


class StreamMachine:
    """`inspan.transports.machine.Machine` for a harness that is spoken to as its manifest's `stream` settings say.

    No bytes make it raise. What is not in the snapshot is the beginning of a line, which core feeds again.

    Args:
        settings: What the transport is told of the launch.
        snapshot: Of a machine of the same launch, to go on from it; `start` is then not called.
    """

    def __init__(self, settings: TransportSettings, *, snapshot: bytes | None = None) -> None:
        state = StreamState() if snapshot is None else read_state(snapshot)
        self._talk = Talk(settings, state)
        self._lines = LineReader(settings.frame_cap_bytes, is_discarding=state.is_discarding)

    def start(self) -> Step:
        """Says the first step of the handshake."""
        go_on(self._talk)
        return self._talk.end_step()

    def feed(self, data: bytes) -> Step:
        """Takes the next bytes; every line that they complete is read."""
        talk = self._talk
        lines, used = self._lines.feed(data)
        for line in lines:
            if line is None:
                cap_bytes = talk.settings.frame_cap_bytes
                message = f"A line is over the cap of {cap_bytes} bytes and was dropped."
                talk.fault("frame_too_large", message, is_fatal=True)
            else:
                self._take_line(line.strip(), is_whole=True)
        if talk.state.is_discarding != self._lines.is_discarding:
            talk.state.is_discarding = self._lines.is_discarding
            talk.is_changed = True
        return talk.end_step(consumed=used)

    def finish(self) -> Step:
        """Reads a last line that lacks only its newline; reports one that was cut."""
        rest = self._lines.take_rest()
        self._take_line(rest.strip(), is_whole=False)
        return self._talk.end_step(consumed=len(rest))

    def end(self, end: HarnessEnd) -> Step:
        """Says why a session was not gone on with, where the process said it as it left; the rest is core's to say."""
        fail_by_exit(self._talk, end)
        return self._talk.end_step()

    def prompt(self, delivery: str, text: str) -> Step:
        """Writes the prompt.

        Raises:
            UsageError: No session is ready, or the text cannot be sent; nothing changed.
        """
        send_prompt(self._talk, delivery, text)
        return self._talk.end_step()

    def cancel(self) -> Step:
        """Asks for the turn to be stopped; an empty step where none is open."""
        cancel_turn(self._talk)
        return self._talk.end_step()

    def answer(self, wire_id: str, option: str | None) -> Step:
        """Answers an open permission request; an empty step where none of that id is open."""
        answer_request(self._talk, wire_id, option)
        return self._talk.end_step()

    def snapshot(self) -> bytes:
        """The durable state, as JSON."""
        return write_state(self._talk.state)

    def rollback(self, snapshot: bytes) -> None:
        """Returns to an earlier snapshot; held bytes are forgotten."""
        talk = self._talk
        talk.end_step()
        talk.state = read_state(snapshot)
        self._lines = LineReader(talk.settings.frame_cap_bytes, is_discarding=talk.state.is_discarding)

    def _take_line(self, line: bytes, *, is_whole: bool) -> None:
        talk = self._talk
        if not line:
            return
        if is_too_deep(line):
            talk.fault("bad_message", f"A line nests deeper than {DEPTH_CAP}: {quoted(line)}")
            return
        record = read_record(line)
        if record is not None:
            self._take_record(record, line)
            go_on(talk)
        elif not is_whole and line.startswith(b"{"):
            talk.fault("truncated", f"The output ends within a line: {quoted(line)}")
        else:
            talk.noise(line)

    def _take_record(self, record: dict[str, Any], line: bytes) -> None:
        talk, place = self._talk, Place(record)
        if is_match(talk.rules.answers.match, place):
            self._take_answer(place, line)
        elif not take_request(talk, record) and not self._take_said(place):
            talk.report(UnknownUpdate(kind=as_token(place.find(talk.rules.kind)), raw=record), "unknown")

    def _take_answer(self, place: Place, line: bytes) -> None:
        talk, shape = self._talk, self._talk.rules.answers
        state = talk.state
        key = as_text(place.find(shape.id))
        call = state.open_calls.get(key)
        if call is None:
            talk.fault("unmatched_answer", f"No call is open that this would answer: {quoted(line)}")
            return
        state.open_calls = {other: one for other, one in state.open_calls.items() if other != key}
        talk.is_changed = True
        error = read_error(shape.error, place) if is_match(shape.fails, place) else None
        match call.kind:
            case "step":
                on_step_answer(talk, place, error)
            case "prompt":
                on_prompt_answer(talk, call, place, error)
            case "cancel" if error is not None:
                state.is_cancelled = False
                talk.fault("cancel_refused", f"The harness did not take the cancel: {error.message}")
            case _:
                pass
        self._take_said(place)

    def _take_said(self, place: Place) -> bool:
        """Applies every rule that is about the record; whether one of them knows it."""
        talk = self._talk
        if is_foreign(talk, place):
            return False
        is_known = False
        for rule in talk.rules.records:
            if is_about(rule, place) and self._is_meant(rule, place):
                is_known = self._apply(rule, place) or is_known
        return is_known

    def _is_meant(self, rule: StreamRule, place: Place) -> bool:
        state = self._talk.state
        delivery = state.delivery or ""
        names = {**state.kept, "session": state.session or "", "delivery": delivery}
        if delivery:
            names["delivery_uuid"] = uuid_of(delivery)
        if state.phase == "ready" and any(name not in state.kept for name in rule.needs):
            return False
        return (
            all(place.find(path) is not None for path in rule.has)
            and all(place.find(path) is None for path in rule.lacks)
            and all(place.text(path) == names.get(name) != "" for path, name in rule.known.items())
        )

    def _apply(self, rule: StreamRule, place: Place) -> bool:
        talk = self._talk

        def end(ends: EndRule, here: Place) -> None:
            end_turn(talk, ends, here)

        keep(talk, rule.keeps, place)
        if rule.withdraws:
            withdraw_request(talk, place.find(rule.withdraws))
        if rule.context is not None:
            used = place.integer(rule.context.used)
            if used is not None:
                talk.report(UsageUpdated(used=used, size=place.integer(rule.context.size)), "context")
        return apply_rule(talk, rule, place, end) or bool(rule.has)
