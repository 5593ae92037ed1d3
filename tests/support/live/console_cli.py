"""A seat on a real console, driven by nothing but the command line."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from support.live.acting_consoles import ActingConsole
from support.live.inspan_cli import InspanCli, Json
from support.live.target import ReadyTarget

__all__ = ["SEAT", "ConsoleCli"]

SEAT = "tester"
_READ_S = 1.0
"""How long a person reads what is asked."""


class ConsoleCli:
    """One seat in terminal mode.

    Args:
        console: What is known of its harness's console.
        ready: The harness, and the arena.
    """

    def __init__(self, console: ActingConsole, ready: ReadyTarget) -> None:
        self.inspan = InspanCli(ready.arena)
        self._console = console
        self._harness = ready.harness

    def start(self) -> None:
        """Adds the seat, starts it, and waits until a prompt may be typed."""
        walk = self._console.walk
        options = ["--mode", "terminal", "--approvals", walk.posture.approvals.value]
        options += ["--trust-workspace"] if walk.is_gated else []
        # What a hook tells is for other tests: some ask first whether they may tell it.
        self.inspan.add_seat(SEAT, self._harness, *options, "--no-hooks")
        self.inspan.call("start", SEAT)
        self.inspan.until(self._is_free, "a console that is free")

    def show(self) -> Json:
        """The seat."""
        return self.inspan.seat(SEAT)

    def send(self, text: str) -> str:
        """Gives a prompt to the seat; the delivery's id."""
        return self.inspan.send(SEAT, text)["id"]

    def find(self, delivery: str) -> Json:
        """A delivery."""
        return self.inspan.call("delivery", "show", delivery)

    def asked(self) -> Json:
        """The one permission request that is open."""
        requests: Any = self.inspan.call("permissions")
        (found,) = requests
        return found

    def until_permission(self) -> str:
        """The id of the permission request that is open, once one stands: while it is drawn it may change."""
        seen, since = "", 0.0

        def stands() -> str | None:
            nonlocal seen, since
            found = self.inspan.until_permission(SEAT)
            if found != seen:
                seen, since = found, time.monotonic()
            return found if time.monotonic() - since >= _READ_S else None

        return self.inspan.until(stands, "a permission request that stands")

    def file(self, name: str) -> Path:
        """A file of the workspace."""
        return self.inspan.arena.workspace / name

    def until_ended(self, delivery: str, outcome: str) -> None:
        """Waits until the turn of a delivery ended, as wanted."""

        def ended() -> Json | None:
            found = self.find(delivery)
            return found if found.get("turn_outcome") else None

        found = self.inspan.until(ended, f"the end of the turn of {delivery}")
        assert (found["turn_outcome"], found["state"] in ("rendered", "started")) == (outcome, True), found

    def until_running(self, tag: str) -> None:
        """Waits until the model was asked with `tag`, and its turn is seen to run."""
        self.inspan.until(
            lambda: bool(self.reached(tag)) and self.show()["status"] == "running", f"a turn for {tag}"
        )

    def until_answered(self, tag: str) -> None:
        """Waits until the model's answer to `tag` is out; asks Inspan nothing."""
        model = self.inspan.arena.model
        (number,) = [turn["number"] for turn in model.turns() if tag in turn["last_user_text"]]
        self.inspan.until(
            lambda: any(line["kind"] == "ended" and line["number"] == number for line in model.lines()),
            f"the end of the answer to {tag}",
        )

    def reached(self, tag: str) -> list[str]:
        """The newest user messages of the turns that the model was asked for, where `tag` is in them."""
        turns = self.inspan.arena.model.turns()
        newest = [self._console.said(turn) for turn in turns if not turn["has_tool_result"]]
        return [text for text in newest if tag in text]

    def check_reached(self, tag: str, wanted: list[str]) -> None:
        """The texts with `tag` reached the model once each, in this order, letter for letter."""
        assert self.reached(tag) == wanted

    def _is_free(self) -> bool:
        shown = self.show()
        assert shown["status"] not in ("failed", "exited"), shown
        console: Json = shown.get("console") or {}
        return bool(console.get("can_type")) and not console.get("typing_block")
