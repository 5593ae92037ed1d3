"""Guidance: what a seat's harness is to know from the start, as the first turn where it reads no file of guidance."""

from __future__ import annotations

from inspan.model.errors import UsageError
from inspan.model.events import DeliveryQueued
from inspan.model.evidence import Source
from inspan.model.evolving import GUIDANCE_RULE
from inspan.model.manifest import Manifest, ModeManifest
from inspan.model.resource import ResourceKind
from inspan.transports import TERMINAL
from inspan.transports.terminal.message import check_command, check_message

from .decision import Decision
from .holds import hold_newcomer

__all__ = ["check_guidance", "queue_guidance"]


def check_guidance(manifest: Manifest, mode: ModeManifest, guidance: str) -> str:
    """`guidance` itself, if the harness can be given it as its first turn.

    Raises:
        UsageError: `guidance_has_place` where the harness reads a file of guidance, so that it would be told twice;
            `guidance_too_large` over the manifest's budget; for a console also `message_has_controls` and
            `message_is_command`.
    """
    if not guidance.strip():
        return ""
    place = next((one for one in manifest.resources if one.kind is ResourceKind.GUIDANCE), None)
    if place is not None:
        raise UsageError(
            f"{manifest.name} reads guidance from {place.target}, so it is given none as a turn.",
            code="guidance_has_place",
            hint=f"Put it there; `inspan harness resources {manifest.id}` shows the file.",
            detail={"target": place.target},
        )
    budget = manifest.guidance.budget_chars
    if len(guidance) > budget:
        raise UsageError(
            f"The guidance has {len(guidance)} characters; {manifest.name} is given at most {budget} as a first turn.",
            code="guidance_too_large",
            hint="Shorten it, or put the rest into a file in the workspace and name the file in it.",
            detail={"characters": len(guidance), "budget": budget},
        )
    if mode.transport == TERMINAL:
        check_message(guidance)
        check_command(guidance, "" if mode.terminal.typing is None else mode.terminal.typing.commands)
    return guidance


def queue_guidance(decision: Decision) -> None:
    """Puts the seat's guidance before the first prompt of a conversation; once, whatever becomes of it."""
    seat = decision.seat
    if not seat.guidance or seat.is_guided:
        return
    delivery = decision.context.new_id("d")
    decision.emit(
        DeliveryQueued(delivery=delivery, text=seat.guidance),
        source=Source.CORE,
        rule=GUIDANCE_RULE,
        in_turn=False,
    )
    hold_newcomer(decision, delivery)
