"""Last words: a turn that ended well and told an error as its answer, kept apart from a model that quotes one."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from inspan.model.diagnosis import TurnTextFailure
from inspan.model.reports import PromptAnswered
from inspan.model.turn import CallError, TurnOutcome

from .diagnosing import diagnose_text

__all__ = ["ReadWords", "read_last_words"]


class ReadWords(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn's last words say.

    Attributes:
        error: The failure that they tell.
        rule: The manifest's rule that reads them.
        is_certain: They are the harness's own: nothing was said at all, or the harness counted no token that a
            model wrote. Anybody can have a model say an error, so any other words settle nothing.
    """

    error: CallError
    rule: str
    is_certain: bool

    @property
    def outcome(self) -> TurnOutcome:
        """How the turn ended, where it is certain."""
        return TurnOutcome.LIMITED if self.error.code == "limited" else TurnOutcome.FAILED


def read_last_words(body: PromptAnswered, failures: Sequence[TurnTextFailure]) -> ReadWords | None:
    """What the last message of a turn tells that ended well; `None` where no rule knows it.

    Only the agent's last message is read, from where it begins: what a user, a thought, a tool or an earlier
    message says is not looked at.
    """
    if body.outcome is not TurnOutcome.COMPLETED or body.last_words is None:
        return None
    found = diagnose_text(body.last_words, failures)
    if found is None:
        return None
    error, index = found
    is_certain = not body.last_words or body.model_wrote is False
    return ReadWords(error=error, rule=f"manifest.turn_text_failures[{index}]", is_certain=is_certain)
