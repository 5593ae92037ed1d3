"""The folders of the bindings as tests load them: a Python package as its host would, and JavaScript by the machine's node."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

__all__ = [
    "BINDINGS",
    "TOOL_NAMES",
    "load_package",
    "put_programs_on_path",
    "read_bridge_profiles",
    "run_node",
]

BINDINGS = Path(__file__).resolve().parents[3] / "bindings"
TOOL_NAMES: list[str] = [
    tool["name"] for tool in json.loads((BINDINGS / "hermes" / "tools.json").read_text())["tools"]
]


def put_programs_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the bindings find this environment's `inspan`, as an installed one is found."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")


def load_package(folder: Path, name: str) -> ModuleType:
    """Imports a folder as a package of that name, submodules included."""
    for loaded in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
        del sys.modules[loaded]
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def read_bridge_profiles(home: Path) -> dict[str, Any]:
    """`harnesses.json` of an apps' home."""
    return json.loads((home / "harnesses.json").read_text(encoding="utf-8"))


def run_node(script: str, *words: str, cwd: Path, stdin_text: str = "") -> Any:
    """Runs a module's text with the machine's node in `cwd`; gives the JSON that it prints last."""
    node = shutil.which("node")
    assert node is not None, "these tests need Node.js, as `make live` does"
    done = subprocess.run(
        [node, "--input-type=module", "-e", script, *words],
        cwd=cwd,
        input=stdin_text,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout.strip().splitlines()[-1])
