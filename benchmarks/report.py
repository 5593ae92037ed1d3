"""What a run of the benchmarks leaves: who was asked what, and what came of it, on which machine."""

from __future__ import annotations

import msgspec

from .figures import Figure

__all__ = ["Report", "Result"]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one benchmark.

    Attributes:
        name: The benchmark.
        question: What it asks.
        figures: Its answers.
        problem: Why there are none.
    """

    name: str
    question: str
    figures: list[Figure] = []
    problem: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one run of the program.

    Attributes:
        machine: Where it ran, as facts by name.
        results: What was measured, in order.
    """

    machine: dict[str, str]
    results: list[Result]
