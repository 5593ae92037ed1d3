"""What a person does at each harness's console, and what is to be believed of it meanwhile."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from inspan.model.evidence import Source
from inspan.model.posture import Approvals, Posture
from support.live import claude, codex, copilot, gemini, opencode, pi, qwen
from support.live.console_seats import Said
from support.live.target import Target

__all__ = ["WALKS", "Walk", "find_lies", "find_repeats"]

CTRL_C = b"\x03"
CTRL_D = b"\x04"

_REPORTS = frozenset({Source.PROGRAM_STATUS})
_SEEN = frozenset({Source.TITLE, Source.SCREEN, Source.HOOK})
"""A console that reports nothing is looked at; where it runs our hooks, they tell."""

_LAST_WORDS_S = 0.2
"""How long before the model's last word is out a console may already be idle: the server notes its end after that."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Walk:
    """One harness's console.

    Attributes:
        target: The harness.
        witnesses: Who may tell when it works, and when that ends.
        asks: It asks for permission in the posture that the walk is made in.
        posture: That posture.
        limit: How its session stands when a usage limit was met.
        after_limit: The keys of which one leaves that state; none where a prompt may be typed at once.
        leave: The key that ends it, once or twice; `None` where it is killed instead.
        is_gated: It asks first whether the workspace is trusted.
    """

    target: Target
    witnesses: frozenset[Source]
    asks: bool = True
    posture: Posture = field(default_factory=Posture)
    limit: Literal["idle", "running", "needs_input"] = "idle"
    after_limit: tuple[bytes, ...] = ()
    leave: bytes | None = CTRL_C
    is_gated: bool = False


WALKS: dict[str, Walk] = {
    "claude-code": Walk(target=claude.CONSOLE, witnesses=_REPORTS, is_gated=True),
    "codex": Walk(target=codex.TARGET, witnesses=_REPORTS),
    "copilot": Walk(target=copilot.TARGET, witnesses=_SEEN, is_gated=True),
    "gemini": Walk(
        target=gemini.TARGET,
        witnesses=_SEEN,
        limit="needs_input",
        after_limit=(b"2",),
        leave=None,
    ),
    "opencode": Walk(target=opencode.TARGET, witnesses=_SEEN - {Source.TITLE}),
    "pi": Walk(
        target=pi.TARGET,
        witnesses=_REPORTS,
        asks=False,
        posture=Posture(approvals=Approvals.BYPASS),
        leave=CTRL_D,
    ),
    "qwen": Walk(
        target=qwen.TARGET,
        witnesses=_SEEN,
        limit="running",
        leave=None,
    ),
}


def find_lies(said: Sequence[Said], model: Sequence[dict[str, Any]]) -> list[str]:
    """Verdicts that call a console idle while its turn goes on, as the model's own log tells.

    A turn goes on from its first request until its last answer is out, so also while a tool call of it waits for
    a permission. That a turn is never seen to run is a lie too.
    """
    lies: list[str] = []
    for marker, begin, end in _turns(model):
        inside = [one for one in said if begin < one.at.timestamp() < end - _LAST_WORDS_S]
        lies += [f"{marker}: {one}" for one in inside if one.judged.activity == "idle"]
        if end - begin > 1 and not any(one.judged.activity == "running" for one in _around(said, begin, end)):
            lies.append(f"{marker} was never seen to run")
    return lies


def find_repeats(said: Sequence[Said]) -> list[str]:
    """Verdicts that say again what the one before them said."""
    return [
        str(two)
        for one, two in itertools.pairwise(said)
        if (one.source, one.rule, one.judged) == (two.source, two.rule, two.judged)
    ]


def _around(said: Sequence[Said], begin: float, end: float) -> list[Said]:
    """The verdicts from the one that stood at `begin` on."""
    before = [one for one in said if one.at.timestamp() <= begin]
    return before[-1:] + [one for one in said if begin < one.at.timestamp() < end]


def _turns(model: Sequence[dict[str, Any]]) -> list[tuple[str, float, float]]:
    """Marker, first request and end of the last answer of every turn; attempts that follow another are one turn."""
    ends = {line["number"]: line["at"] for line in model if line["kind"] == "ended"}
    asked = [line for line in model if line["kind"] == "request" and not line["is_side"]]
    turns: list[tuple[str, float, float]] = []
    waits_for_tool = False
    for line in asked:
        end = ends.get(line["number"], line["at"])
        marker = line["marker"]
        if marker is not None and turns and turns[-1][0] == marker:
            turns[-1] = (marker, turns[-1][1], end)
        elif marker is not None:
            turns.append((marker, line["at"], end))
        elif line["has_tool_result"] and waits_for_tool:
            turns[-1] = (turns[-1][0], turns[-1][1], end)
        else:
            continue
        waits_for_tool = line["call"] is not None
    return turns
