"""Checks of a bridge as data: what waits in an app's queue, what its agent does, what is asked of the bridge.

```toml
[[checks]]
name = "an agent that ends well and reports nothing has completed nothing"
agent = ["exit 0"]
tasks = [{ capability = "summarize" }]
bridge = ["start", "--once"]

[checks.expect]
exit = 1
match = { failed = 1 }
tasks = [{ status = "failed", reason = "no_outcome_reported" }]
runs = 1
```
"""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from inspan.model.errors import UsageError

__all__ = ["BridgeCheck", "BridgeClass", "BridgeExpected", "QueuedTask", "TaskExpected", "load_bridge_class"]


class QueuedTask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task that the app queues before the bridge is asked."""

    capability: str
    payload: dict[str, Any] = {}


class TaskExpected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What has become of a task, in the order in which they were queued; `reason` only where it is given."""

    status: str
    reason: str = ""


class BridgeExpected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What must be true afterwards.

    Attributes:
        exit: The bridge's exit status.
        match: The exact value at a dotted path of what it printed.
        has: Paths at which something other than null is.
        absent: Paths at which nothing or null is.
        contains: A piece of what it printed, on either output.
        tasks: What has become of the tasks.
        runs: How many agents were run.
        fenced: Pieces of text that stand in the prompt between its fences only.
        lines: Pieces of text that begin no line of the prompt outside of its fences.
        env_has: Variables that the agent was given.
        env_lacks: Variables that it was not given.
    """

    exit: int | None = None
    match: dict[str, Any] = {}
    has: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    contains: str = ""
    tasks: tuple[TaskExpected, ...] = ()
    runs: int | None = None
    fenced: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    env_has: tuple[str, ...] = ()
    env_lacks: tuple[str, ...] = ()


class BridgeCheck(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One check.

    Attributes:
        name: What must hold.
        bridge: The words after `agent-app APP bridge`. The stand-in is the harness `stand-in`.
        expect: What must be true of it.
        agent: What the stand-in does, see `bridge_agent`.
        tasks: What waits.
        route: Further keys of the stand-in's route.
        harnesses: `harnesses.json` itself, in the place of the one with the stand-in.
        env: Variables of the bridge.
        keeps: The bridge that the check before started may go on.
    """

    name: str
    bridge: tuple[str, ...]
    expect: BridgeExpected
    agent: tuple[str, ...] = ()
    tasks: tuple[QueuedTask, ...] = ()
    route: dict[str, Any] = {}
    harnesses: str | None = None
    env: dict[str, str] = {}
    keeps: bool = False


class BridgeClass(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The class, whose checks run in order."""

    name: str
    description: str
    checks: tuple[BridgeCheck, ...]


def load_bridge_class(path: Path | None = None) -> BridgeClass:
    """The class that comes with the package, or one from a file of one's own.

    Raises:
        UsageError: The file cannot be read, or is no such class.
    """
    found = path or Path(str(resources.files("inspan.apps.conformance"))) / "checks" / "bridge.toml"
    try:
        return msgspec.convert(tomllib.loads(found.read_text(encoding="utf-8")), BridgeClass)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{found} is no class of checks of a bridge: {error}.") from error
