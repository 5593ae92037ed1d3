"""Requests for a permission that nobody could give: refused at once, so that no harness waits for ever, and said aloud."""

from __future__ import annotations

import re

from inspan.model.attention import AttentionRaised
from inspan.model.content import UnknownMessage
from inspan.model.evidence import Source
from inspan.model.state import OpenPermission

from .decision import Decision

__all__ = ["note_declined", "raise_attention", "why_unanswerable"]

_ASKS = re.compile("approv|permission", re.IGNORECASE)
"""What the calls are named by which harnesses ask for leave (observed in every protocol of the recordings, 2026-11)."""


def why_unanswerable(decision: Decision, opened: OpenPermission) -> str:
    """Why nobody could answer a request; empty where somebody can.

    A console's own dialog stays with the console: what Inspan cannot answer there, a person can.
    """
    if decision.context.is_watched:
        return ""
    claim = decision.context.capabilities.permission_answer
    if not claim.is_supported:
        return "this mode reports what the harness asks, and takes no answer"
    return "" if opened.options else "it offers no answer to choose from"


def raise_attention(decision: Decision, opened: OpenPermission, why: str) -> None:
    """Says that a request was refused since nobody could have answered it."""
    what = opened.tool_call.title or opened.tool_call.kind or "something"
    decision.emit(
        AttentionRaised(
            code="permission_unanswerable",
            message=f"It asked for permission ({what}) and was refused: {why}.",
            hint="Give the seat a posture that allows it, or do it in the harness's own console (`--mode terminal`).",
            request=opened.request,
        ),
        source=Source.CORE,
        rule="permission.unanswerable",
    )


def note_declined(decision: Decision, body: UnknownMessage) -> None:
    """Says so too of a request for a permission that could not even be read, and was declined by its transport."""
    if body.answered and _ASKS.search(body.method):
        decision.emit(
            AttentionRaised(
                code="permission_unanswerable",
                message=f"It asked for permission ({body.method}) in a form that nobody can answer, and was refused.",
                hint=f"`inspan watch {decision.name} --after 0 --types unknown_message` has what it said.",
            ),
            source=Source.CORE,
            rule="permission.unreadable",
        )
