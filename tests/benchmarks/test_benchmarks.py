"""Each benchmark works: at a small scale it gives all of its figures, whatever they are."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import installed_size
from benchmarks.__main__ import BENCHMARKS
from benchmarks.figures import Figure
from benchmarks.peers.installing import PINS
from benchmarks.scale import Scale

ROOT = Path(__file__).resolve().parents[2]
SMALL = Scale(rounds=2, is_small=True)


def module(name: str) -> Any:
    return importlib.import_module(f"benchmarks.{name}")


OWN = [name for name in BENCHMARKS if not module(name).PEERS]
"""Those for which nothing foreign is installed."""


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_asks_one_question_and_names_peers_that_are_pinned(name: str) -> None:
    assert module(name).__doc__.splitlines()[0].endswith("?")
    assert set(module(name).PEERS) <= set(PINS)


def test_every_file_that_asks_a_question_is_a_benchmark() -> None:
    asking = {
        file.stem
        for file in (ROOT / "benchmarks").glob("*.py")
        if file.read_text(encoding="utf-8").partition("\n")[0].rstrip('"').endswith("?")
    }

    assert asking == set(BENCHMARKS)


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="memory and CPU time are read as Linux tells them"
)
@pytest.mark.timeout(600)  # fresh processes, whose modules a clean checkout compiles first
@pytest.mark.parametrize("name", OWN)
def test_a_benchmark_gives_its_figures_at_a_small_scale(name: str) -> None:
    if name in ("console_poller", "delivery") and shutil.which("tmux") is None:
        pytest.skip("it is compared with tmux, which is not installed here")
    figures: list[Figure] = module(name).run(SMALL)

    assert figures
    for figure in figures:
        assert len(figure.ours) == SMALL.rounds
        assert len(figure.peer) == (SMALL.rounds if figure.peer_name else 0)
        assert all(value >= 0 for value in figure.ours)
        if figure.target is not None:
            assert figure.is_met is not None


def test_a_pin_is_one_exact_version() -> None:
    for name, pin in PINS.items():
        assert pin.npm or pin.pypi, name
        assert all(package.rpartition("@")[2][0].isdigit() for package in pin.npm)
        assert all("==" in package for package in pin.pypi)


def test_the_size_of_an_installation_holds_what_it_needs() -> None:
    whole = installed_size.of_distribution("inspan")

    assert whole > installed_size.of_distribution("litestar") > installed_size.of_distribution("h11") > 0
