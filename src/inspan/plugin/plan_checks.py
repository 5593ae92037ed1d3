"""What every launch plan must keep, whoever made it."""

from __future__ import annotations

import os
from pathlib import Path

from inspan.model.manifest import ModeManifest
from inspan.model.plan import LaunchPlan, LaunchRequest

__all__ = ["find_plan_fault"]


def find_plan_fault(mode: ModeManifest, request: LaunchRequest, plan: LaunchPlan) -> str | None:
    """Why core cannot carry out a plan, in words that follow "the plan is of no use:"; `None` where it can."""
    if not (os.path.isabs(plan.program) and os.access(plan.program, os.X_OK)):
        return f"its program {plan.program!r} cannot be run"
    if plan.transport != mode.transport:
        return f"its transport is {plan.transport!r}, and the mode's is {mode.transport!r}"
    if plan.settings.attempt != request.attempt:
        return f"it is a plan to {plan.settings.attempt}, and {request.attempt} was asked for"
    if any(Path(file.path).is_absolute() or ".." in Path(file.path).parts for file in plan.files):
        return "it writes files outside the launch's folder"
    return None
