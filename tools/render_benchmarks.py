"""Make docs/benchmarks.md of the figures of a run: `python tools/render_benchmarks.py FILE [PAGE]`."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.figures import Figure, Target  # noqa: E402
from benchmarks.report import Report, Result  # noqa: E402

__all__ = ["render"]

_HEAD = """\
# Benchmarks

This page is written by `tools/render_benchmarks.py` from real runs; change the benchmarks, not the page.

`make bench` runs them all and writes it anew; `python -m benchmarks NAME` runs one. Each asks one question and
measures both sides in turns, in the same run, on the same machine; no two benchmarks run at once. A value is the
median of its rounds, with the least and the greatest beside it. A ratio is ours divided by the peer's: the median
over the rounds, so that load which comes and goes hits both sides. Foreign programs run at one exact version,
in a throwaway home, without a network. A figure that was not measured here is marked as reported.
"""


def render(report: Report) -> str:
    """The page."""
    parts = [_HEAD, "## The machines\n"]
    for name, facts in report.machines.items():
        parts += [f"- {name}: " + ", ".join(f"{fact} {value}" for fact, value in facts.items())]
    parts.append("")
    for result in report.results:
        parts += _section(result)
    return "\n".join(parts).rstrip() + "\n"


def _section(result: Result) -> list[str]:
    lines = [f"## {result.question}\n"]
    if result.problem:
        return [*lines, f"Not measured: {result.problem}\n"]
    has_reported = any(figure.reported_peer is not None for figure in result.figures)
    head = [
        "figure",
        "Inspan",
        "peer",
        *(["peer, as reported"] if has_reported else []),
        "ratio",
        "target",
        "",
    ]
    lines += [_row(head), _row(["---"] * len(head))]
    lines += [_row(_cells(figure, has_reported=has_reported)) for figure in result.figures]
    load = result.figures[0].load
    lines.append(
        f"\nMeasured {result.measured_at} on machine {result.machine} at the commit {result.commit}; "
        f"load average before and after: {load[0]:.2f}, {load[1]:.2f}."
    )
    notes = dict.fromkeys(f"{figure.what}: {figure.note}" for figure in result.figures if figure.note)
    lines += [f"\n{note}" for note in notes]
    return [*lines, ""]


def _cells(figure: Figure, *, has_reported: bool) -> list[str]:
    peer = _value(figure.peer, figure.unit) if figure.peer else ""
    cells = [figure.what, _value(figure.ours, figure.unit)]
    cells.append(f"{figure.peer_name}: {peer}" if peer else figure.peer_name)
    if has_reported:
        cells.append("" if figure.reported_peer is None else f"{_number(figure.reported_peer)} {figure.unit}")
    ratio = figure.ratio if figure.peer or figure.reported_peer is not None else None
    cells.append("" if ratio is None else f"{_number(ratio)}")
    cells.append("" if figure.target is None else _target(figure.target, figure.unit))
    cells.append({True: "met", False: f"**missed**, {figure.miss}", None: ""}[figure.is_met])
    return cells


def _target(target: Target, unit: str) -> str:
    return f"{target.bound} {_number(target.limit)}" + ("" if target.of == "ratio" else f" {unit}")


def _value(values: list[float], unit: str) -> str:
    ordered = sorted(values)
    middle = Figure(what="", unit="", ours=values).our_median
    text = f"{_number(middle)} {unit}"
    return text if len(values) == 1 else f"{text} ({_number(ordered[0])} to {_number(ordered[-1])})"


def _number(value: float) -> str:
    if value == int(value) and abs(value) < 1000:
        return str(int(value))
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    _page = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs" / "benchmarks.md"
    _page.write_text(
        render(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Report)), encoding="utf-8"
    )
