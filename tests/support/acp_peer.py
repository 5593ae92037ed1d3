"""The harness's end of an `AcpMachine` in memory: says lines, and reads what the machine wrote."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from inspan.model.plan import TransportSettings
from inspan.model.reports import ReportBody, Reported
from inspan.transports.acp import AcpMachine
from inspan.transports.machine import Outgoing, Step

__all__ = ["SESSION", "AcpPeer", "chunk", "line", "update"]

SESSION = "ses-1"


def line(message: object) -> bytes:
    """The message as a line."""
    return json.dumps(message).encode() + b"\n"


def chunk(text: str, *, kind: str = "agent_message_chunk", session: str = SESSION) -> dict[str, Any]:
    """A `session/update` with a piece of a message."""
    return update({"sessionUpdate": kind, "content": {"type": "text", "text": text}}, session=session)


def update(content: dict[str, Any], *, session: str = SESSION) -> dict[str, Any]:
    """A `session/update`."""
    return {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {"sessionId": session, "update": content},
    }


class AcpPeer:
    """Answers a machine's calls, each by hand.

    Attributes:
        machine: The machine.
        reports: Everything that it reported.
        outgoing: Everything that it wrote.
    """

    def __init__(self, **settings: Any) -> None:
        self.settings = msgspec.structs.replace(TransportSettings(workspace="/w"), **settings)
        self.machine = AcpMachine(self.settings)
        self.reports: list[Reported] = []
        self.outgoing: list[Outgoing] = []

    def take(self, step: Step) -> list[ReportBody]:
        """Keeps a step, and returns what it reports."""
        self.reports += step.reports
        self.outgoing += step.outgoing
        return [report.body for report in step.reports]

    def say(self, *messages: object) -> list[ReportBody]:
        """Feeds messages, and returns what the machine reports."""
        return self.take(self.machine.feed(b"".join(line(message) for message in messages)))

    def result(self, value: object, *, to: str | None = None) -> list[ReportBody]:
        """Answers the machine's last call (of method `to`) with a result."""
        return self.say({"jsonrpc": "2.0", "id": self.call(to)["id"], "result": value})

    def error(self, code: int, message: str = "no", data: object = None) -> list[ReportBody]:
        """Answers the machine's last call with an error."""
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        return self.say({"jsonrpc": "2.0", "id": self.call()["id"], "error": error})

    def written(self) -> list[dict[str, Any]]:
        """All messages that the machine wrote."""
        return [json.loads(one.data) for one in self.outgoing]

    def call(self, method: str | None = None) -> dict[str, Any]:
        """The last call that the machine wrote."""
        calls = [one for one in self.written() if "method" in one and "id" in one]
        return [one for one in calls if method in (None, one["method"])][-1]

    def connect(self, **capabilities: Any) -> list[ReportBody]:
        """Goes through `initialize`."""
        self.take(self.machine.start())
        return self.result({"protocolVersion": 1, "agentCapabilities": capabilities})

    def open(self, result: dict[str, Any] | None = None) -> list[ReportBody]:
        """Goes through `initialize` and `session/new`."""
        self.connect()
        return self.result({"sessionId": SESSION, **(result or {})})

    def prompt(self, delivery: str = "d1", text: str = "hello") -> None:
        """Lets the machine send a prompt."""
        self.take(self.machine.prompt(delivery, text))

    def ask(self, wire_id: object = 0, **params: Any) -> list[ReportBody]:
        """Sends a permission request."""
        values = {
            "sessionId": SESSION,
            "toolCall": {"toolCallId": "t1"},
            "options": [
                {"optionId": "y", "name": "Yes", "kind": "allow_once"},
                {"optionId": "n", "name": "No", "kind": "reject_once"},
            ],
            **params,
        }
        return self.say(
            {"jsonrpc": "2.0", "id": wire_id, "method": "session/request_permission", "params": values}
        )
