"""Chosen session: whether core makes the id of a fresh session."""

from __future__ import annotations

from inspan.model.manifest import ModeManifest

__all__ = ["chooses_session"]


def chooses_session(mode: ModeManifest) -> bool:
    """Whether core makes the id of a fresh session in this mode, and gives it in the arguments."""
    return any((mode.headless.chooses_session, mode.terminal.chooses_session, mode.stream.chooses_session))
