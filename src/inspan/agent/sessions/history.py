"""The conversation that a session's records tell. It is the same whether it was lived or read back."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from inspan.agent.conversation import (
    AssistantMessage,
    CallPart,
    CallResult,
    Message,
    ToolMessage,
    UserMessage,
)
from inspan.agent.permissions.values import Rule
from inspan.agent.sessions.records import (
    ChildUsageKept,
    CompactionKept,
    Header,
    MessageKept,
    PermissionKept,
    ResultKept,
    RuleKept,
    SessionRecord,
    SessionSettings,
    SettingsKept,
    TurnBegan,
    TurnFinished,
)
from inspan.agent.values import TextContent, ToolCall, ToolResult, Usage

__all__ = ["INTERRUPTED_CALL", "History", "title_of"]

INTERRUPTED_CALL = (
    "This call was interrupted: the agent was stopped during it. It may have run, whole or in part."
)
"""What stands for the result of a call that was never told."""

_LONGEST_TITLE = 80


class History:
    """Folds records.

    Attributes:
        header: The session's first line; None before it came.
        settings: The newest settings; None before they came.
        messages: What is sent to the model, oldest first.
        transcript: Every message ever, for people.
        rules: Those that answers made.
        turns: How many turns began.
        usage: What all requests spent.
    """

    def __init__(self, records: Iterable[SessionRecord] = ()) -> None:
        self.header: Header | None = None
        self.settings: SessionSettings | None = None
        self.messages: list[Message] = []
        self.transcript: list[Message] = []
        self.rules: list[Rule] = []
        self.turns = 0
        self.usage = Usage()
        self._asking: AssistantMessage | None = None
        self._results: dict[str, CallResult] = {}
        for record in records:
            self.add(record)

    def add(self, record: SessionRecord) -> None:
        """Takes the next record."""
        match record:
            case Header():
                self.header = record
            case SettingsKept(settings=settings):
                self.settings = settings
            case MessageKept(message=message):
                self._add_message(message)
            case ResultKept(at=at, result=result):
                self._add_result(at, result)
            case CompactionKept(summary=summary, kept=kept):
                self.settle()
                self.usage += summary.usage
                tail = self.messages[len(self.messages) - kept :]
                self.messages = [summary, *tail]
                self.transcript.append(summary)
            case RuleKept(rule=rule):
                self.rules.append(rule)
            case ChildUsageKept(usage=usage):
                self.usage += usage
            case TurnBegan(turn=turn):
                self.settle()
                self.turns = turn
            case TurnFinished():
                self.settle()
            case PermissionKept():
                pass

    def settle(self) -> None:
        """Gives every call without a result one that says it was interrupted. Nothing happens if there is none."""
        asking, self._asking = self._asking, None
        if asking is None:
            return
        results = tuple(
            self._results.get(call.id)
            or CallResult(call_id=call.id, tool=call.tool, result=ToolResult.error(INTERRUPTED_CALL))
            for call in _calls(asking)
        )
        self._append(ToolMessage(at=asking.at, results=results))

    def missing(self, message: ToolMessage) -> tuple[CallResult, ...]:
        """Of the results in `message`, those that no record told yet."""
        return tuple(result for result in message.results if result.call_id not in self._results)

    @property
    def is_asking(self) -> bool:
        """Whether calls of the newest message still want their results."""
        return self._asking is not None

    def _add_message(self, message: Message) -> None:
        self.settle()
        self._append(message)
        if isinstance(message, AssistantMessage):
            self.usage += message.usage
            if not message.is_partial and _calls(message):
                self._asking, self._results = message, {}

    def _add_result(self, at: datetime, result: CallResult) -> None:
        if self._asking is None:
            return
        self._results.setdefault(result.call_id, result)
        calls = _calls(self._asking)
        if all(call.id in self._results for call in calls):
            self._asking = None
            self._append(ToolMessage(at=at, results=tuple(self._results[call.id] for call in calls)))

    def _append(self, message: Message) -> None:
        self.messages.append(message)
        self.transcript.append(message)


def title_of(message: UserMessage) -> str:
    """A few words that name a session by its first prompt."""
    words = " ".join(part.text for part in message.content if isinstance(part, TextContent)).split()
    text = " ".join(words)
    return text if len(text) <= _LONGEST_TITLE else f"{text[: _LONGEST_TITLE - 1]}…"


def _calls(message: AssistantMessage) -> list[ToolCall]:
    return [part.call for part in message.parts if isinstance(part, CallPart)]
