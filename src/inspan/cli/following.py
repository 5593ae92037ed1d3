"""Following one prompt to its end: what `run` and `send --wait` do after it is queued."""

from __future__ import annotations

import sys
import time
from typing import NamedTuple

from inspan.model.errors import InspanError

from .context import Context, at
from .exits import Exit, exit_of_delivery, exit_of_outcome
from .fields import Json, held_words, record, text
from .interrupts import Interrupts
from .output import Piece, dim, toned, warn
from .phrases import outcome_words, usage_words
from .questions import Questions
from .rendering import Renderer

__all__ = ["Ending", "Follower", "has_person", "is_over", "tell_ending", "turn_view"]

_MAY_BE_LAST = ("delivery_held", "delivery_refused", "delivery_failed", "delivery_unknown")
_TOLD_AT_THE_END = (*_MAY_BE_LAST, "turn_ended", "launch_ended", "session_open_failed")
"""Kinds of events whose errors are one story with the prompt's own end."""


class Ending(NamedTuple):
    """What became of a prompt.

    Attributes:
        status: The exit status that says it.
        delivery: The delivery's view.
        turn: The turn's view; empty where none began.
        text: What the harness answered, put together.
        permissions: How its permission requests were answered.
        waiting: Ids of permission requests that are still open.
        errors: What events on the way said went wrong, beside the delivery's and the turn's own errors.
        has_run_out: Time ran out: the prompt's story goes on.
    """

    status: Exit
    delivery: Json
    turn: Json
    text: str
    permissions: list[Json]
    waiting: list[str]
    errors: list[Json]
    has_run_out: bool

    def as_json(self) -> Json:
        """The value that `--json` prints."""
        return {
            "exit_status": int(self.status),
            "delivery": self.delivery,
            "turn": self.turn or None,
            "text": self.text,
            "permissions": self.permissions,
            "waiting": self.waiting,
        }


class Follower:
    """Follows one delivery.

    The events of other turns of the seat are passed over: what is shown is this prompt's own story.
    """

    def __init__(
        self, context: Context, delivery: Json, *, renderer: Renderer | None, can_ask: bool, after: int
    ):
        """Begins at a position.

        Args:
            context: Where to ask.
            delivery: The delivery's view, as the daemon answered.
            renderer: Shows what happens; `None` keeps silent.
            can_ask: Whether a person at the terminal answers permission requests.
            after: The position of the log before the prompt was queued.
        """
        self._context = context
        self._seat = text(delivery, "seat")
        self._id = text(delivery, "id")
        self._turn = text(delivery, "turn")
        self._renderer = renderer
        self._questions = Questions(context, renderer, can_ask=can_ask)
        self._after = after
        self._has_begun = False
        self._words: list[str] = []
        self._message = ""
        self._errors: list[Json] = []

    def follow(self, *, timeout_s: float | None = None) -> Ending:
        """Waits until the prompt's turn has ended, or the prompt will have none, or time ran out.

        Ctrl-C asks for the turn to be cancelled, or takes the prompt out of the queue; a second one raises
        `KeyboardInterrupt`, and the turn goes on.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        stream = self._context.stream(
            seat=self._seat, after=self._after, is_reviving=True, on_gap=self._tell_gap
        )
        try:
            with Interrupts() as interrupts:
                while True:
                    left = None if deadline is None else deadline - time.monotonic()
                    inputs = [interrupts.fileno(), *self._questions.inputs()]
                    got = stream.next(timeout_s=left, beside=inputs)
                    if got is None:
                        return self._end(Exit.NEEDS_PERSON if self._questions.open else Exit.TIMEOUT)
                    if isinstance(got, dict):
                        if self._take(got):
                            return self._end(None)
                    elif got == interrupts.fileno():
                        interrupts.take()
                        self._cancel()
                    else:
                        self._questions.read()
        finally:
            stream.close()
            if self._renderer is not None:
                self._renderer.finish()

    def _take(self, envelope: Json) -> bool:
        kind, event = text(envelope, "type"), record(envelope, "event")
        if kind.startswith("delivery_") and text(event, "delivery") != self._id:
            return False
        self._has_begun = self._has_begun or kind == "delivery_queued"
        if not self._has_begun:
            return False
        if kind == "delivery_sending":
            self._turn = text(event, "turn")
        elif not self._is_ours(kind, envelope, event):
            return False
        if kind == "message_chunk" and text(event, "role") == "agent":
            self._hear(event)
        if kind in _TOLD_AT_THE_END and (error := record(event, "error")):
            self._errors.append(error)
            event = {**event, "error": None}
        is_last = kind == "turn_ended" or (
            kind in _MAY_BE_LAST and is_over(record(self._context.get(at("deliveries", self._id))))
        )
        if not is_last and kind not in ("delivery_queued", "delivery_sending"):
            self._show(kind, envelope, event)
        self._questions.note(kind, self._seat, event)
        return is_last

    def _show(self, kind: str, envelope: Json, event: Json) -> None:
        if kind == "permission_answered" and self._questions.is_answered_here(text(event, "request")):
            event = {**event, "by": "you"}
        if self._renderer is not None and not self._questions.is_asked_here(kind):
            self._renderer.show({**envelope, "event": event})

    def _is_ours(self, kind: str, envelope: Json, event: Json) -> bool:
        if kind.startswith("delivery_"):
            return True
        if not self._turn:
            # Before its turn begins, the harness's own start is the prompt's story too.
            return kind.startswith(("launch_", "session_open"))
        if kind.startswith(("launch_", "session_open")):
            return True
        return self._turn in (text(envelope, "turn"), text(event, "turn"))

    def _hear(self, event: Json) -> None:
        message = text(event, "message_id")
        if self._words and message != self._message:
            self._words.append("\n\n")
        self._message = message
        self._words.append(text(event, "text"))

    def _cancel(self) -> None:
        try:
            if self._turn:
                self._context.call("POST", at("seats", self._seat, "cancel"))
                self._say(warn("cancel requested"), dim("  Ctrl-C again leaves; the turn goes on"))
            else:
                self._context.call("DELETE", at("deliveries", self._id))
        except InspanError as error:
            self._say(warn(error.message), f" {error.hint}", dim("  Ctrl-C again leaves"))

    def _end(self, status: Exit | None) -> Ending:
        delivery = record(self._context.get(at("deliveries", self._id)))
        turn = turn_view(self._context, self._turn)
        return Ending(
            status if status is not None else _status_of(delivery),
            delivery,
            turn,
            "".join(self._words),
            self._questions.answered,
            self._questions.open,
            self._errors,
            has_run_out=status is not None,
        )

    def _tell_gap(self, why: str) -> None:
        self._say(dim(f"{why}; going on after the last event that was seen"))

    def _say(self, *pieces: Piece) -> None:
        if self._renderer is not None:
            self._renderer.line(*pieces)


def has_person() -> bool:
    """Whether somebody sits at the terminal who can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def is_over(delivery: Json) -> bool:
    """Whether nothing more comes of a delivery by itself."""
    if text(delivery, "turn_outcome"):
        return True
    return exit_of_delivery(text(delivery, "state")) is not None


