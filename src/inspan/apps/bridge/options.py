"""The flags of `agent-app APP bridge start`, read before anything happens."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from inspan.apps.faults import Misused

__all__ = ["CHILD", "StartOptions", "read_options"]

CHILD = "--background-child"
"""How the program tells the process that it starts in the background that it is the one. Not for people."""

_MOST_MS = 7 * 24 * 3600 * 1000


class StartOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What `start` was asked for.

    Attributes:
        harness: The harness that was named.
        interval_ms: Milliseconds between two looks at the queue.
        task_timeout_ms: Milliseconds that a task may take.
        heartbeat_ms: Milliseconds between two words for a task's lease.
        capabilities: The capabilities that are brought; all where none is named.
        is_once: One look, then the end.
        is_dry: One look, and nothing is claimed.
        is_foreground: In this process, until it is stopped.
        is_child: This is the process in the background.
    """

    harness: str | None = None
    interval_ms: int = 5_000
    task_timeout_ms: int = 900_000
    heartbeat_ms: int = 20_000
    capabilities: tuple[str, ...] = ()
    is_once: bool = False
    is_dry: bool = False
    is_foreground: bool = False
    is_child: bool = False

    @property
    def is_background(self) -> bool:
        """Whether a process in the background is to do it."""
        return not (self.is_once or self.is_dry or self.is_foreground or self.is_child)

    def to_args(self) -> list[str]:
        """The same as words, for the process in the background."""
        words = ["--interval", str(self.interval_ms), "--task-timeout", str(self.task_timeout_ms)]
        words += ["--heartbeat", str(self.heartbeat_ms)]
        if self.harness is not None:
            words += ["--harness", self.harness]
        for one in self.capabilities:
            words += ["--capability", one]
        return words


def read_options(args: Sequence[str]) -> StartOptions:
    """Reads the words after `bridge start`.

    Raises:
        Misused: A word is unknown, a value is missing, or a number is none or too small.
    """
    values: dict[str, object] = {}
    capabilities: list[str] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        flag, has_value, value = word.partition("=")
        match flag:
            case "--once" | "--dry-run" | "--foreground" | "--background-child" if not has_value:
                values[_SWITCHES[flag]] = True
                continue
            case "--harness" | "--interval" | "--task-timeout" | "--heartbeat" | "--capability":
                pass
            case _:
                raise Misused(f"`bridge start` knows no {word[:60]!r}.", hint=_USAGE)
        if not has_value:
            if not rest or rest[0].startswith("--"):
                raise Misused(f"{flag} needs a value.", hint=_USAGE)
            value = rest.pop(0)
        match flag:
            case "--harness":
                values["harness"] = value
            case "--capability":
                capabilities.append(value)
            case _:
                field, least = _NUMBERS[flag]
                values[field] = _number(flag, value, least)
    return msgspec.convert({**values, "capabilities": tuple(capabilities)}, StartOptions)


_SWITCHES = {
    "--once": "is_once",
    "--dry-run": "is_dry",
    "--foreground": "is_foreground",
    CHILD: "is_child",
}
_NUMBERS = {
    "--interval": ("interval_ms", 250),
    "--task-timeout": ("task_timeout_ms", 1_000),
    "--heartbeat": ("heartbeat_ms", 250),
}
_USAGE = (
    "agent-app APP bridge start [--harness ID] [--interval MS] [--task-timeout MS] [--heartbeat MS] "
    "[--capability NAME]... [--once | --dry-run | --foreground]"
)


def _number(flag: str, text: str, least: int) -> int:
    if not (text.isascii() and text.isdigit()) or not least <= int(text[:12]) <= _MOST_MS or len(text) > 12:
        raise Misused(
            f"{flag} is a whole number of milliseconds from {least} to {_MOST_MS}, not {text[:40]!r}."
        )
    return int(text)
