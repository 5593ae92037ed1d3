"""Watching: what a transport may be able to do that sees its harness through a terminal."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from inspan.model.console_views import ConsoleExplanation, ForegroundView, ScreenView
from inspan.model.hooks import HookReport
from inspan.model.inbox import Inbox
from inspan.model.typing_recipe import Key, TypingBlock

from .machine import Step

__all__ = ["WatchingMachine"]


@runtime_checkable
class WatchingMachine(Protocol):
    """A machine that has a screen, which says something only when it is looked at.

    What the terminal answers by itself is no `Outgoing`: it is lost with the daemon and must not come late or
    twice. It is taken after each feed and handed to the holder with the offset that it belongs to.
    """

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        ...

    @property
    def is_at_ground(self) -> bool:
        """Whether no sequence is half fed, so that a redraw and what is written next fit together."""
        ...

    def look(self) -> Step:
        """Reads the screen; the step has reports only where something else is believed now."""
        ...

    def look_again_s(self) -> float | None:
        """After how many seconds another look may say something else though nothing is fed."""
        ...

    def take_reply(self) -> bytes:
        """What the terminal answered since the last call."""
        ...

    def resize(self, *, columns: int, rows: int) -> Step:
        """Takes another size, which was in force from the next byte on."""
        ...

    def note_foreground(self, foreground: ForegroundView) -> None:
        """Takes note of who has the terminal; the next look weighs it."""
        ...

    def note_person(self, *, is_typing: bool) -> None:
        """Takes note of whether a person who is attached is typing; nothing else is typed meanwhile."""
        ...

    def hear_hook(self, report: HookReport) -> tuple[Step, str]:
        """Takes an event of the harness's own hook system; the next look weighs what it claims.

        Returns:
            What it says, and, where it says nothing, why it was dropped.
        """
        ...

    def show_screen(self, *, seat: str, scrollback: int = 0) -> ScreenView:
        """What is shown now; `offset` is left to core."""
        ...

    def explain(self) -> ConsoleExplanation:
        """Why it is believed to be in its state: every rule is tried."""
        ...

    @property
    def can_type(self) -> bool:
        """Whether prompts can be typed: somebody said how."""
        ...

    def typing_blocks(self) -> tuple[TypingBlock, ...]:
        """Why nothing may be typed now, as far as the screen tells, the strongest first; empty where it may."""
        ...

    @property
    def inbox(self) -> Inbox | None:
        """How the harness's own program hands over a prompt, where that is to be used."""
        ...

    def type_prompt(
        self, delivery: str, text: str, *, ignores: tuple[TypingBlock, ...] = (), is_posted: bool = False
    ) -> Step:
        """Takes a prompt, which the next looks type; where something stands in the way they take it back.

        Args:
            delivery: The delivery.
            text: The prompt, checked.
            ignores: What the operator said not to mind.
            is_posted: It goes into the inbox, by a write of the purpose `inbox` whose data is its text.
        """
        ...

    def press(self, keys: tuple[Key, ...]) -> Step:
        """Has an operator's keys pressed, whatever is seen; only another program in front keeps them back."""
        ...

    def check_write(self, purpose: str) -> TypingBlock:
        """Why a write may not go out now, though it was decided on a moment ago; empty where it may."""
        ...

    def note_written(self, purpose: str, data: bytes, *, block: TypingBlock) -> Step:
        """Says that a write went out whole, or, with `block`, that it was held back and nothing of it went out.

        Of an inbox, `command` says that it refused the prompt, and `typing` that nobody knows what became of it.
        """
        ...

    def redraw(self) -> bytes:
        """What draws the screen on another terminal of the same size."""
        ...

    def close(self) -> None:
        """Frees the terminal. May be called twice; nothing else may be called after it."""
        ...
