"""The transport contract: bytes in, reports out, bytes to write back; no input or output of its own.

A machine knows one wire and no harness. It is fed what the harness wrote and told what core wants; it answers
with reports and with bytes to write. Core makes both durable, together with `snapshot()` and the offset up to
which the harness's bytes were used, before it acts on them; so a machine that is restored from its snapshot
and fed from that offset goes on exactly where the other stopped.
"""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from inspan.model.reports import Reported

__all__ = ["HarnessEnd", "Machine", "Outgoing", "Step"]


class Outgoing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Bytes that are to be written to the harness, once.

    Attributes:
        data: The bytes, whole messages.
        purpose: What they are for; `type`, `submit`, `interrupt`, `clear` and `keys` are keys of a console, `inbox` a text
            for its inbox.
        delivery: The delivery that they carry, for `prompt`, `type` and `submit`.
        request: The permission request's wire id that they answer, for `answer`.
    """

    data: bytes
    purpose: Literal[
        "handshake",
        "session",
        "prompt",
        "cancel",
        "answer",
        "reply",
        "inbox",
        "close",
        "type",
        "submit",
        "interrupt",
        "clear",
        "keys",
    ]
    delivery: str | None = None
    request: str | None = None


class HarnessEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How the process ended.

    Attributes:
        exit_code: The exit status, where it exited.
        signal: The signal that ended it, where one did.
        stderr_tail: The last that it wrote to its standard error.
    """

    exit_code: int | None = None
    signal: int | None = None
    stderr_tail: str = ""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What came of some bytes.

    Attributes:
        reports: What the harness said, in order.
        outgoing: What is to be written back, in order.
        consumed: How many bytes, counted from the last end of `consumed`, are used up for good. The rest is
            the beginning of a message; it is kept in memory and fed again from the journal after a restart.
        changed: Whether `snapshot()` differs from before.
    """

    reports: tuple[Reported, ...] = ()
    outgoing: tuple[Outgoing, ...] = ()
    consumed: int = 0
    changed: bool = False


class Machine(Protocol):
    """A transport's state machine for one launch.

    Not thread-safe; every method returns at once.
    """

    def start(self) -> Step:
        """Begins the handshake of a fresh process. Called once a launch, never after `restore`."""
        ...

    def feed(self, data: bytes) -> Step:
        """Takes the next bytes that the harness wrote, in any pieces."""
        ...

    def finish(self) -> Step:
        """Says that the harness will write no more; reports what was cut in the middle."""
        ...

    def end(self, end: HarnessEnd) -> Step:
        """Says how the process ended, after `finish`; calling twice is safe.

        Only a transport for which the process's end answers a prompt has something to say.
        """
        ...

    def prompt(self, delivery: str, text: str) -> Step:
        """Sends a prompt into the open session. Core has one prompt in flight a session."""
        ...

    def cancel(self) -> Step:
        """Asks the harness to stop the turn that runs. Open permission requests are answered by core."""
        ...

    def answer(self, wire_id: str, option: str | None) -> Step:
        """Answers a permission request with an option's id, or with `cancelled` for `None`.

        An unknown or already answered `wire_id` gives an empty step.
        """
        ...

    def snapshot(self) -> bytes:
        """Everything that must survive a restart, as JSON: open calls with their ids, the session, offers."""
        ...

    def rollback(self, snapshot: bytes) -> None:
        """Returns to an earlier snapshot of this machine: what was done since then was not made durable.

        Bytes that were fed but not `consumed` at that time are forgotten; core feeds them again.
        """
        ...
