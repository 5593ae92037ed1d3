"""One-shot runs: a process that takes one prompt and ends. Its end is normal, and leaves the seat idle."""

from __future__ import annotations

from inspan.model.errors import UsageError
from inspan.model.events import LaunchReady, StopRequested
from inspan.model.evidence import Source
from inspan.model.reports import Reported
from inspan.model.turn import TurnOutcome

from .decision import Decision
from .inputs import HolderLost, ProcessExited

__all__ = ["check_start", "is_done", "note_prompt_ready", "stop_idle_run", "stop_to_cancel"]


def check_start(decision: Decision) -> None:
    """Refuses to start a run that would have nothing to do.

    Raises:
        UsageError: `nothing_to_run`, where no prompt waits.
    """
    seat = decision.seat
    if decision.context.is_one_shot and not seat.queue:
        raise UsageError(
            f"{seat.name} is driven in one-shot runs, and no prompt waits for one.",
            code="nothing_to_run",
            hint=f"`inspan send {seat.name} TEXT` starts a run by itself; a new conversation needs another seat.",
        )


def note_prompt_ready(decision: Decision, reported: Reported) -> None:
    """Records that the process takes its prompt, though no session is known yet."""
    launch = decision.launch
    if launch is not None:
        decision.emit(LaunchReady(launch=launch.id), source=reported.source, rule=reported.rule)


def stop_idle_run(decision: Decision) -> None:
    """Ends a run whose prompt was taken back before it began: nothing else would ever end it."""
    launch = decision.launch
    if (
        decision.context.is_one_shot
        and launch is not None
        and launch.status == "ready"
        and not launch.prompts
    ):
        decision.emit(
            StopRequested(launch=launch.id, by="cancel"), source=Source.CORE, rule="one_shot.nothing_to_run"
        )


def stop_to_cancel(decision: Decision) -> None:
    """A run is cancelled by its end; the turn's outcome follows once the process is gone."""
    launch = decision.launch
    if decision.context.is_one_shot and launch is not None and launch.status != "stopping":
        decision.emit(StopRequested(launch=launch.id, by="cancel"), source=Source.OPERATOR, rule="cancel")


def is_done(decision: Decision, seen: ProcessExited | HolderLost) -> bool:
    """Whether a run came to the end that it was started for, so that the next prompt may have its own run.

    A run that ended its turn by its result record did, whatever the outcome and the exit status. One that only
    exited did where its turn completed, or was cancelled; otherwise what keeps it from working would keep the
    next one from it too.
    """
    seat, launch = decision.seat, decision.launch
    if not decision.context.is_one_shot or launch is None or not isinstance(seen, ProcessExited):
        return False
    if launch.stopped_by not in ("", "cancel") or launch.error is not None:
        return False
    if not launch.prompts:
        return launch.stopped_by == "cancel"
    last = seat.last_turn
    if seat.in_flight is not None or last is None:
        return False
    is_settled = last.outcome in (TurnOutcome.COMPLETED, TurnOutcome.REFUSED, TurnOutcome.CANCELLED)
    return is_settled or seat.activity.source is Source.PROTOCOL
