"""Planning a launch: what the host is asked for, once the seat is seen to be fit for it."""

from __future__ import annotations

import os

from inspan.model.errors import UsageError
from inspan.model.plan import LaunchPlan, LaunchRequest
from inspan.model.state import LaunchState, SeatState
from inspan.store import Store

from .harnesses import Harnesses
from .isolation import Surroundings
from .sessions import check_not_active

__all__ = ["plan_launch"]


async def plan_launch(
    planner: Harnesses, store: Store, state: SeatState, live: LaunchState, around: Surroundings
) -> LaunchPlan:
    """The plan of a launch that was decided on; nothing is started.

    Raises:
        InspanError: `workspace_missing`, `session_in_use`, or what the host says.
    """
    workspace = state.workspace
    if not os.path.isdir(workspace):  # noqa: ASYNC240 - one look, before a program is started
        raise UsageError(
            f"The workspace {workspace} does not exist any more.",
            code="workspace_missing",
            hint="Create it again, or make a seat for another folder.",
        )
    if live.attempt == "resume" and live.reference is not None:
        check_not_active(store.seat_states(), state.name, state.harness, live.reference.id)
    return await planner.plan(
        LaunchRequest(
            seat=state.name,
            harness=state.harness,
            mode=state.mode,
            attempt=live.attempt,
            workspace=workspace,
            posture=state.posture,
            reference=live.reference,
            model=state.model,
            effort=state.effort,
            axes=state.axes,
            environment=around.given,
            withheld=around.withheld,
        )
    )
