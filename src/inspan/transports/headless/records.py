"""Records: what a line means, by the manifest's rules."""

from __future__ import annotations

from typing import Any

from inspan.model.content import UnknownUpdate
from inspan.model.records import EndRule
from inspan.transports.records.paths import Place, as_token
from inspan.transports.records.reading import apply_rule, is_about

from .ending import end_by_record
from .saying import Saying

__all__ = ["take_record"]


def take_record(saying: Saying, record: dict[str, Any]) -> None:
    """Says what a record means. One that no rule knows is kept as it came."""

    def end_turn(rule: EndRule, place: Place) -> None:
        end_by_record(saying, rule, place)

    is_known = False
    for rule in saying.settings.headless.records:
        place = Place(record)
        if is_about(rule, place):
            is_known = apply_rule(saying, rule, place, end_turn) or is_known
    if is_known:
        if not saying.state.has_spoken:
            saying.state.has_spoken = True
            saying.is_changed = True
    else:
        kind = as_token(Place(record).find(saying.settings.headless.kind))
        saying.report(UnknownUpdate(kind=kind, raw=record), "unknown")
