"""A figure says whether its target is met, and by how much it is missed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks.figures import Figure, Target
from benchmarks.report import Report, Result
from render_benchmarks import render

ROOT = Path(__file__).resolve().parents[2]
AT_LEAST_8 = Target(of="ratio", bound="at least", limit=8)
AT_MOST_12 = Target(of="ours", bound="at most", limit=12)


def figure(ours: list[float], peer: list[float] | None = None, **fields: object) -> Figure:
    values: dict[str, object] = {"what": "Things", "unit": "things/s", "ours": ours, "peer": peer or []}
    return msgspec.convert(values | fields, Figure)


def test_a_ratio_is_the_median_of_the_rounds_so_that_load_hits_both_sides() -> None:
    # The second half was measured on a machine that was half as fast.
    assert figure([100, 100, 100, 50, 50], [10, 10, 10, 5, 5]).ratio == 10


@pytest.mark.parametrize(
    ("ours", "peer", "is_met", "miss"),
    [([90.0], [10.0], True, ""), ([80.0], [10.0], True, ""), ([60.0], [10.0], False, "25% short")],
)
def test_a_least_ratio_is_met_or_missed_by_so_much(
    ours: list[float], peer: list[float], is_met: bool, miss: str
) -> None:
    one = figure(ours, peer, target=msgspec.to_builtins(AT_LEAST_8))

    assert (one.is_met, one.miss) == (is_met, miss)


def test_a_bound_on_ours_needs_no_peer() -> None:
    assert figure([12.0], target=msgspec.to_builtins(AT_MOST_12)).is_met is True
    assert figure([15.0], target=msgspec.to_builtins(AT_MOST_12)).miss == "25% over"


def test_what_was_only_reported_is_used_where_nothing_was_measured_and_never_beside_it() -> None:
    assert figure([80.0], reported_peer=10.0).ratio == 8
    assert figure([80.0], [20.0], reported_peer=10.0).ratio == 4
    assert figure([80.0]).ratio is None


def test_nothing_is_met_where_there_is_nothing_to_compare_with() -> None:
    assert figure([80.0], target=msgspec.to_builtins(AT_LEAST_8)).is_met is None
    assert figure([0.0], [0.0]).ratio is None


def test_the_page_tells_what_was_met_missed_reported_and_not_measured() -> None:
    missed = figure([60.0], [10.0], target=msgspec.to_builtins(AT_LEAST_8), peer_name="them", note="By hand.")
    reported = figure([5.0], peer_name="others", reported_peer=50.0)
    page = render(
        Report(
            machines={"A": {"cores": "2"}},
            results=[
                Result(
                    name="one", question="How many?", figures=[missed, reported], commit="def", machine="A"
                ),
                Result(name="two", question="How late?", problem="no network namespace"),
            ],
        )
    )

    assert "- A: cores 2\n" in page
    assert "| Things | 60 things/s | them: 10 things/s |  | 6 | at least 8 | **missed**, 25% short |" in page
    assert "| Things | 5 things/s | others | 50 things/s | 0.1 |  |  |" in page
    assert "By hand." in page
    assert "on machine A at the commit def; load average" in page
    assert "## How late?\n\nNot measured: no network namespace" in page


def test_a_result_of_another_machine_says_so_and_a_machine_that_is_not_needed_any_more_is_forgotten() -> None:
    one, other = {"cores": "2"}, {"cores": "8"}
    report = Report(
        machines={"A": one},
        results=[Result(name=name, question="How many?", machine="A") for name in ("first", "second")],
    )

    assert report.name_machine(one) == "A"
    assert report.name_machine(other) == "B"
    second = Result(name="second", question="How many?", machine="B")
    report = report.with_results([second], machine="B", facts=other)
    assert (report.machines, [result.machine for result in report.results]) == (
        {"A": one, "B": other},
        ["A", "B"],
    )
    first = msgspec.structs.replace(second, name="first")
    report = report.with_results([first], machine="B", facts=other)
    assert report.machines == {"B": other}
    assert report.name_machine(one) == "A"


def test_the_page_in_the_docs_is_that_of_the_last_run() -> None:
    run = msgspec.json.decode((ROOT / "benchmarks" / "last_run.json").read_bytes(), type=Report)

    assert (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8") == render(run)
