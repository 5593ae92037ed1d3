"""Views of a harness's modes: what each can do, by what it is known, and the postures that it can be told."""

from __future__ import annotations

from typing import Literal

import msgspec

from .capability import Claim
from .posture import Approvals, Sandbox

__all__ = ["ChoiceView", "ModeView", "PostureView"]


class ChoiceView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a mode is told a model or an effort, and when that can be another one.

    Attributes:
        by: By arguments or variables of a launch, or by an option of the session, which is a protocol call.
        changes: `session` where an open session takes another one; `offered` where it does if it offers an option for
            it; `launch` where another one needs a new launch.
    """

    by: Literal["arguments", "variables", "session option"]
    changes: Literal["session", "offered", "launch"]


class PostureView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A posture that a mode can honour.

    Attributes:
        approvals: The first axis.
        sandbox: The second axis.
        how: How the harness is told, in words; empty where it is what the harness does by itself.
        source: Where that is known from.
        verified: Date and version.
    """

    approvals: Approvals
    sandbox: Sandbox
    how: str = ""
    source: str = ""
    verified: str = ""


class ModeView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A mode of a harness.

    Attributes:
        id: Its id.
        transport: Which transport speaks to it.
        capabilities: What it can do.
        postures: The postures that it can honour, in words.
        posture_rules: The same, each with how the harness is told and where that is known from.
        install: How to install the program of this mode, where it has one of its own.
        tested: The range of versions of that program that was tried.
        activity_by: By what it is known that work begins and ends: `protocol`, `output`, `title`, `screen`.
        needs_input_by: By what it is known that an answer is owed.
        limit_by: By what a usage limit is observed: `hook`, `event`, `screen`; empty where it is not.
        model: How it is told a model; none where it cannot be.
        effort: How it is told an effort; none where it cannot be.
        axes: What else a launch can be told, each with the values that there are; none takes any.
        must_look_at_screen: There is no signal for approvals: a look at the screen alone tells them.
        screen_rules: How many rules read its console.
    """

    id: str
    transport: str
    capabilities: dict[str, Claim] = {}
    postures: tuple[str, ...] = ()
    posture_rules: tuple[PostureView, ...] = ()
    install: str = ""
    tested: str = ""
    activity_by: tuple[str, ...] = ()
    needs_input_by: tuple[str, ...] = ()
    limit_by: tuple[str, ...] = ()
    model: ChoiceView | None = None
    effort: ChoiceView | None = None
    axes: dict[str, tuple[str, ...]] = {}
    must_look_at_screen: bool = False
    screen_rules: int = 0
