"""Start-up time is held by what is imported: counted in a process of its own, without `site`'s help."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.scripted_http import ScriptedHttp

SOURCE = Path(__file__).resolve().parents[2] / "src"
HEAVY = {
    "msgspec",
    "httpx",
    "litestar",
    "platformdirs",
    "asyncio",
    "http.client",
    "ssl",
    "email",
    "inspect",
    "uvicorn",
}
COUNT = """
import json, sys
before = set(sys.modules)
from inspan.cli.main import main
status = main(sys.argv[1:])
print(json.dumps([status, sorted(set(sys.modules) - before)]), file=sys.stderr)
"""


def _imported(*words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-S", "-c", COUNT, *words],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    status, modules = json.loads(done.stderr.splitlines()[-1])
    assert status == 0
    return set(modules)


def _tops(modules: set[str]) -> set[str]:
    return {name for name in modules if name in HEAVY or name.split(".")[0] in HEAVY}


def test_help_imports_next_to_nothing() -> None:
    modules = _imported("--help")

    assert _tops(modules) == set()
    assert len(modules) <= 32
    assert "socket" not in modules


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        (["seat", "list"], 64),
        (["permissions"], 64),
        (["daemon", "status"], 64),
        (["seat", "add", "--help"], 64),
        (["run", "--help"], 88),
        (["screen", "review"], 64),
        (["attach", "--help"], 72),
    ],
)
def test_a_command_imports_the_standard_library_alone(
    daemon: ScriptedHttp, words: list[str], limit: int
) -> None:
    daemon.on("GET", "/v1/seats", [])
    daemon.on("GET", "/v1/permissions", [])
    daemon.on("GET", "/v1/seats/review/screen", {"lines": ["shown"]})

    modules = _imported(*words)

    assert _tops(modules) == set()
    assert {name.split(".")[0] for name in modules} - set(sys.stdlib_module_names) == {"inspan"}
    assert len(modules) <= limit
    assert {name for name in modules if name.startswith("inspan.model.")} <= {
        "inspan.model.errors",
        "inspan.model.ids",
    }