def turn_view(context: Context, turn: str) -> Json:
    """The view of a turn; empty where there is none: a prompt that was being sent names a turn that may never begin."""
    if not turn:
        return {}
    try:
        return record(context.get(at("turns", turn)))
    except InspanError as error:
        if error.code != "unknown_turn":
            raise
        return {}


def tell_ending(context: Context, ending: Ending) -> None:
    """Prints what became of a prompt, each thing once, and what to do next where there is something."""
    delivery, turn, output = ending.delivery, ending.turn, context.output
    outcome, held = text(delivery, "turn_outcome"), held_words(delivery)
    if outcome:
        ended = {**turn, "outcome": outcome}
        output.remark("turn ", *outcome_words(ended), *usage_words(ended), dim(f"  {text(turn, 'id')}"))
    else:
        state = text(delivery, "state")
        output.remark(
            "prompt ", toned(state), warn(f" ({held})" if held else ""), dim(f"  {text(delivery, 'id')}")
        )
    errors = [record(delivery, "error"), record(turn, "error"), *ending.errors]
    for message in dict.fromkeys(text(error, "message") for error in errors):
        if message:
            output.remark("  ", message)
    if ending.has_run_out:
        why = "time ran out while a person owes an answer" if ending.waiting else "time ran out"
        output.remark(f"  {why}; it goes on: `inspan watch {text(delivery, 'seat')}`")
    for request in ending.waiting:
        is_form = request.startswith("q")
        how = f"answer {request} --field NAME=VALUE" if is_form else f"approve {request}"
        other = f"answer {request} --decline" if is_form else f"deny {request}"
        output.remark(f"  next: `inspan {how}` or `inspan {other}`")
    for hint in dict.fromkeys([*(text(error, "hint") for error in errors), text(delivery, "hint")]):
        if hint:
            output.remark("  next: ", hint)


def _status_of(delivery: Json) -> Exit:
    if outcome := text(delivery, "turn_outcome"):
        return exit_of_outcome(outcome)
    return exit_of_delivery(text(delivery, "state")) or Exit.TIMEOUT
