"""Announced retries: notifications of a harness's own that say that it waits and will try again, as data."""

from __future__ import annotations

from typing import Annotated

import msgspec

__all__ = ["RetryNotification"]

ParameterPath = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$")]
MaybeParameterPath = Annotated[str, msgspec.Meta(pattern=r"^([A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*)?$")]


class RetryNotification(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A notification by which the harness says that it waits and will try again by itself.

    A path names members below the notification's parameters, joined by dots.

    Attributes:
        method: The notification's method.
        reason: Where its reason is; several are joined.
        delay_ms: How long it waits, in milliseconds.
        attempt: Which attempt comes next.
        max_attempts: After how many attempts it gives up.
        source: Where the fact comes from.
        verified: Date and version.
    """

    method: Annotated[str, msgspec.Meta(min_length=1)]
    reason: tuple[ParameterPath, ...] = ()
    delay_ms: MaybeParameterPath = ""
    attempt: MaybeParameterPath = ""
    max_attempts: MaybeParameterPath = ""
    source: str = ""
    verified: str = ""
