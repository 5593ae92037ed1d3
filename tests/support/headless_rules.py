"""A made-up harness of one-shot runs, as data: every kind of rule once."""

from __future__ import annotations

import json
from typing import Any

from inspan.model.headless import ExitCode, HeadlessSettings
from inspan.model.plan import Attempt, TransportSettings
from inspan.model.records import (
    DenialRule,
    EndRule,
    ErrorRule,
    RecordRule,
    RetryRule,
    TextRule,
    ToolRule,
    UsageRule,
)
from inspan.model.turn import TurnOutcome

__all__ = ["BY_EXIT", "RULES", "TEXT", "line", "settings"]

RULES = HeadlessSettings(
    kind="type",
    records=(
        RecordRule(session="session", when={"type": ("init", "late")}),
        RecordRule(when={"type": "init"}, effective={"model": "model"}),
        RecordRule(when={"type": "took"}, accepts=True),
        RecordRule(when={"type": "begun"}, starts=True),
        RecordRule(when={"type": "say"}, text=TextRule(path="words", message_id="message")),
        RecordRule(when={"type": "said"}, text=TextRule(path="words", message_id="message", is_whole=True)),
        RecordRule(when={"type": "think"}, text=TextRule(path="words", role="thought")),
        RecordRule(
            when={"type": "blocks"},
            each="content",
            where={"type": "tool"},
            tool=ToolRule(
                id="id",
                name="name",
                title="{name}: {input.command}",
                kinds={"Shell": "execute"},
                kind="other",
                status="pending",
                input="input",
            ),
        ),
        RecordRule(
            when={"type": "blocks"},
            unless={"is_error": True},
            each="content",
            where={"type": "text"},
            text=TextRule(path="text", message_id="$.message"),
        ),
        RecordRule(
            when={"type": "result_of"},
            tool=ToolRule(
                id="id",
                status="completed",
                status_path="failed",
                statuses={"true": "failed"},
                output="output",
            ),
        ),
        RecordRule(when={"type": "step"}, usage=UsageRule(kind="step", input="in", output="out")),
        RecordRule(when={"type": "total"}, usage=UsageRule(kind="cumulative", input="in", output="out")),
        RecordRule(
            when={"type": "denied"},
            denial=DenialRule(
                call="id",
                reason="why",
                rule="{call.tool}",
                rules={"Shell": "Shell({call.input.command})"},
                settings="~/.made-up/settings.json",
            ),
        ),
        RecordRule(
            when={"type": "error"},
            error=ErrorRule(message=("message", "detail"), code=("status",), raw="data"),
        ),
        RecordRule(when={"type": "recovered"}, recovers=True),
        RecordRule(
            when={"type": "retry"},
            retry=RetryRule(delay_ms="ms", attempt="attempt", max_attempts="of", reason="why"),
        ),
        RecordRule(when={"type": "late"}, ignore=True),
        RecordRule(
            when={"type": "end"},
            ends=EndRule(
                outcome="how",
                outcomes={
                    "good": TurnOutcome.COMPLETED,
                    "bad": TurnOutcome.FAILED,
                    "stopped": TurnOutcome.CANCELLED,
                    "no": TurnOutcome.REFUSED,
                },
                is_error="is_error",
                reason=("reason", "how"),
                error=ErrorRule(message=("message",), code=("status",)),
            ),
        ),
        RecordRule(when={"type": "chatter"}, ignore=True),
    ),
    exit_codes=(
        ExitCode(status=41, code="auth_required", title="Not signed in", remedy="Sign in."),
        ExitCode(status=173, code="limited", title="No more today", remedy="Wait."),
    ),
)
BY_EXIT = HeadlessSettings(records=tuple(rule for rule in RULES.records if rule.ends is None))
TEXT = HeadlessSettings(output="text", stderr_session=r"session_id: (\S+)")


def settings(
    headless: HeadlessSettings = RULES, *, attempt: Attempt = "fresh", session: str | None = None
) -> TransportSettings:
    """What the transport is told."""
    return TransportSettings(
        workspace="/w", attempt=attempt, session_id=session, headless=headless, frame_cap_bytes=2000
    )


def line(kind: str, **values: Any) -> bytes:
    """A record, as the harness writes it."""
    return json.dumps({"type": kind, **values}).encode() + b"\n"
