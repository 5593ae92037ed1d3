"""Sums up the older part of a session's conversation, by itself near the model's limit or when somebody asks."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import Struct

from inspan.agent.conversation import AssistantMessage, Summary, UserMessage
from inspan.agent.engine.contract import Engine
from inspan.agent.events import ContextCompacted
from inspan.agent.hook_events import PreCompact
from inspan.agent.hooks import HookBus
from inspan.agent.models.catalogue import FoundModel
from inspan.agent.sessions.compaction import (
    COMPACTION_SOURCE,
    INSTRUCTIONS,
    choose_kept,
    estimate_tokens,
    transcript_of,
)
from inspan.agent.sessions.history import History
from inspan.agent.sessions.log import SessionLog
from inspan.agent.sessions.records import CompactionKept, SessionRecord
from inspan.agent.text import clean_text
from inspan.agent.values import TextContent
from inspan.model.errors import HarnessError

__all__ = ["CompactionLimits", "Shortener"]

_LOG = logging.getLogger(__name__)
_LIMIT_TOKENS = 100_000
"""What a model is taken to read at once where nobody knows."""


class CompactionLimits(Struct, frozen=True, kw_only=True):
    """When a conversation is made shorter.

    Attributes:
        at: The part of the model's context at which it is.
        to: The part that its newest messages may take then.
    """

    at: float = 0.8
    to: float = 0.2


class Shortener:
    """Makes one conversation shorter: a session's, where what was summed up stays in its file, or a child agent's.

    Args:
        session_id: The session.
        subagent: The child agent whose conversation it is, empty for the session's own.
        history: The conversation, with the settings that name its model.
        keep: Takes a record, and folds it into the history.
        log: Where the records go; synced when a summary was kept.
        engine: Sums up.
        find_model: Looks up the model.
        hooks: Told before.
        limits: When it is done.
    """

    def __init__(
        self,
        *,
        session_id: str,
        subagent: str = "",
        history: History,
        keep: Callable[[SessionRecord], None],
        log: SessionLog,
        engine: Engine,
        find_model: Callable[[str], FoundModel],
        hooks: HookBus,
        limits: CompactionLimits,
    ) -> None:
        self._session_id = session_id
        self._subagent = subagent
        self._history = history
        self._keep = keep
        self._log = log
        self._engine = engine
        self._find_model = find_model
        self._hooks = hooks
        self._limits = limits

    def context_limit(self) -> int | None:
        """How many tokens the session's model takes; None if that is not known."""
        try:
            return self._find_model(self._model).described().context_tokens
        except HarnessError:
            return None

    async def make_room(self, input_tokens: int, *, is_forced: bool) -> ContextCompacted | None:
        """Shortens the conversation if it is near the limit, or if it is forced; None if nothing was changed."""
        limit = self.context_limit()
        taken = self._taken(input_tokens)
        if is_forced:
            keep = int((limit or taken) * self._limits.to)
        elif limit is None or taken < limit * self._limits.at:
            return None
        else:
            keep = int(limit * self._limits.to)
        try:
            return await self.shorten(input_tokens, keep_tokens=keep)
        except HarnessError as error:
            _LOG.warning("The conversation could not be made shorter: %s.", error.code)
            return None

    async def shorten(self, input_tokens: int, *, keep_tokens: int) -> ContextCompacted | None:
        """Sums up all but the newest messages, of about `keep_tokens`; None if there is nothing to sum up.

        Raises:
            HarnessError: `model_failed`; nothing was changed.
            StoreError: The summary could not be kept.
        """
        messages = self._history.messages
        kept = choose_kept(messages, keep_tokens)
        older = messages[: len(messages) - kept]
        if not older or all(isinstance(message, Summary) for message in older):
            return None
        before = max(input_tokens, estimate_tokens(messages))
        await self._hooks.emit(
            PreCompact(session_id=self._session_id, input_tokens=before, subagent=self._subagent)
        )
        # At two characters a token the text is within the limit whatever it is written in.
        told = transcript_of(older, (self.context_limit() or _LIMIT_TOKENS) * 2)
        asked = UserMessage(at=_now(), content=(TextContent(text=told),), source=COMPACTION_SOURCE)
        text, usage = await self._engine.summarise(self._model, (asked,), INSTRUCTIONS)
        summary = Summary(at=_now(), text=clean_text(text), usage=usage)
        self._keep(CompactionKept(summary=summary, kept=kept))
        await self._log.sync()
        return ContextCompacted(
            summary=summary.text,
            before_tokens=before,
            after_tokens=estimate_tokens(self._history.messages),
        )

    def _taken(self, input_tokens: int) -> int:
        """What the next request takes: the last one, as far as the model said it, and what came since."""
        messages = self._history.messages
        if not input_tokens:
            return estimate_tokens(messages)
        since = next(
            (
                index
                for index, message in enumerate(reversed(messages))
                if isinstance(message, AssistantMessage)
            ),
            0,
        )
        return input_tokens + estimate_tokens(messages[len(messages) - since :])

    @property
    def _model(self) -> str:
        settings = self._history.settings
        if settings is None:  # a session has settings from its first moment on
            raise AssertionError
        return settings.model


def _now() -> datetime:
    return datetime.now(UTC)
