"""What each real console takes, and what it cannot be made to do, where Inspan acts on it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from inspan.model.turn import TurnOutcome
from support.live.console_walks import WALKS, Walk

__all__ = ["CONSOLES", "ActingConsole", "each_console"]


_CONTEXT = re.compile(
    r"<(session_context|current_datetime)>.*?</\1>\n+|</?pasted_content[^>]*>\n?"
    r"|\[Request interrupted by user[^\]]*\]\n+",
    re.DOTALL,
)
"""What some of them put in front of a message, or around one that was pasted and has several lines."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ActingConsole:
    """One harness's console.

    Attributes:
        walk: How it is seen.
        refused: How a turn ends whose command was refused.
        limit: How a turn ends that met a usage limit; `None` where it is tried again for minutes.
        resumes: Its conversation's id is known, so that a start goes on with it.
        doubts_kill: It may take a conversation whose console was killed for one that is in use, and then asks.
    """

    walk: Walk
    refused: TurnOutcome = TurnOutcome.COMPLETED
    limit: TurnOutcome | None = TurnOutcome.LIMITED
    resumes: bool = True
    doubts_kill: bool = False

    def said(self, turn: Mapping[str, Any]) -> str:
        """The newest user message of a request, as it was typed."""
        return _CONTEXT.sub("", str(turn["last_user_text"])).removesuffix("\n")


CONSOLES: dict[str, ActingConsole] = {
    "claude-code": ActingConsole(walk=WALKS["claude-code"]),
    "codex": ActingConsole(walk=WALKS["codex"], resumes=False),
    "copilot": ActingConsole(walk=WALKS["copilot"], doubts_kill=True),
    "gemini": ActingConsole(walk=WALKS["gemini"]),
    "opencode": ActingConsole(walk=WALKS["opencode"], resumes=False),
    "pi": ActingConsole(walk=WALKS["pi"]),
    "qwen": ActingConsole(walk=WALKS["qwen"], limit=None),
}


def each_console(
    *names: str, on_request: tuple[str, ...] = (), proprietary: tuple[str, ...] = ()
) -> pytest.MarkDecorator:
    """Runs a test with each of these consoles as its fixture `console`.

    Args:
        names: Always.
        on_request: Only where `INSPAN_LIVE_ALL` is 1.
        proprietary: Only where `INSPAN_LIVE_PROPRIETARY` is 1.
    """
    more = [
        pytest.param(name, marks=pytest.mark.opt_in(variable))
        for variable, group in (("INSPAN_LIVE_ALL", on_request), ("INSPAN_LIVE_PROPRIETARY", proprietary))
        for name in group
    ]
    return pytest.mark.parametrize("console", [*names, *more], indirect=True)
