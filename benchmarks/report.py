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
        measured_at: When, in UTC.
        commit: Of which commit.
    """

    name: str
    question: str
    measured_at: str = ""
    commit: str = ""
    figures: list[Figure] = []
    problem: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured on one machine.

    Attributes:
        machine: The machine, as facts by name.
        results: The newest result of each benchmark, in their order.
    """

    machine: dict[str, str]
    results: list[Result]
