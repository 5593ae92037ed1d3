"""A daemon that says when a delivery is on record: the real one, with one more subscriber of its log.

`python observed_daemon.py --home DIR SOCKET`: as `python -m inspan.daemon --home DIR`. As soon as a `DeliverySending` is
durable, before anything is done about it, the datagram `began 81723812831` goes to `SOCKET`: the clock
(microseconds, of `CLOCK_MONOTONIC`, which is one clock for all processes).
"""

from __future__ import annotations

import contextlib
import socket
import sys
import time
from collections.abc import AsyncGenerator

from inspan.daemon.composition import Parts, open_parts
from inspan.daemon.interrupts import Interrupts
from inspan.daemon.main import run
from inspan.home import Home
from inspan.model.events import DeliverySending, Envelope
from inspan.store import Store


def _main(argv: list[str]) -> int:
    *options, address = argv
    teller = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    def hear(envelopes: tuple[Envelope, ...]) -> None:
        clock_us = time.monotonic_ns() // 1000
        if any(isinstance(envelope.event, DeliverySending) for envelope in envelopes):
            with contextlib.suppress(OSError):
                teller.sendto(f"began {clock_us}".encode(), address)

    @contextlib.asynccontextmanager
    async def open_observed(home: Home) -> AsyncGenerator[Parts]:
        async with open_parts(home) as parts:
            assert isinstance(parts.log, Store)
            parts.log.subscribe(hear)
            yield parts

    interrupts = Interrupts()
    interrupts.install()
    return run(interrupts, options, open_parts=open_observed)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
