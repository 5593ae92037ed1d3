"""What runs of the benchmarks leave: who was asked what, and what came of it, on which machine."""

from __future__ import annotations

from string import ascii_uppercase

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
        machine: The name of the machine in the report. Both sides of every figure were measured on it.
    """

    name: str
    question: str
    measured_at: str = ""
    commit: str = ""
    machine: str = ""
    figures: list[Figure] = []
    problem: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured, and where.

    Attributes:
        machines: The machines by their names, `A` and so on; each as facts by name.
        results: The newest result of each benchmark, in their order.
    """

    machines: dict[str, dict[str, str]] = {}
    results: list[Result] = []

    def name_machine(self, facts: dict[str, str]) -> str:
        """The name of a machine in this report: the one that it has, or the next that is free."""
        known = next((name for name, one in self.machines.items() if one == facts), None)
        return known or next(name for name in ascii_uppercase if name not in self.machines)

    def with_results(self, fresh: list[Result], *, machine: str, facts: dict[str, str]) -> Report:
        """The report with results in the place of older ones, and without machines that nothing stands for any more."""
        results = {one.name: one for one in (*self.results, *fresh)}
        machines = {**self.machines, machine: facts}
        used = {one.machine for one in results.values()}
        return Report(
            machines={name: machines[name] for name in sorted(used) if name in machines},
            results=list(results.values()),
        )
