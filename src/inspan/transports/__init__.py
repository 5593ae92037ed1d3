"""Transports: bytes to and from a harness, as typed reports; they know no harness."""

from __future__ import annotations

from inspan.model.errors import UsageError
from inspan.model.plan import TransportSettings

from .machine import HarnessEnd, Machine, Outgoing, Step

__all__ = [
    "TERMINAL",
    "TRANSPORTS",
    "HarnessEnd",
    "Machine",
    "Outgoing",
    "Step",
    "is_one_shot",
    "open_machine",
]

TRANSPORTS = ("acp", "stream", "headless", "terminal", "memory")
"""The transports that `open_machine` knows."""

TERMINAL = "terminal"
"""The transport whose harness gets a terminal."""


def is_one_shot(transport: str) -> bool:
    """Whether a process of this transport takes one prompt, after which its input ends, and then ends itself."""
    return transport == "headless"


def open_machine(transport: str, settings: TransportSettings, snapshot: bytes | None = None) -> Machine:
    """The machine of a transport, by the transport's name; its module is loaded when it is first wanted.

    Args:
        transport: One of `TRANSPORTS`.
        settings: What the transport is told of the launch.
        snapshot: Of a machine of the same launch, to go on from it.

    Raises:
        UsageError: No transport has this name.
    """
    match transport:
        case "acp":
            from .acp.machine import AcpMachine

            return AcpMachine(settings, snapshot=snapshot)
        case "stream":
            from .stream.machine import StreamMachine

            return StreamMachine(settings, snapshot=snapshot)
        case "headless":
            from .headless.machine import HeadlessMachine

            return HeadlessMachine(settings, snapshot=snapshot)
        case "terminal":
            from .terminal.machine import TerminalMachine

            return TerminalMachine(settings, snapshot=snapshot)
        case "memory":
            from .memory import MemoryMachine

            return MemoryMachine(settings, snapshot=snapshot)
        case _:
            known = ", ".join(TRANSPORTS)
            raise UsageError(f"No transport is called {transport!r}.", hint=f"Known are {known}.")
