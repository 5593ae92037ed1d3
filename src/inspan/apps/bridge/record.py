"""The record of a bridge, `.a2app/bridge.json`: who it is, what it uses, and which agent it runs at this moment."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import msgspec

from inspan.apps.client import JsonObject
from inspan.apps.files import read_json, write_json
from inspan.apps.folder import Folder, is_of_another, mark_of
from inspan.apps.processes import end_tree, is_same_process

from .agent_run import end_group

__all__ = ["AgentMark", "BridgeRecord", "Record", "end_agent"]


class AgentMark(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that a bridge runs; it leads a process group of its own.

    Attributes:
        pid: Its process.
        birth: When that was born, as in `inspan.apps.processes`.
        task: The task that it works at.
    """

    pid: int
    birth: str
    task: str


class BridgeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a bridge writes down of itself.

    Attributes:
        pid: Its process.
        birth: When that was born; a pid alone may be somebody else's by now.
        harness: The harness.
        mode: The rung.
        interval_ms: Milliseconds between two looks at the queue.
        started_at: When it began, in ISO 8601.
        base_url: The app's address.
        gateway_pid: The gateway that this bridge started, if it did.
        gateway_birth: When that was born.
        agent: The agent that works now.
    """

    pid: int
    birth: str
    harness: str
    mode: str
    interval_ms: int
    started_at: str
    base_url: str = ""
    gateway_pid: int | None = None
    gateway_birth: str = ""
    agent: AgentMark | None = None

    @property
    def is_alive(self) -> bool:
        """Whether that very process lives."""
        return is_same_process(self.pid, self.birth)

    def to_wire(self) -> JsonObject:
        """As it stands in the file."""
        return {
            "pid": self.pid,
            "birth": self.birth,
            "harness": self.harness,
            "mode": self.mode,
            "intervalMs": self.interval_ms,
            "startedAt": self.started_at,
            "baseUrl": self.base_url,
            **(
                {"gatewayPid": self.gateway_pid, "gatewayBirth": self.gateway_birth}
                if self.gateway_pid
                else {}
            ),
            **(
                {"agent": {"pid": self.agent.pid, "birth": self.agent.birth, "task": self.agent.task}}
                if self.agent
                else {}
            ),
        }

    def to_public(self) -> JsonObject:
        """As the programs print it."""
        shown = {
            "pid": self.pid,
            "harness": self.harness,
            "mode": self.mode,
            "startedAt": self.started_at,
        }
        return {**shown, "baseUrl": self.base_url} if self.base_url else shown


class Record:
    """The record's file."""

    def __init__(self, folder: Folder) -> None:
        self.path: Path = folder.state / "bridge.json"

    def read(self) -> BridgeRecord | None:
        """What it says; `None` where there is none, or nothing that can be used.

        One that came along when the app was copied speaks of the other app's bridge, and does not count.
        """
        try:
            value = read_json(self.path)
        except (OSError, ValueError):
            return None
        raw = cast(JsonObject, value) if isinstance(value, dict) else {}
        pid = _pid(raw.get("pid"))
        if pid is None or is_of_another(raw, self.path):
            return None
        interval = raw.get("intervalMs")
        return BridgeRecord(
            pid=pid,
            birth=_text(raw.get("birth")),
            harness=_text(raw.get("harness")),
            mode=_text(raw.get("mode")),
            interval_ms=interval if isinstance(interval, int) else 0,
            started_at=_text(raw.get("startedAt")),
            base_url=_text(raw.get("baseUrl")),
            gateway_pid=_pid(raw.get("gatewayPid")),
            gateway_birth=_text(raw.get("gatewayBirth")),
            agent=_agent(raw.get("agent")),
        )

    def write(self, record: BridgeRecord) -> None:
        """Replaces it."""
        write_json(self.path, {**record.to_wire(), "folder": mark_of(self.path.parent.parent)})

    def clear(self, *, pid: int | None = None) -> None:
        """Removes it; with `pid` only if it is still that process's. Calling it twice is safe."""
        if pid is not None:
            found = self.read()
            if found is not None and found.pid != pid:
                return
        self.path.unlink(missing_ok=True)


def end_agent(mark: AgentMark | None, *, term_s: float = 2.0) -> bool:
    """Ends an agent whose bridge is gone, with its group; whether there was one. Nobody else is ever touched."""
    if mark is None or mark.pid <= 1 or not mark.birth or not is_same_process(mark.pid, mark.birth):
        return False
    end_tree(mark.pid, mark.birth, term_s=term_s)
    end_group(mark.pid, term_s=0.0, kill_s=2.0)
    return True


def _agent(value: object) -> AgentMark | None:
    raw = cast(JsonObject, value) if isinstance(value, dict) else {}
    pid = _pid(raw.get("pid"))
    if pid is None:
        return None
    return AgentMark(pid=pid, birth=_text(raw.get("birth")), task=_text(raw.get("task")))


def _pid(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 1 else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
