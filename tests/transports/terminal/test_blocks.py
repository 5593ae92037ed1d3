"""What keeps text from being typed: everything at once, so that to mind one thing less is not to mind the others."""

from __future__ import annotations

from typing import Any

import pytest

from inspan.model.evidence import Source
from inspan.transports.terminal.arbitration import Verdict
from inspan.transports.terminal.blocks import Shown, what_blocks


def blocks(
    activity: Any,
    composer: Any,
    *,
    source: Source = Source.SCREEN,
    is_work_shown: bool = False,
    is_ready: bool = True,
    has_approval_signal: bool = True,
) -> tuple[str, ...]:
    shown = Shown(
        composer=composer,
        is_work_shown=is_work_shown,
        is_ready=is_ready,
        has_approval_signal=has_approval_signal,
    )
    return what_blocks(Verdict(activity=activity, source=source), shown)


@pytest.mark.requirement("DEC3")
@pytest.mark.parametrize(
    ("has_signal", "composer", "expected"),
    [
        (True, "empty", ()),
        (False, "empty", ()),
        (True, "elsewhere", ("draft",)),
        (False, "elsewhere", ("activity_unknown",)),
        (False, "text", ("draft",)),
    ],
)
def test_doubt_alone_is_no_reason_but_a_dialog_that_may_be_up_unseen_is(
    has_signal: bool, composer: str, expected: tuple[str, ...]
) -> None:
    assert blocks("unknown", composer, has_approval_signal=has_signal) == expected


def test_a_console_that_was_not_ready_yet_gets_nothing_in_doubt_either() -> None:
    assert blocks("unknown", "empty", is_ready=False) == ("not_ready",)


@pytest.mark.parametrize("activity", ["needs_input", "running", "unknown", "idle"])
def test_a_draft_stands_in_the_way_whatever_goes_on(activity: str) -> None:
    assert blocks(activity, "text")[-1] == "draft"


def test_work_may_hide_a_dialog_where_nothing_tells_of_dialogs() -> None:
    assert blocks("running", "elsewhere") == ("running",)
    assert blocks("running", "elsewhere", has_approval_signal=False) == ("running", "activity_unknown")


def test_a_hook_that_said_idle_does_not_let_anything_be_typed_into_work_that_is_shown() -> None:
    assert blocks("idle", "empty", source=Source.HOOK, is_work_shown=True) == ("running",)
