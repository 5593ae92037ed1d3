"""Noise: output that belongs to no message, reported once for lines that follow each other."""

from __future__ import annotations

import msgspec

from inspan.model.content import Noise
from inspan.model.reports import Reported

__all__ = ["take_noise"]

_SAMPLE_CHARACTERS = 200


def take_noise(reports: list[Reported], line: bytes) -> Noise:
    """The report of a line of noise; one of noise that stands last in `reports` is taken out and goes on in it."""
    last = reports[-1].body if reports else None
    if isinstance(last, Noise):
        reports.pop()
        return msgspec.structs.replace(last, lines=last.lines + 1)
    sample = line[: _SAMPLE_CHARACTERS * 4].decode("utf-8", errors="replace")
    return Noise(lines=1, sample=sample[:_SAMPLE_CHARACTERS])
