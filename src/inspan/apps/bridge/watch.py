"""Watching a claim while an agent works: is it still ours, was the task called off, did the agent say how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from .queue import Claim, Queue, QueueTrouble

__all__ = ["ClaimWatch", "Verdict"]

Verdict = Literal["", "reported", "canceled", "claim_lost"]
"""Why an agent need not go on; empty while it is to."""


class ClaimWatch:
    """Looks at a claimed task now and then, and keeps its lease.

    An app that does not answer changes nothing: it may be back before the lease ends.

    Args:
        queue: The app's queue.
        claim: What is claimed.
        look_s: Seconds between two looks.
        heartbeat_s: Seconds between two words for the lease.
        now: The clock.
    """

    def __init__(
        self,
        queue: Queue,
        claim: Claim,
        *,
        look_s: float,
        heartbeat_s: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue = queue
        self._claim = claim
        self._look_s = look_s
        self._heartbeat_s = heartbeat_s
        self._now = now
        self._next_look = now() + min(look_s, heartbeat_s)
        self._next_word = now() + heartbeat_s
        self.verdict: Verdict = ""

    def turn(self) -> Verdict:
        """Does what is due; call it often. A verdict stays."""
        if self.verdict or self._now() < self._next_look:
            return self.verdict
        self._next_look = self._now() + self._look_s
        try:
            self.verdict = self._look()
        except QueueTrouble:
            return ""
        return self.verdict

    def _look(self) -> Verdict:
        task = self._queue.look(self._claim)
        if task is not None and task.claimed_at == self._claim.claimed_at:
            if task.status == "canceled":
                return "canceled"
            if task.is_over:
                return "reported"
        if not self._claim.is_still_ours(task):
            # Called off while nobody had it, perhaps: either way it is not ours.
            return "canceled" if task is not None and task.status == "canceled" else "claim_lost"
        # A word would end the wait of an agent that asked something.
        if task is not None and task.status == "working" and self._now() >= self._next_word:
            self._next_word = self._now() + self._heartbeat_s
            if not self._queue.keep(self._claim):
                return self._after_refusal()
        return ""

    def _after_refusal(self) -> Verdict:
        """The word came too late for this claim, or just after the agent closed the task."""
        task = self._queue.look(self._claim)
        if task is not None and task.is_over and task.claimed_at == self._claim.claimed_at:
            return "canceled" if task.status == "canceled" else "reported"
        return "claim_lost"
