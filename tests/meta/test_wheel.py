"""What is published holds all that is written for it, and works where there is no checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_MADE = {"__pycache__", "node_modules"}


@pytest.fixture(scope="module")
def wheel() -> Iterator[Path]:
    """The wheel, built from this checkout."""
    with tempfile.TemporaryDirectory(prefix="isp-") as place:
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", place],
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
        [built] = Path(place).glob("*.whl")
        yield built


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Iterator[Path]:
    """The wheel's files, as an installation has them, in a folder for PYTHONPATH."""
    with tempfile.TemporaryDirectory(prefix="isp-") as place, zipfile.ZipFile(wheel) as packed:
        packed.extractall(place)
        yield Path(place)


def _written(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not _MADE & set(path.parts)
    }


@pytest.mark.requirement("P23")
def test_every_file_of_the_package_and_of_the_bindings_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    expected = {f"inspan/{name}" for name in _written(ROOT / "src" / "inspan")}
    expected |= {f"inspan/bindings/{name}" for name in _written(ROOT / "bindings")}
    assert expected - names == set()
    assert [name for name in names if _MADE & set(Path(name).parts)] == []
    kinds = {Path(name).suffix for name in names if name.startswith("inspan/apps/")}
    assert {".py", ".js", ".css", ".html", ".md", ".json", ".toml", ".template"} <= kinds


def test_the_wheel_installs_the_programs_that_the_project_names(installed: Path) -> None:
    [listed] = installed.glob("*.dist-info/entry_points.txt")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = listed.read_text(encoding="utf-8")
    assert {"inspan", "agent-app", "a2app"} <= set(project["scripts"])
    for name, target in project["scripts"].items():
        assert f"{name} = {target}" in text


def _run(installed: Path, home: Path, program: str, *words: str) -> str:
    """Runs a program of the wheel, and of nothing else."""
    start = f"import sys, {program} as program; assert program.__file__.startswith(sys.argv.pop(1)); sys.exit(program.main())"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "A2APP_HOME": str(home / "apps"),
        "A2APP_PYTHON": sys.executable,
        "PYTHONPATH": str(installed),
    }
    done = subprocess.run(
        [sys.executable, "-P", "-c", start, str(installed), *words],
        cwd=home,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.requirement("P9", "P15")
def test_an_app_is_made_served_and_operated_by_the_wheel_alone(installed: Path) -> None:
    agent_app, a2app = "inspan.apps.programs.agent_app.main", "inspan.apps.programs.a2app.main"
    with tempfile.TemporaryDirectory(prefix="isp-") as place:
        home = Path(place)
        _run(installed, home, agent_app, "todo", "scaffold", "--name", "To do")
        served = json.loads(_run(installed, home, agent_app, "todo", "serve"))
        try:
            assert "modules" in _run(installed, home, a2app, "todo")
            made = json.loads(
                _run(installed, home, a2app, "todo", "data", "items", "create", "--title", "Milk")
            )
            assert made["title"] == "Milk"
        finally:
            _run(installed, home, agent_app, "todo", "stop")
        assert served["ok"] is True
        skills = Path(_run(installed, home, agent_app, "skills", "--path").strip())
        assert skills.is_relative_to(installed)
        assert len(list(skills.glob("*/SKILL.md"))) == 6


def test_the_command_line_of_the_wheel_knows_harnesses_and_tools(installed: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="isp-") as place:
        home = Path(place)
        (home / "run").mkdir(mode=0o700)
        tools = json.loads(_run(installed, home, "inspan.cli.main", "app", "tools", "--json"))
        assert len(tools) == 17
        assert "not connected" in _run(installed, home, "inspan.cli.main", "app", "connect")
        for binding in sorted(path for path in (ROOT / "bindings").iterdir() if path.is_dir()):
            said = _run(installed, home, "inspan.cli.main", "app", "binding", binding.name)
            assert said.strip() == str(installed / "inspan" / "bindings" / binding.name)
