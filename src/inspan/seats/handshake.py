"""The time that a start has: watched from the moment that its process runs."""

from __future__ import annotations

from inspan.model.state import SeatState

from .actor import SeatActor
from .inputs import HandshakeTimedOut
from .launch_folder import LaunchFiles
from .link import Link
from .start_budget import StartMemory

__all__ = ["watch_handshake"]


async def watch_handshake(actor: SeatActor, link: Link, files: LaunchFiles, starts: StartMemory) -> None:
    """Waits until a launch is ready and remembers that it was, or says that its time is over.

    Args:
        actor: The seat.
        link: The launch.
        files: How long it may take.
        starts: Remembers which programs were ready before.
    """

    def is_ready(state: SeatState | None) -> bool:
        live = None if state is None else state.live_launch
        return live is not None and live.id == link.launch and live.status == "ready"

    limit_s, start = files.handshake_timeout_s, files.start
    if not await actor.wait_until(is_ready, limit_s):
        is_cold = start is not None and start.is_cold
        await actor.give_surely(HandshakeTimedOut(launch=link.launch, timeout_s=limit_s, is_cold=is_cold))
    elif start is not None:
        starts.note_ready(start)
