"""Showing events as they come: streamed text, and a line for everything else."""

from __future__ import annotations

from .fields import Json, flag, record, text
from .output import Output, Piece, Span, bold, dim
from .phrases import clock, phrase

__all__ = ["Renderer"]

_QUIET = frozenset(
    [
        "commands",
        "mode",
        "config",
        "session_info",
        "options_offered",
        "setting_answered",
        "sessions_requested",
        "sessions_listed",
        "session_closed",
        "delivery_sent",
        "delivery_accepted",
        "delivery_rendered",
        "delivery_started",
        "launch_requested",
    ]
)


class Renderer:
    """Shows envelopes in order.

    Text of a message is written as it comes, so a line may be unfinished; everything else ends it first.
    """

    def __init__(self, output: Output, *, has_heads: bool):
        """Begins with a fresh line.

        Args:
            output: Where to write.
            has_heads: Whether each line begins with its time and seat, as `watch` shows it; without, what is
                only interesting to somebody who watches is left out.
        """
        self._output = output
        self._has_heads = has_heads
        self._speaker: tuple[str, str, str] | None = None
        self._is_unfinished = False
        self._titles: dict[str, str] = {}

    def show(self, envelope: Json) -> None:
        """Shows one event."""
        kind, event = text(envelope, "type"), record(envelope, "event")
        if kind == "message_chunk":
            self._say(envelope, event)
            return
        if kind in _QUIET and not self._has_heads:
            return
        if kind == "tool_call":
            # Later updates of a tool call name only what changed.
            title = self._titles[text(event, "id")] = text(event, "title") or self._titles.get(
                text(event, "id"), ""
            )
            event = {**event, "title": title}
        self.line(*self._head(envelope), *phrase(kind, event))

    def line(self, *pieces: Piece) -> None:
        """Writes a line of its own."""
        self.finish()
        self._output.line(*(["  "] if not self._has_heads else []), *pieces)
        self._output.flush()

    def finish(self) -> None:
        """Ends an unfinished line."""
        if self._is_unfinished:
            self._output.line()
        self._is_unfinished = False
        self._speaker = None

    def _say(self, envelope: Json, event: Json) -> None:
        role, words = text(event, "role"), text(event, "text")
        if role == "user" and not self._has_heads:
            return
        if not words and record(event, "raw"):
            words = f"[{text(event, 'raw', 'type') or 'content'} that is not text]"
        speaker = (text(envelope, "seat"), role, text(event, "message_id"))
        if speaker != self._speaker:
            self.finish()
            self._speaker = speaker
            if self._has_heads:
                again = " (told again)" if flag(event, "replay") else ""
                self._output.line(*self._head(envelope), dim(f"{_SPEAKERS.get(role, role)}{again}:"))
        self._output.part(Span(words, "2") if role == "thought" else words)
        if words:
            self._is_unfinished = not words.endswith("\n")

    def _head(self, envelope: Json) -> list[Piece]:
        if not self._has_heads:
            return []
        return [dim(clock(text(envelope, "at"))), "  ", bold(text(envelope, "seat")), "  "]


_SPEAKERS = {"user": "the prompt", "agent": "says", "thought": "thinks"}
