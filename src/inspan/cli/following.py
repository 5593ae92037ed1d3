"""Following one prompt to its end: what `run` and `send --wait` do after it is queued."""

from __future__ import annotations

import sys
import time
from typing import NamedTuple

from inspan.model.errors import InspanError

from .context import Context, at
from .exits import Exit, exit_of_delivery, exit_of_outcome
from .fields import Json, record, text
from .interrupts import Interrupts
from .output import Piece, dim, toned, warn
from .questions import Questions
from .rendering import Renderer

__all__ = ["Ending", "Follower", "has_person", "is_over", "tell_ending"]


class Ending(NamedTuple):
    """What became of a prompt.

    Attributes:
        status: The exit status that says it.
        delivery: The delivery's view.
        turn: The turn's view; empty where none began.
        text: What the harness answered, put together.
        permissions: How its permission requests were answered.
        waiting: Ids of permission requests that are still open.
    """

    status: Exit
    delivery: Json
    turn: Json
    text: str
    permissions: list[Json]
    waiting: list[str]

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
        if self._renderer is not None and kind not in ("delivery_queued", "delivery_sending"):
            self._renderer.show(envelope)
        self._questions.note(kind, self._seat, event)
        if kind == "turn_ended":
            return True
        ends = kind in ("delivery_held", "delivery_refused", "delivery_failed", "delivery_unknown")
        return ends and is_over(record(self._context.get(at("deliveries", self._id))))

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
        turn = record(self._context.get(at("turns", self._turn))) if self._turn else {}
        return Ending(
            status if status is not None else _status_of(delivery),
            delivery,
            turn,
            "".join(self._words),
            self._questions.answered,
            self._questions.open,
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


def tell_ending(context: Context, ending: Ending) -> None:
    """Prints what became of a prompt, and the next thing to do where there is one."""
    delivery, output = ending.delivery, context.output
    outcome, state = text(delivery, "turn_outcome"), text(delivery, "state")
    if outcome:
        output.remark("turn ", toned(outcome), dim(f"  {text(ending.turn, 'id')}"))
    else:
        output.remark("prompt ", toned(state), dim(f"  {text(delivery, 'id')}"))
    error = record(delivery, "error") or record(ending.turn, "error")
    if error:
        output.remark("  ", text(error, "message"))
    if ending.status in (Exit.TIMEOUT, Exit.NEEDS_PERSON) and not ending.waiting and state != "held":
        output.remark(f"  time ran out; it goes on: `inspan watch {text(delivery, 'seat')}`")
    for request in ending.waiting:
        is_form = request.startswith("q")
        how = f"answer {request} --field NAME=VALUE" if is_form else f"approve {request}"
        other = f"answer {request} --decline" if is_form else f"deny {request}"
        output.remark(f"  next: `inspan {how}` or `inspan {other}`")
    if hint := text(delivery, "hint") or text(error, "hint"):
        output.remark("  next: ", hint)


def _status_of(delivery: Json) -> Exit:
    if outcome := text(delivery, "turn_outcome"):
        return exit_of_outcome(outcome)
    return exit_of_delivery(text(delivery, "state")) or Exit.TIMEOUT
