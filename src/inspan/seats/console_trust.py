"""The one answer that is given to a console without a person: that the workspace is trusted, where this was said."""

from __future__ import annotations

import os

import msgspec

from inspan.model.permission import NeedsInputKind, ToolCall
from inspan.model.state import SeatState

__all__ = ["is_trust_allowed"]


def is_trust_allowed(seat: SeatState, asked: ToolCall) -> bool:
    """Whether a question of trust may be answered by itself.

    Only where the operator said so for this seat, where the dialog names the seat's own workspace as a whole path,
    and once a launch: a console that asks again wants a person.
    """
    launch = seat.live_launch
    if not seat.trusts_workspace or launch is None or launch.is_trusted:
        return False
    if asked.kind != NeedsInputKind.TRUST:
        return False
    try:
        (path,) = msgspec.convert(asked.locations, tuple[str, ...])
    except (msgspec.ValidationError, ValueError):
        return False
    return _whole(path) == os.path.realpath(seat.workspace)


def _whole(path: str) -> str:
    expanded = os.path.expanduser(path)
    return os.path.realpath(expanded) if os.path.isabs(expanded) else ""
