"""The daemon itself: how it is, how it stops, and the care of its log."""

from __future__ import annotations

import asyncio
import os
import time

import msgspec
from litestar import get, post
from litestar.params import JSONBody

import inspan
from inspan.daemon.services import Services, With
from inspan.home import API_VERSION
from inspan.model.errors import HostError
from inspan.model.views import DaemonStatus, SeatView, StoreReport

__all__ = ["CONTROL_ROUTES", "StopDaemon", "Stopping"]

_STOP_DEADLINE_S = 60.0
_LOOK_AGAIN_S = 0.05


class StopDaemon(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Asks the daemon to stop.

    Attributes:
        harnesses: Stop every harness first. Without it they run on, and the next daemon finds them.
    """

    harnesses: bool = False


class Stopping(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The daemon stops.

    Attributes:
        pid: Its process id. It has stopped once its socket is gone.
        stopped: Seats whose harness was stopped.
    """

    pid: int
    stopped: tuple[str, ...] = ()


@get("/v1/status", operation_id="get_status", tags=["daemon"], summary="Show the daemon")
async def get_status(services: With) -> DaemonStatus:
    """How the daemon is. Clients ask this first, and compare `api` with the version that they speak."""
    seats = await services.seats.list_seats()
    return DaemonStatus(
        version=inspan.__version__,
        api=API_VERSION,
        pid=os.getpid(),
        home=str(services.home.path),
        socket=str(services.home.socket),
        started_at=services.lifetime.started_at,
        seats=len(seats),
        live_launches=sum(_is_live(seat) for seat in seats),
        last_position=services.log.last_position(),
        store=services.log.status,
        clients=len(services.feed.watchers),
    )


@post(
    "/v1/daemon/stop", operation_id="stop_daemon", tags=["daemon"], summary="Stop the daemon", status_code=202
)
async def stop_daemon(services: With, data: JSONBody[StopDaemon | None] = None) -> Stopping:
    """Stops the daemon, cleanly. Harnesses run on unless `harnesses` asks for their end too."""
    stopped: tuple[str, ...] = ()
    if data is not None and data.harnesses:
        stopped = await _stop_harnesses(services)
    # The answer goes out before the connections are closed: the server finishes what is under way.
    asyncio.get_running_loop().call_soon(services.lifetime.stop)
    return Stopping(pid=os.getpid(), stopped=stopped)


@post(
    "/v1/store/check", operation_id="check_store", tags=["daemon"], summary="Check the log", status_code=200
)
async def check_store(services: With) -> StoreReport:
    """Examines the log, and compares the projections with it. Nothing is changed."""
    return await services.log.check()


@post(
    "/v1/store/rebuild",
    operation_id="rebuild_store",
    tags=["daemon"],
    summary="Rebuild the projections",
    status_code=200,
)
async def rebuild_store(services: With) -> StoreReport:
    """Builds the projections anew from the log."""
    return await services.log.rebuild()


CONTROL_ROUTES = (get_status, stop_daemon, check_store, rebuild_store)
"""The routes of this module."""


def _is_live(seat: SeatView) -> bool:
    return seat.launch is not None and seat.launch.status != "ended"


async def _stop_harnesses(services: Services) -> tuple[str, ...]:
    live = [seat.name for seat in await services.seats.list_seats() if _is_live(seat)]
    for name in live:
        await services.seats.stop_seat(name)
    deadline = time.monotonic() + _STOP_DEADLINE_S
    waiting = set(live)
    while waiting:
        waiting &= {seat.name for seat in await services.seats.list_seats() if _is_live(seat)}
        if waiting and time.monotonic() > deadline:
            raise HostError(
                f"These seats still run a harness after {_STOP_DEADLINE_S:.0f} seconds: {', '.join(sorted(waiting))}.",
                code="holder_timeout",
                hint="See `inspan explain SEAT`; stop the daemon without the harnesses, or try again.",
                detail={"seats": sorted(waiting)},
            )
        if waiting:
            await asyncio.sleep(_LOOK_AGAIN_S)
    return tuple(live)
