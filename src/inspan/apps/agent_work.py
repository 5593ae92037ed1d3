"""Whether an app has work for an agent, and whether anything here would take it to one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from .client import AppClient, AppUnreachable, JsonObject
from .files import read_json
from .folder import Folder, is_of_another
from .processes import is_same_process

__all__ = ["bridge_record", "code_files", "work_of"]

_TRIGGER = re.compile(rb"\btrigger\s*\((?:[^()]|\([^()]*\)){0,2000}?\bcapability\b", re.DOTALL)
_CODE = frozenset([".py", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".go"])
_NOT_CODE = frozenset(
    [".a2app", ".git", ".venv", "venv", "node_modules", "__pycache__", "dist", "build", "data"]
)
_MOST_FILES = 2000
_LARGEST_BYTES = 1024 * 1024
_ASK_S = 0.75


def work_of(folder: Folder, base_url: str | None) -> JsonObject:
    """The app's `agentWork`, as `serve` and `bridge status` say it.

    What is not known is None, and never 0.

    Args:
        folder: The app.
        base_url: Where it answers as itself, or None while it does not.
    """
    record = bridge_record(folder)
    waiting = _tasks_waiting(folder, base_url) if base_url is not None else None
    is_live = bool(record) and record["isLive"]
    target: object = record.get("baseUrl")
    return {
        "state": "running" if is_live else "stale" if record else "absent",
        "running": is_live,
        "queuesAgentWork": bool(waiting) or _queues_work(folder.path),
        "tasksWaiting": waiting,
        "baseUrl": base_url,
        "bridgeTargetsLive": (target == base_url if isinstance(target, str) else None) if is_live else None,
    }


def bridge_record(folder: Folder) -> JsonObject:
    """What the app's bridge wrote down of itself, with `isLive`: whether that process lives. Empty without one."""
    try:
        value = read_json(folder.state / "bridge.json")
    except (OSError, ValueError):
        return {}
    record = dict(cast("dict[str, Any]", value)) if isinstance(value, dict) else {}
    pid, birth = record.get("pid"), record.get("birth")
    if (
        not isinstance(pid, int)
        or isinstance(pid, bool)
        or is_of_another(record, folder.state / "bridge.json")
    ):
        return {}
    record["isLive"] = is_same_process(pid, birth if isinstance(birth, str) else "")
    return record


def code_files(folder: Path) -> Iterator[Path]:
    """The app's own source files, without what was built, fetched or stored."""
    left = _MOST_FILES
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _NOT_CODE and not name.startswith("."))
        for name in sorted(names):
            if os.path.splitext(name)[1] in _CODE:
                yield Path(place) / name
                left -= 1
                if left <= 0:
                    return


def _queues_work(folder: Path) -> bool:
    """Whether the code anywhere triggers an event with a capability: a look at the text, not a run."""
    for path in code_files(folder):
        try:
            with open(path, "rb") as file:
                text = file.read(_LARGEST_BYTES)
        except OSError:
            continue
        if b"capability" in text and _TRIGGER.search(text):
            return True
    return False


def _tasks_waiting(folder: Folder, base_url: str) -> int | None:
    try:
        with AppClient(
            base_url,
            token=folder.token(),
            agent="agent-app-status",
            timeout_s=_ASK_S,
            largest_bytes=_LARGEST_BYTES,
        ) as client:
            reply = client.tasks("submitted")
    except AppUnreachable:
        return None
    tasks: object = reply.body.get("tasks")
    return len(cast("list[object]", tasks)) if reply.is_ok and isinstance(tasks, list) else None
