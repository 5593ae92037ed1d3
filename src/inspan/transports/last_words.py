"""Last words: where the last message of a turn begins, for harnesses that tell an error as if it were an answer."""

from __future__ import annotations

from typing import Any, Protocol

from inspan.model.content import MessageChunk, PlanUpdated, ToolCallUpdated

__all__ = ["LAST_WORDS_CHARACTERS", "RemembersWords", "forget_words", "note_words"]

LAST_WORDS_CHARACTERS = 2048
"""How much of a message is kept: what an error looks like stands in its first line."""


class RemembersWords(Protocol):
    """A machine's state, as far as its last words go.

    Attributes:
        last_words: The beginning of the turn's last message.
        last_words_id: The id of that message, where it has one.
    """

    last_words: str
    last_words_id: str | None


def note_words(state: RemembersWords, body: Any) -> bool:
    """Takes note of a report, and says whether the state changed.

    Only the agent's messages count, neither the user's nor thoughts, and nothing that is told again. A message begins where a turn, a thought, a plan or a tool call came before, or where its id is another one.
    """
    if isinstance(body, MessageChunk):
        if body.replay or body.role == "user":
            return False
        if body.role == "thought":
            return forget_words(state)
        return _add(state, body)
    if isinstance(body, ToolCallUpdated | PlanUpdated) and not body.replay:
        return forget_words(state)
    return False


def forget_words(state: RemembersWords) -> bool:
    """Begins anew, and says whether there was something to forget."""
    was_there = bool(state.last_words or state.last_words_id)
    state.last_words, state.last_words_id = "", None
    return was_there


def _add(state: RemembersWords, chunk: MessageChunk) -> bool:
    if chunk.message_id is not None and chunk.message_id != state.last_words_id:
        state.last_words, state.last_words_id = "", chunk.message_id
    room = LAST_WORDS_CHARACTERS - len(state.last_words)
    if room <= 0 or not chunk.text:
        return False
    state.last_words += chunk.text[:room]
    return True
