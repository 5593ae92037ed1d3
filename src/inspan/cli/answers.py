"""Answers in words: who gave one."""

from __future__ import annotations

__all__ = ["by_whom"]

_WORDS = {
    "you": "by you",
    "operator": "by an operator",
    "posture": "by the seat's posture",
    "expiry": "because nobody answered in time",
    "policy": "by what its operator allowed for this workspace",
    "cancel": "because the turn was cancelled",
    "launch_end": "because the harness ended",
    "harness": "by the harness itself",
}


def by_whom(by: str) -> str:
    """Who or what answered; `you` is not in the log, it is said to whoever typed the answer just now."""
    return _WORDS.get(by, f"by {by or 'unknown'}")
