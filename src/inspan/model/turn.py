"""Turn outcome: how a turn ended, and what it used."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

__all__ = ["CallError", "TurnOutcome", "Usage", "UsageKind"]


class TurnOutcome(StrEnum):
    """How a turn ended.

    `completed`: the harness said that it was done. `refused`: the model declined. `limited`: a usage limit or
    a budget of tokens or requests ended it. `cancelled`: the harness confirmed a cancel. `failed`: an error, or
    the harness's exit, ended it. `lost`: the connection ended before a terminal result.
    """

    COMPLETED = "completed"
    REFUSED = "refused"
    LIMITED = "limited"
    CANCELLED = "cancelled"
    FAILED = "failed"
    LOST = "lost"


class UsageKind(StrEnum):
    """What the numbers of a `Usage` count; `unknown` where the harness does not say."""

    STEP = "step"
    TURN = "turn"
    CUMULATIVE = "cumulative"
    UNKNOWN = "unknown"


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens as the harness reported them.

    Attributes:
        kind: What the numbers count.
        input_tokens: Tokens read, `None` where not reported (so are the others).
        output_tokens: Tokens written.
        total_tokens: The harness's own sum.
        cached_read_tokens: Tokens read from a cache.
        cached_write_tokens: Tokens written into a cache.
        thought_tokens: Tokens of reasoning.
    """

    kind: UsageKind = UsageKind.UNKNOWN
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None
    thought_tokens: int | None = None


class CallError(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error as it is kept in the log: what failed, in the harness's words and in ours.

    Attributes:
        code: A key of `inspan.model.errors.ERROR_CODES`.
        message: One sentence; the harness's own text where it gave one.
        hint: The next thing to do.
        raw_code: The harness's own code, such as a JSON-RPC error code.
        raw: The harness's own error data, unchanged.
    """

    code: str
    message: str
    hint: str = ""
    raw_code: int | None = None
    raw: dict[str, Any] | None = None
