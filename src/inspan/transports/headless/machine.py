"""The state machine of a one-shot run: bytes in, reports out, one prompt in."""

from __future__ import annotations

from inspan.model.content import MessageChunk
from inspan.model.errors import UsageError
from inspan.model.evidence import Source
from inspan.model.plan import TransportSettings
from inspan.model.reports import PromptReady
from inspan.transports.acp.depth import DEPTH_CAP, is_too_deep
from inspan.transports.acp.lines import LineReader
from inspan.transports.machine import HarnessEnd, Outgoing, Step
from inspan.transports.records.lines import quoted, read_record

from .document import DocumentReader, read_document
from .ending import end_by_exit
from .lines import take_line
from .records import take_record
from .saying import Saying
from .state import HeadlessState, read_state, write_state

__all__ = ["HeadlessMachine"]


class HeadlessMachine:
    """`inspan.transports.machine.Machine` for a process that takes one prompt and ends.

    No bytes make it raise. It is ready at once: the prompt is its standard input, which core ends after it.
    What is not in the snapshot is the beginning of a line, which core feeds again.

    Args:
        settings: What the transport is told of the launch.
        snapshot: Of a machine of the same launch, to go on from it; `start` is then not called.
    """

    def __init__(self, settings: TransportSettings, *, snapshot: bytes | None = None) -> None:
        state = HeadlessState() if snapshot is None else read_state(snapshot)
        self._saying = Saying(settings, state)
        self._lines = _reader(settings, state)

    def start(self) -> Step:
        """Says that it takes its prompt."""
        saying = self._saying
        saying.state.phase = "ready"
        saying.is_changed = True
        saying.report(PromptReady(), "ready", source=Source.PROCESS)
        return saying.end_step()

    def feed(self, data: bytes) -> Step:
        """Takes the next bytes; every line that they complete is read."""
        saying = self._saying
        lines, used = self._lines.feed(data)
        for line in lines:
            if line is None:
                cap_bytes = saying.settings.frame_cap_bytes
                what = "The output" if isinstance(self._lines, DocumentReader) else "A line"
                message = f"{what} is over the cap of {cap_bytes} bytes and was dropped."
                saying.fault("frame_too_large", message, is_fatal=True)
            else:
                self._take_line(line, newline="\n")
        if saying.state.is_discarding != self._lines.is_discarding:
            saying.state.is_discarding = self._lines.is_discarding
            saying.is_changed = True
        return saying.end_step(consumed=used)

    def finish(self) -> Step:
        """Reads a last line that lacks only its newline, or the whole document; reports what was cut."""
        rest = self._lines.take_rest()
        if isinstance(self._lines, DocumentReader):
            self._take_document(rest)
        elif rest.strip():
            self._take_line(rest, newline="")
        return self._saying.end_step(consumed=len(rest))

    def end(self, end: HarnessEnd) -> Step:
        """Ends a turn that no result record ended, as far as the exit says how."""
        end_by_exit(self._saying, end)
        return self._saying.end_step()

    def prompt(self, delivery: str, text: str) -> Step:
        """Gives the prompt, as it is, to standard input.

        Raises:
            UsageError: It takes no prompt any more; nothing changed.
        """
        saying = self._saying
        state = saying.state
        if state.phase != "ready":
            raise UsageError(
                "This run has its prompt already.",
                code="seat_not_running",
                hint="Each prompt has its own run.",
            )
        state.phase, state.delivery = "prompted", delivery
        saying.is_changed = True
        saying.write(Outgoing(data=text.encode("utf-8", "replace"), purpose="prompt", delivery=delivery))
        return saying.end_step()

    def cancel(self) -> Step:
        """Remembers that the run is stopped to cancel its turn; nothing is written."""
        saying = self._saying
        if saying.state.phase == "prompted" and not saying.state.is_cancelled:
            saying.state.is_cancelled = True
            saying.is_changed = True
        return saying.end_step()

    def answer(self, wire_id: str, option: str | None) -> Step:
        """Answers nothing: a one-shot run asks nobody."""
        return Step()

    def snapshot(self) -> bytes:
        """The durable state, as JSON."""
        return write_state(self._saying.state)

    def rollback(self, snapshot: bytes) -> None:
        """Returns to an earlier snapshot; held bytes are forgotten."""
        saying = self._saying
        saying.end_step()
        saying.state = read_state(snapshot)
        self._lines = _reader(saying.settings, saying.state)

    def _take_line(self, line: bytes, *, newline: str) -> None:
        saying = self._saying
        if saying.settings.headless.output == "text":
            self._take_words(line.decode("utf-8", "replace").rstrip("\r") + newline)
            return
        stripped = line.strip()
        if not stripped:
            return
        if is_too_deep(stripped):
            saying.fault("bad_message", f"A line nests deeper than {DEPTH_CAP}: {quoted(stripped)}")
            return
        record = read_record(stripped)
        if record is not None:
            take_record(saying, record)
        elif newline or not stripped.startswith(b"{"):
            take_line(saying, stripped.decode("utf-8", "replace"))
            saying.noise(stripped)
        else:
            saying.fault("truncated", f"The output ends within a line: {quoted(stripped)}")

    def _take_document(self, output: bytes) -> None:
        saying = self._saying
        around, record, text = read_document(output)
        for line in around:
            take_line(saying, line.decode("utf-8", "replace"))
            saying.noise(line)
        if is_too_deep(text):
            saying.fault("bad_message", f"The output nests deeper than {DEPTH_CAP}: {quoted(text)}")
        elif record is not None:
            take_record(saying, record)
        elif text:
            saying.fault("truncated", f"The output is no whole JSON object: {quoted(text)}")

    def _take_words(self, words: str) -> None:
        saying = self._saying
        meaning = take_line(saying, words.strip())
        if meaning == "noise":
            saying.noise(words.strip().encode())
            return
        # What follows an error are its further words.
        if words.strip() and meaning is None and saying.state.line_error is None:
            saying.witness("text")
        if not saying.state.has_spoken:
            saying.state.has_spoken = True
            saying.is_changed = True
        saying.report(MessageChunk(role="agent", text=words), "text")


def _reader(settings: TransportSettings, state: HeadlessState) -> LineReader | DocumentReader:
    kind = DocumentReader if settings.headless.output == "document" else LineReader
    return kind(settings.frame_cap_bytes, is_discarding=state.is_discarding)
