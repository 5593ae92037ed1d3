"""A ground for whole seats of a real host: a log, holders, and one harness that a manifest describes."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from inspan.host import HarnessHost
from inspan.model.posture import Posture
from inspan.model.views import AddSeat, SeatView
from inspan.seats.core import Seats, open_seats
from inspan.store import open_store

from .harness_folders import add_harness, add_program, manifest_text

__all__ = ["HostGround", "open_host_ground"]


class HostGround:
    """A home with one harness, `acme`, whose service can be closed and opened again.

    Args:
        path: The home.
        more: What stands at the end of the harness's manifest.
        keys: Further keys of its mode `acp`.
        launch: Further keys of that mode's fresh launches.
        program: The source of its program.
        mode: The mode of its seats.
        environ: Further variables of the daemon.
    """

    def __init__(
        self,
        path: Path,
        *,
        more: str,
        keys: str,
        launch: str,
        program: str,
        mode: str,
        environ: Mapping[str, str],
    ) -> None:
        self.path = path
        self.mode = mode
        self.workspace = path / "w"
        self.state = path / "s"
        self.launches = path / "l"
        for folder in (self.workspace, self.state, self.launches):
            folder.mkdir(mode=0o700)
        text = manifest_text(more=more).replace('transport = "acp"', f'transport = "acp"\n{keys}')
        text = text.replace('args = ["acp"]', f'args = ["acp"]\n{launch}')
        self.folder = add_harness(path / "harnesses", "acme", text)
        add_program(path / "bin", "acme-agent", program)
        self.environ = {
            "PATH": f"{path / 'bin'}:{os.environ.get('PATH', os.defpath)}",
            "HOME": str(path),
            "ACME_STATE": str(self.state),
            **environ,
        }

    @asynccontextmanager
    async def seats(self) -> AsyncGenerator[Seats]:
        async with (
            open_store(self.path / "log.db") as store,
            HarnessHost(self.path, environ=self.environ) as host,
            open_seats(store=store, host=host, home=self, environ=self.environ) as seats,
        ):
            yield seats

    async def add(self, seats: Seats, name: str = "worker", **changes: object) -> SeatView:
        wanted: dict[str, object] = {
            "name": name,
            "harness": "acme",
            "workspace": str(self.workspace),
            "mode": self.mode,
            "posture": Posture(),
            **changes,
        }
        return await seats.add_seat(AddSeat(**wanted))  # pyright: ignore[reportArgumentType]


@asynccontextmanager
async def open_host_ground(
    *,
    program: str,
    more: str = "",
    keys: str = "",
    launch: str = "",
    mode: str = "acp",
    environ: Mapping[str, str] | None = None,
) -> AsyncGenerator[HostGround]:
    """A fresh ground; every harness that was started on it is stopped at the end."""
    path = Path(tempfile.mkdtemp(prefix="isp-"))
    try:
        ground = HostGround(
            path, more=more, keys=keys, launch=launch, program=program, mode=mode, environ=environ or {}
        )
        yield ground
        async with ground.seats() as seats:
            for seat in await seats.list_seats():
                await seats.remove_seat(seat.name, stop=True)
    finally:
        shutil.rmtree(path, ignore_errors=True)
