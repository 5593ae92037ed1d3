"""The part of the client that makes seats and takes them away."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from inspan.model.posture import Posture
from inspan.model.seat_config import SharedConfig
from inspan.model.views import AddSeat, SeatView

from .wire import Wire, segment

__all__ = ["SeatCalls"]


class SeatCalls:
    """Calls that make a seat, or remove one."""

    _wire: Wire

    async def add_seat(
        self,
        name: str,
        *,
        harness: str,
        workspace: str | os.PathLike[str],
        mode: str | None = None,
        posture: Posture | None = None,
        environment: dict[str, str] | None = None,
        model: str | None = None,
        effort: str | None = None,
        trusts_workspace: bool = False,
        guidance: str = "",
        axes: Mapping[str, Sequence[str]] | None = None,
        isolated: bool | None = None,
        shares: Sequence[SharedConfig] = (),
        forwards_auth: bool = False,
        clean_environment: bool = False,
    ) -> SeatView:
        """Makes a seat; nothing is started yet.

        Args:
            name: Its name, 1 to 63 of `a-z`, `0-9`, `.`, `_`, `-`.
            harness: The harness's id.
            workspace: An existing folder; a relative path starts at this program's current folder.
            mode: The way it is driven; the manifest's default where none is named.
            posture: What it may do unasked; everything is asked where none is given.
            environment: Variables for its harness; the values are kept secret.
            model: The model to ask for.
            effort: The effort to ask for, in the harness's own words.
            trusts_workspace: A console's question whether this workspace is trusted is answered with yes by itself.
            guidance: What it is told as the first turn of a conversation, where its harness reads no file of guidance.
            axes: What else its launches are told, by the names in the harness's `axes`.
            isolated: Whether it has a configuration folder of its own; the manifest decides where it is not said.
            shares: What of the operator's configuration goes into that folder.
            forwards_auth: Its harness is handed the variables that sign in.
            clean_environment: Its harness inherits only what it is known to need.

        Raises:
            UsageError: `seat_exists`, `unknown_harness`, `unknown_mode`, `workspace_missing`,
                `workspace_not_a_folder`, `posture_unsupported`, `option_unknown`, `isolation_unsupported`,
                `isolation_required`, `guidance_has_place`, `guidance_too_large`, `invalid_argument`.
        """
        request = AddSeat(
            name=name,
            harness=harness,
            workspace=_absolute(workspace),
            mode=mode,
            posture=posture,
            environment=environment or {},
            model=model,
            effort=effort,
            trusts_workspace=trusts_workspace,
            guidance=guidance,
            axes={axis: tuple(values) for axis, values in (axes or {}).items()},
            isolated=isolated,
            shares=tuple(shares),
            forwards_auth=forwards_auth,
            clean_environment=clean_environment,
        )
        return await self._wire.call("POST", "/v1/seats", SeatView, body=request)

    async def remove_seat(self, name: str, *, stop: bool = False, delete_config: bool = False) -> SeatView:
        """Removes a seat; its history stays. Raises `seat_running` unless `stop`.

        With `delete_config`, its own configuration folder goes too, unless another seat uses it.
        """
        params = {"stop": str(stop).lower(), "delete_config": str(delete_config).lower()}
        return await self._wire.call("DELETE", f"/v1/seats/{segment(name, 'seat')}", SeatView, params=params)


def _absolute(path: str | os.PathLike[str]) -> str:
    # The daemon's current folder is another.
    return os.path.abspath(path)
