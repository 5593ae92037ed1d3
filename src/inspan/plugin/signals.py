"""Signals: by what a mode tells that its session works, and that a person owes it an answer.

They are two questions, with answers of their own. A console without a signal for approvals is not one that asks for
none: there the screen has to be looked at before anybody takes it for free.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from inspan.model.manifest import Manifest, ModeManifest
from inspan.model.screen_rules import ScreenRule

__all__ = ["LimitSignal", "Signal", "Signals", "read_limit_signals", "read_signals"]

Signal = Literal["protocol", "output", "title", "screen"]
"""A message of a protocol, the output of a one-shot run, what a program says in title or progress, or its screen."""


LimitSignal = Literal["hook", "event", "screen"]
"""A hook that names it, a structured event (a protocol's error, a result record), or a banner on the screen."""


class Signals(msgspec.Struct, frozen=True, kw_only=True):
    """By what a mode tells its state.

    Attributes:
        activity: By what it is known that work begins and ends; empty where by nothing.
        needs_input: By what it is known that an answer is owed, or in a one-shot run that something was denied since
            nobody could be asked; empty where by nothing.
    """

    activity: tuple[Signal, ...] = ()
    needs_input: tuple[Signal, ...] = ()

    @property
    def must_look_at_screen(self) -> bool:
        """Whether there is no signal for approvals, so that a look at the screen alone tells them."""
        return bool(self.needs_input) and set(self.needs_input) <= {"screen", "title"}


def read_signals(mode: ModeManifest) -> Signals:
    """What a mode's manifest says of its signals: its capabilities, and for a console its rules."""
    claims = mode.capabilities
    match mode.transport:
        case "terminal":
            rules = mode.terminal.rules.rules if mode.terminal.rules is not None else ()
            return Signals(
                activity=_of(rules, "running", "idle"),
                needs_input=_of(rules, "needs_input"),
            )
        case "headless":
            # Nobody can be asked there: what is owed is told, if at all, by the denials in its output.
            tells_denials = any(rule.denial is not None for rule in mode.headless.records)
            return Signals(
                activity=("output",) if claims.activity.is_supported else (),
                needs_input=("output",) if tells_denials else (),
            )
        case _:
            return Signals(
                activity=("protocol",) if claims.activity.is_supported else (),
                needs_input=("protocol",) if claims.permission_report.is_supported else (),
            )


def read_limit_signals(manifest: Manifest, mode: ModeManifest) -> tuple[LimitSignal, ...]:
    """How a usage limit is observed in a mode, by what its manifest gives to observe it with; empty: not at all."""
    if mode.transport == "terminal":
        rules = mode.terminal.rules.rules if mode.terminal.rules is not None else ()
        is_shown = any(rule.report == "limit" or rule.kind == "limit" for rule in rules)
        is_hooked = any(one.ends is not None and one.ends.limited for one in manifest.hooks.events)
        return (*(("hook",) if is_hooked else ()), *(("screen",) if is_shown else ()))
    known = (*mode.diagnoses, *mode.turn_text_failures)
    return ("event",) if any(one.code == "limited" for one in known) else ()


def _of(rules: tuple[ScreenRule, ...], *reports: str) -> tuple[Signal, ...]:
    found = set(_signals(rules, reports))
    return tuple(signal for signal in ("title", "screen") if signal in found)


def _signals(rules: tuple[ScreenRule, ...], reports: tuple[str, ...]) -> Iterator[Signal]:
    for rule in rules:
        if rule.report in reports:
            yield "screen" if rule.reads_screen else "title"
