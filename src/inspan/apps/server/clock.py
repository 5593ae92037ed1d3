"""The time, as the server asks for it and as it is written on the wire."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["Clock", "iso", "system_clock"]

Clock = Callable[[], datetime]
"""Gives the time now, aware, in UTC."""


def system_clock() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)


def iso(moment: datetime) -> str:
    """A time as the wire has it, such as `2026-07-31T09:15:00.000Z`: texts sort as the times do."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
