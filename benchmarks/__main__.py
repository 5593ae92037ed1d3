"""`python -m benchmarks [NAME ...] [--json FILE] [--rounds N] [--small]`: measures, says, and keeps the figures."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, cast

import msgspec

from .checkout import ROOT, TESTS, child_environment
from .figures import Figure, load_average
from .report import Report, Result
from .scale import Scale

__all__ = ["BENCHMARKS", "main"]

BENCHMARKS = (
    "acp_ingest",
    "console_seats",
    "console_memory",
    "console_poller",
    "delivery",
    "durable_appends",
    "sse_fanout",
    "agent_to_client",
    "omnigent",
    "holder_memory",
    "cli_start",
    "hook_relay",
    "idle_daemon",
    "agent_plugins",
    "audit_sinks",
    "agent_first_word",
    "agent_step",
    "app_start",
    "app_next_task",
    "app_operation",
    "app_describe",
)
"""The benchmarks in the order in which they run, never two at once."""


class _Benchmark(Protocol):
    PEERS: tuple[str, ...]
    __doc__: str | None
    run: Callable[[Scale], list[Figure]]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs what is asked for; 1 if a benchmark could not be run. A missed target is an answer, not an error."""
    # Drafts of events and the namespace without a network are the tests' own.
    sys.path.insert(0, str(TESTS))
    options = _parser().parse_args(argv)
    scale = Scale(rounds=options.rounds, is_small=options.small)
    if options.inside:
        return _run_inside(options.names[0], scale)
    from .machine import describe_machine

    report = Report()
    if options.json and options.json.exists():
        report = msgspec.json.decode(options.json.read_bytes(), type=Report)
    facts = describe_machine() | ({"note": options.note} if options.note else {})
    machine = report.name_machine(facts)
    problems = 0
    for name in options.names or BENCHMARKS:
        result = msgspec.structs.replace(_run_apart(name, scale), machine=machine)
        problems += bool(result.problem)
        _say(result)
        report = report.with_results([result], machine=machine, facts=facts)
        if options.json:
            ordered = [one for name in BENCHMARKS for one in report.results if one.name == name]
            kept = msgspec.structs.replace(report, results=ordered)
            options.json.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
    return 1 if problems else 0


def _run_apart(name: str, scale: Scale) -> Result:
    """Runs a benchmark in a process of its own, and one with a foreign program without a network."""
    from .machine import describe_commit, describe_time

    benchmark = _load(name)
    result = Result(
        name=name,
        question=(benchmark.__doc__ or "").splitlines()[0],
        measured_at=describe_time(),
        commit=describe_commit(ROOT),
    )
    command = [sys.executable, "-m", "benchmarks", name, "--inside", "--rounds", str(scale.rounds)]
    command += ["--small"] if scale.is_small else []
    try:
        for peer in benchmark.PEERS:
            from .peers.installing import install

            install(peer)
        output = _run_alone(command) if benchmark.PEERS else _run(command)
        figures = msgspec.json.decode(output, type=list[Figure])
        return msgspec.structs.replace(result, figures=figures)
    except Exception as error:  # noqa: BLE001 - the others still run, and the reader learns the reason
        return msgspec.structs.replace(result, problem=f"{type(error).__name__}: {error}")


def _run_alone(command: list[str]) -> bytes:
    from support.live.netns import obstacle, open_namespace

    reason = obstacle()
    if reason is not None:
        raise RuntimeError(reason)
    with open_namespace() as namespace:
        return _run(namespace.argv(command))


def _run(command: list[str]) -> bytes:
    done = subprocess.run(command, stdout=subprocess.PIPE, env=child_environment(), check=False)
    if done.returncode:
        raise RuntimeError(f"it ended with {done.returncode}")
    return done.stdout


def _run_inside(name: str, scale: Scale) -> int:
    before = load_average()
    figures = _load(name).run(scale)
    load = (before, load_average())
    answer = [msgspec.structs.replace(figure, load=load) for figure in figures]
    sys.stdout.buffer.write(msgspec.json.encode(answer))
    return 0


def _load(name: str) -> _Benchmark:
    return cast("_Benchmark", importlib.import_module(f"benchmarks.{name}"))


def _say(result: Result) -> None:
    print(f"\n{result.name}: {result.question}", flush=True)
    if result.problem:
        print(f"  not measured: {result.problem}", flush=True)
    for figure in result.figures:
        against = ""
        if figure.ratio is not None:
            against = f", {figure.ratio:.3g} times {figure.peer_name}"
        verdict = {True: " (met)", False: f" (missed, {figure.miss})", None: ""}[figure.is_met]
        print(f"  {figure.what}: {figure.our_median:,.4g} {figure.unit}{against}{verdict}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Inspan beside others.")
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], help="which; all where none is named")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="keep the figures there, beside those of others"
    )
    parser.add_argument("--rounds", type=int, default=5, help="how often each side is measured (default: 5)")
    parser.add_argument(
        "--small", action="store_true", help="only see whether they work; the figures mean nothing"
    )
    parser.add_argument("--note", default="", help="what else a reader must know of the machine")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
