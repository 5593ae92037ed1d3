"""The state machine of one launch that speaks the Agent Client Protocol: bytes in, reports and bytes out."""

from __future__ import annotations

from inspan.model.plan import TransportSettings
from inspan.transports.machine import HarnessEnd, Step
from inspan.transports.operations import Operation

from . import handshake
from .chunks import is_chunk_taken
from .depth import DEPTH_CAP, is_too_deep
from .exchange import Exchange
from .incoming import ToolMemory, on_notification, on_request, on_update
from .lines import LineReader
from .operations import perform
from .state import AcpState, read_state, write_state
from .turns import on_prompt_answer, send_prompt
from .wire import (
    ABSENT,
    UNREADABLE,
    Envelope,
    decode_any,
    decode_elements,
    decode_envelope,
    encode_message,
    mend,
)

__all__ = ["AcpMachine"]

_QUOTED_CHARACTERS = 120
_CANCELLED = {"outcome": {"outcome": "cancelled"}}


class AcpMachine:
    """`inspan.transports.machine.Machine` for version 1 of the Agent Client Protocol.

    No bytes make it raise. What is not in the snapshot: the beginning of a line, which core feeds again, and
    what was said of running tool calls, which only completes permission requests that carry nothing but an id.

    Args:
        settings: What the transport is told of the launch.
        snapshot: Of a machine of the same launch, to go on from it; `start` is then not called.
    """

    def __init__(self, settings: TransportSettings, *, snapshot: bytes | None = None) -> None:
        state = AcpState() if snapshot is None else read_state(snapshot)
        self._exchange = Exchange(settings, state)
        self._memory = ToolMemory()
        self._lines = LineReader(settings.frame_cap_bytes, is_discarding=state.is_discarding)

    def start(self) -> Step:
        """Calls `initialize`."""
        handshake.begin(self._exchange)
        return self._exchange.end_step()

    def feed(self, data: bytes) -> Step:
        """Takes the next bytes; every line that they complete is read."""
        exchange = self._exchange
        lines, used = self._lines.feed(data)
        for line in lines:
            if line is None:
                cap_bytes = exchange.settings.frame_cap_bytes
                message = f"A line is over the cap of {cap_bytes} bytes and was dropped."
                exchange.fault("frame_too_large", message, is_fatal=True)
            elif not is_chunk_taken(exchange, line):
                self._take_line(line)
        if exchange.state.is_discarding != self._lines.is_discarding:
            exchange.state.is_discarding = self._lines.is_discarding
            exchange.is_changed = True
        return exchange.end_step(consumed=used)

    def finish(self) -> Step:
        """Reads a last line that lacks only its newline; reports one that was cut."""
        rest = self._lines.take_rest()
        line = rest.strip()
        if line:
            try:
                decode_any(line)
            except UNREADABLE:
                self._exchange.fault("truncated", f"The output ends within a line: {_quoted(line)}")
            else:
                self._take_line(line)
        return self._exchange.end_step(consumed=len(rest))

    def end(self, end: HarnessEnd) -> Step:
        """Says nothing: what a process's end means for a session is core's to say."""
        return Step()

    def prompt(self, delivery: str, text: str) -> Step:
        """Calls `session/prompt` with one block of text.

        Raises:
            UsageError: No session is ready, or the text cannot be sent; nothing changed.
        """
        send_prompt(self._exchange, delivery, text)
        return self._exchange.end_step()

    def cancel(self) -> Step:
        """Notifies `session/cancel`; an empty step where no prompt is open."""
        exchange = self._exchange
        session = exchange.state.session
        if session is not None and any(call.kind == "prompt" for call in exchange.state.calls.values()):
            data = encode_message(method="session/cancel", params={"sessionId": session})
            exchange.write(data, purpose="cancel")
        return exchange.end_step()

    def answer(self, wire_id: str, option: str | None) -> Step:
        """Answers an open permission request; an empty step where none of that id is open."""
        exchange = self._exchange
        state = exchange.state
        if wire_id in state.permissions:
            selected = {"outcome": {"outcome": "selected", "optionId": option}}
            exchange.answer_theirs(
                wire_id, result=_CANCELLED if option is None else selected, purpose="answer"
            )
            state.permissions = tuple(one for one in state.permissions if one != wire_id)
            exchange.note_answer(option)
            exchange.is_changed = True
        return exchange.end_step()

    def operate(self, operation: Operation) -> Step:
        """Begins an operation on sessions or questions; where nothing can come of it, the step is empty."""
        perform(self._exchange, operation)
        return self._exchange.end_step()

    def snapshot(self) -> bytes:
        """The durable state, as JSON."""
        return write_state(self._exchange.state)

    def rollback(self, snapshot: bytes) -> None:
        """Returns to an earlier snapshot; held bytes and the details of tool calls are forgotten."""
        exchange = self._exchange
        exchange.end_step()
        exchange.state = read_state(snapshot)
        self._memory.clear()
        self._lines = LineReader(
            exchange.settings.frame_cap_bytes, is_discarding=exchange.state.is_discarding
        )

    def _take_line(self, line: bytes) -> None:
        if is_too_deep(line):
            self._exchange.fault("bad_message", f"A line nests deeper than {DEPTH_CAP}: {_quoted(line)}")
            return
        try:
            message = decode_envelope(line)
            self._take(message, line)
        except UNREADABLE:
            self._take_odd_line(line)

    def _take(self, message: Envelope, line: bytes) -> None:
        if message.method is None:
            self._take_answer(message, line)
        elif message.id is not ABSENT:
            wire_id = bytes(message.id).decode()
            on_request(self._exchange, self._memory, wire_id, message.method, message.params)
        elif message.method == "session/update":
            on_update(self._exchange, self._memory, message.params)
        else:
            on_notification(self._exchange, message.method, message.params)

    def _take_answer(self, message: Envelope, line: bytes) -> None:
        exchange = self._exchange
        if message.id is ABSENT or (
            message.result is ABSENT and message.error is ABSENT and not _is_rpc(line)
        ):
            self._take_stranger(line)
            return
        result, error = decode_any(message.result), decode_any(message.error)
        key = bytes(message.id).decode()
        call = exchange.state.calls.pop(key, None)
        if call is None:
            exchange.fault("unmatched_answer", f"No call is open that this would answer: {_quoted(line)}")
            return
        exchange.is_changed = True
        if message.error is ABSENT and message.result is ABSENT:
            error = {"message": "The harness answered with neither a result nor an error."}
            exchange.fault("bad_message", f"An answer has neither a result nor an error: {_quoted(line)}")
        elif message.error is not ABSENT and error is None and message.result is ABSENT:
            error = {}
        if call.kind == "prompt":
            on_prompt_answer(exchange, key, call, result, error)
        else:
            handshake.on_answer(exchange, call, result, error)

    def _take_odd_line(self, line: bytes) -> None:
        """Takes a line that is no message as it stands: blank, a batch, damaged, or no JSON at all."""
        stripped = line.strip()
        if not stripped:
            return
        try:
            decode_any(stripped)
            mended = None
        except UNREADABLE:
            mended = mend(stripped)
            if mended is None:
                self._take_text(stripped)
                return
            self._exchange.fault("bad_encoding", f"Damaged text was replaced: {_quoted(stripped)}")
        whole = mended or stripped
        try:
            if whole.startswith(b"["):
                self._take_batch(whole)
            else:
                self._take(decode_envelope(whole), whole)
        except UNREADABLE:
            self._take_stranger(whole)

    def _take_batch(self, line: bytes) -> None:
        elements = [bytes(element) for element in decode_elements(line)]
        if not any(one.startswith(b"{") for one in elements):
            self._exchange.noise(line)
            return
        for one in elements:
            try:
                self._take(decode_envelope(one), one)
            except UNREADABLE:
                self._take_stranger(one)

    def _take_text(self, line: bytes) -> None:
        """Takes a line that is no JSON."""
        try:
            line.decode()
        except UnicodeDecodeError:
            self._exchange.fault("bad_encoding", f"A line is neither a message nor UTF-8: {_quoted(line)}")
            return
        if line.startswith(b"{") and _is_rpc(line):
            self._exchange.fault("bad_message", f"A message is no JSON: {_quoted(line)}")
        else:
            self._exchange.noise(line)

    def _take_stranger(self, line: bytes) -> None:
        """Takes JSON that is no message: a log line is noise, what says that it is a message is a fault."""
        if line.startswith(b"{") and _is_rpc(line):
            self._exchange.fault("bad_message", f"A message has a wrong form: {_quoted(line)}")
        else:
            self._exchange.noise(line)


def _is_rpc(line: bytes) -> bool:
    return b'"jsonrpc"' in line


def _quoted(line: bytes) -> str:
    return line[: _QUOTED_CHARACTERS * 4].decode("utf-8", errors="replace")[:_QUOTED_CHARACTERS]
