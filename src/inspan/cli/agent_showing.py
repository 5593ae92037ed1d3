"""Shows a turn of the agent as it happens, and asks a person what the agent asks."""

from __future__ import annotations

from collections.abc import Callable

from inspan.agent.events import (
    ContextCompacted,
    PermissionAnswered,
    PlanUpdated,
    Retrying,
    SessionEvent,
    TextDelta,
    ThinkingDelta,
    ToolCalled,
    ToolEnded,
    TurnEnded,
)
from inspan.agent.permissions.values import Answer, PermissionQuestion
from inspan.agent.values import Usage

from .output import Output, Piece, bad, bold, clean, cut, dim, good, warn

__all__ = ["TurnShow", "ask_person", "usage_words"]

_LONGEST_RESULT = 300
_MARKS = {"completed": "x", "in_progress": ">", "pending": " "}
_ANSWERS = {
    "y": Answer.ALLOW_ONCE,
    "yes": Answer.ALLOW_ONCE,
    "a": Answer.ALLOW_ALWAYS,
    "always": Answer.ALLOW_ALWAYS,
    "n": Answer.DENY_ONCE,
    "no": Answer.DENY_ONCE,
    "never": Answer.DENY_ALWAYS,
}


class TurnShow:
    """Writes one turn's events.

    Args:
        output: Where to write.
        is_quiet: Whether only the answer's text is shown, for pipes.

    Attributes:
        text: All that the model said.
        ended: How the turn ended, once it has.
        calls: How many calls it made.
    """

    def __init__(self, output: Output, *, is_quiet: bool) -> None:
        self._output = output
        self._is_quiet = is_quiet
        self._is_unfinished = False
        self._is_thinking = False
        self._titles: dict[str, str] = {}
        self.text = ""
        self.calls = 0
        self.ended: TurnEnded | None = None

    def show(self, event: SessionEvent) -> None:
        """Shows one event."""
        match event:
            case TextDelta(text=text):
                self._leave_thinking()
                self.text += text
                self._part(clean(text))
            case ThinkingDelta(text=text):
                if not self._is_quiet:
                    self._is_thinking = True
                    self._part(dim(clean(text)))
            case ToolCalled():
                self.calls += 1
                self._titles[event.call_id] = event.title
                by = f" ({event.subagent})" if event.subagent else ""
                self._line(dim("* "), bold(cut(clean(event.title), 120)), dim(by))
            case ToolEnded():
                self._ended_call(event)
            case PermissionAnswered(is_allowed=is_allowed, reason=reason) if not is_allowed:
                self._line(warn(f"  not allowed ({reason})"))
            case PlanUpdated(entries=entries):
                for entry in entries:
                    self._line(dim(f"  [{_MARKS[str(entry.status)]}] "), clean(entry.content))
            case ContextCompacted():
                self._line(
                    dim(
                        f"  the conversation was summed up: {event.before_tokens} -> {event.after_tokens} tokens"
                    )
                )
            case Retrying():
                self._line(warn(f"  {clean(event.reason)}; trying again in {event.wait_s:.0f} s"))
            case TurnEnded():
                self.ended = event
                self.finish()
            case _:
                pass

    def take(self, event: SessionEvent) -> None:
        """Keeps what is asked for at the end, and shows nothing."""
        match event:
            case TextDelta(text=text):
                self.text += text
            case ToolCalled():
                self.calls += 1
            case TurnEnded():
                self.ended = event
            case _:
                pass

    def finish(self) -> None:
        """Ends an unfinished line."""
        self._leave_thinking()
        if self._is_unfinished:
            self._output.line()
            self._is_unfinished = False
        self._output.flush()

    def _ended_call(self, event: ToolEnded) -> None:
        if event.outcome == "done":
            for diff in event.result.diffs:
                self._line(good(f"  {clean(diff.path)}"), dim("" if diff.old_text is not None else " (new)"))
            return
        said = cut(" ".join(clean(event.result.text).split()), _LONGEST_RESULT)
        self._line(bad(f"  {event.outcome}: "), said)

    def _leave_thinking(self) -> None:
        if self._is_thinking:
            self._is_thinking = False
            if self._is_unfinished:
                self._output.line()
                self._is_unfinished = False

    def _part(self, piece: Piece) -> None:
        self._output.part(piece)
        words = piece if isinstance(piece, str) else piece.text
        self._is_unfinished = not words.endswith("\n")

    def _line(self, *pieces: Piece) -> None:
        if self._is_quiet:
            return
        self.finish()
        self._output.line(*pieces)
        self._output.flush()


def ask_person(output: Output, question: PermissionQuestion, read: Callable[[str], str]) -> Answer:
    """Puts a question to the person at the terminal, until it is answered; no answer at all is a deny."""
    output.line(warn("? "), bold(cut(clean(question.title), 200)), dim(f"  ({question.tool})"))
    for place in question.locations:
        output.line(dim(f"  {clean(place.path)}{f':{place.line}' if place.line else ''}"))
    for name, value in question.arguments.items():
        output.line(dim(f"  {clean(name)} = "), cut(" ".join(clean(str(value)).split()), 200))
    while True:
        try:
            word = read("  allow? [y]es, [a]lways, [n]o, never: ").strip().lower()
        except EOFError:
            return Answer.DENY_ONCE
        if word in _ANSWERS:
            return _ANSWERS[word]


def usage_words(usage: Usage) -> str:
    """What a turn spent, in a few words."""
    cost = "" if usage.cost_usd is None or not usage.cost_usd else f", ${usage.cost_usd:.4f}"
    return f"{usage.input_tokens} tokens in, {usage.output_tokens} out{cost}"
