"""Faults of ours: what keeps a seat from being followed, as people are told."""

from __future__ import annotations

from inspan.model.plan import Problem

__all__ = ["fault_of"]


def fault_of(error: Exception) -> Problem:
    """What an error that nobody expected means for the seat."""
    return Problem(
        code="internal",
        message=f"Inspan failed with {type(error).__name__}, so the harness is not followed for now.",
        hint="It is tried again; see `inspan daemon logs`.",
    )
