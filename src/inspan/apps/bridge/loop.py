"""The loop: one look at the queue after the other, one task at a time, the oldest first, until it is told to stop."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Generator, Sequence

import msgspec

from inspan.apps.client import JsonObject

from .delivering import Courier
from .prompt import one_safe_line
from .queue import Claim, Queue, QueueTrouble

__all__ = ["Looper", "Stopper", "Tally", "heeding_signals"]

_SLICE_S = 0.2
_MOST_ANNOUNCED = 10_000


class Tally(msgspec.Struct, kw_only=True):
    """What one look came to: how many tasks were seen, brought, failed, left.

    Attributes:
        seen: Tasks that waited.
        delivered: Brought, and taken.
        failed: Brought, and closed as failed by the bridge.
        skipped: Left to others: filtered, or somebody was quicker.
        prompts: Of a dry run: what an agent would be told.
        is_unanswered: The app did not say what waits.
    """

    seen: int = 0
    delivered: int = 0
    failed: int = 0
    skipped: int = 0
    prompts: list[JsonObject] = []
    is_unanswered: bool = False

    def to_wire(self) -> JsonObject:
        """As the programs print it."""
        return {
            "seen": self.seen,
            "delivered": self.delivered,
            "failed": self.failed,
            "skipped": self.skipped,
        }


class Stopper:
    """Whether the bridge was told to stop. A wait notices it within a fifth of a second."""

    def __init__(self) -> None:
        self.is_set = False

    def stop(self) -> None:
        """Tells it."""
        self.is_set = True

    def wait(self, seconds: float) -> None:
        """Waits so long, or until it was told."""
        deadline = time.monotonic() + seconds
        while not self.is_set and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(_SLICE_S, left))


@contextlib.contextmanager
def heeding_signals(stopper: Stopper) -> Generator[None]:
    """Within the block, SIGINT and SIGTERM tell `stopper`: the task at hand is finished, then the bridge ends."""

    def told(number: int, frame: object) -> None:
        del number, frame
        stopper.stop()

    before = {number: signal.signal(number, told) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Looper:
    """Looks at one queue.

    Args:
        queue: The queue.
        courier: Who brings what was claimed.
        capabilities: Which capabilities are brought; all where none is given.
        stopper: Whether to stop.
        say: Writes a line into the log.
    """

    def __init__(
        self,
        queue: Queue,
        courier: Courier,
        *,
        capabilities: Sequence[str],
        stopper: Stopper,
        say: Callable[[str], None],
    ) -> None:
        self._queue = queue
        self._courier = courier
        self._capabilities = frozenset(capabilities)
        self._stopper = stopper
        self._say = say
        self._trouble = ""
        self._announced: set[str] = set()

    def run(self, interval_s: float) -> None:
        """Looks again and again. Whatever goes wrong in one look is said, and the next one comes."""
        while not self._stopper.is_set:
            try:
                self.look()
            except Exception as error:  # noqa: BLE001 - one task must not end the loop for all others
                self._say(f"A look at the queue failed: {type(error).__name__}: {error}")
            self._stopper.wait(interval_s)

    def look(self, *, is_dry: bool = False) -> Tally:
        """Looks once, and brings all that waits.

        Args:
            is_dry: Nothing is claimed; what an agent would be told is given instead.
        """
        tally = Tally()
        try:
            waiting = self._queue.waiting()
        except QueueTrouble as trouble:
            tally.is_unanswered = True
            # Once for each trouble, or the log would be full of it.
            if str(trouble) != self._trouble:
                self._trouble = str(trouble)
                self._say(f"{trouble} It is asked again.")
            return tally
        if self._trouble:
            self._trouble = ""
            self._say("The app is answering again.")
        for task in waiting:
            if self._stopper.is_set:
                break
            tally.seen += 1
            if self._capabilities and task.capability not in self._capabilities:
                tally.skipped += 1
                self._announce(
                    task.id, f"{task.id} wants {one_safe_line(task.capability)}, which is not brought here."
                )
            elif is_dry:
                prompt = self._courier.prompt_for(Claim(task, ""))
                tally.prompts.append({"task": task.id, "capability": task.capability, "prompt": prompt})
            else:
                try:
                    claim = self._queue.claim(task)
                except QueueTrouble as trouble:
                    tally.skipped += 1
                    self._say(str(trouble))
                    continue
                if claim is None:
                    tally.skipped += 1
                    continue
                self._bring(claim, tally)
        return tally

    def _bring(self, claim: Claim, tally: Tally) -> None:
        match self._courier.deliver(claim):
            case "delivered":
                tally.delivered += 1
            case "failed":
                tally.failed += 1
            case "lost":
                tally.skipped += 1

    def _announce(self, task: str, line: str) -> None:
        if task not in self._announced and len(self._announced) < _MOST_ANNOUNCED:
            self._announced.add(task)
            self._say(line)
