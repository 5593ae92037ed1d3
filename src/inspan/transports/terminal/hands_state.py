"""What is durable of a console's hands, and how their faults and endings are told."""

from __future__ import annotations

from typing import Literal

import msgspec

from inspan.model.attention import AttentionRaised
from inspan.model.console import KeptError
from inspan.model.turn import CallError, TurnOutcome
from inspan.model.typing_recipe import TypingBlock

from .dialogs import Answering
from .typist import Typed

__all__ = [
    "FAULTS",
    "FAULT_OUTCOMES",
    "LEFTOVER_IGNORES",
    "OUTCOMES",
    "Ended",
    "HandsState",
    "OpenDialog",
    "call_error",
    "tell_opened",
]

FAULTS: dict[str, tuple[str, str]] = {
    "covered": (
        "command_unclear",
        "The command was submitted, and since then its input line is not seen: what it opened is not known.",
    ),
    "unsubmitted": (
        "call_failed",
        "It was cancelled before it was submitted; its text may stand in the input line.",
    ),
    "unclear": (
        "typing_touched",
        "A person typed right after the text was submitted, and no work was seen: it may have been taken or not.",
    ),
    "untaken": (
        "call_failed",
        "It was cancelled after the inbox took it and before its turn was seen to begin; it may begin all the same.",
    ),
    "touched": (
        "typing_touched",
        "A person typed while the text stood in the input line; it was not submitted.",
    ),
    "swallowed": (
        "typing_swallowed",
        "The text was typed and did not show up in the input line; it was not submitted.",
    ),
    "ignored": (
        "submit_ignored",
        "The text stands in the input line, and the keys that submit it were not taken.",
    ),
}
LEFTOVER_IGNORES: frozenset[TypingBlock] = frozenset({"draft", "not_ready"})
"""What does not keep a text of ours from being cleared."""

FAULT_OUTCOMES = {
    "covered": TurnOutcome.LOST,
    "unsubmitted": TurnOutcome.CANCELLED,
    "untaken": TurnOutcome.LOST,
    "unclear": TurnOutcome.LOST,
}
OUTCOMES = {
    "completed": TurnOutcome.COMPLETED,
    "failed": TurnOutcome.FAILED,
    "limited": TurnOutcome.LIMITED,
    "cancelled": TurnOutcome.CANCELLED,
}


class OpenDialog(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A dialog that was reported.

    Attributes:
        wire_id: What it was reported as.
        fingerprint: What it asks.
        answering: The answer that is on its way.
    """

    wire_id: str
    fingerprint: str
    answering: Answering | None = None


class Ended(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The newest prompt whose turn's end was seen, and not told: a hook that comes later knows it better.

    Attributes:
        delivery: The delivery.
        outcome: How it seemed to end.
        is_witnessed: The harness had told this very prompt.
        turn: The harness's own id of the turn, where it told one.
    """

    delivery: str
    outcome: TurnOutcome
    is_witnessed: bool = False
    turn: str = ""


class HandsState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is durable.

    Attributes:
        typed: The prompt that is on its way.
        dialog: The dialog that is open.
        dialogs: How many were reported.
        ended: The newest prompt whose end was only seen.
        leftover: Whether text of ours, and of nobody else, stands in the input line: it is to be cleared, or is
            being cleared.
    """

    typed: Typed | None = None
    dialog: OpenDialog | None = None
    dialogs: int = 0
    ended: Ended | None = None
    leftover: Literal["", "stands", "clearing"] = ""


def call_error(error: KeptError | None) -> CallError | None:
    """An error that a console showed, as one of a turn."""
    if error is None:
        return None
    code = error.code or "call_failed"
    until = f" It resets at {error.resets}." if error.resets else ""
    return CallError(code=code, message=(error.message or code) + until)


def tell_opened(delivery: str) -> AttentionRaised:
    """That a command of the console opened a dialog, which is not over with the command."""
    return AttentionRaised(
        code="command_opened_dialog",
        message="A command of the console opened a dialog; prompts wait until it is closed.",
        hint="`inspan attach SEAT` shows it: answer it, or close it.",
        delivery=delivery,
    )
