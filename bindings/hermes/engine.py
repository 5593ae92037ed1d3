"""Runs the tools through the program `inspan`, which holds all that they have in common. The standard library alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

__all__ = ["call_tool", "inspan_program", "read_tools", "register_profile", "run_typed_line", "skill_folders"]

HARNESS = "hermes"
_QUICK_S = 20


def read_tools() -> list[dict[str, Any]]:
    """Every tool: `name`, `description`, `parameters`."""
    return json.loads((Path(__file__).parent / "tools.json").read_text(encoding="utf-8"))["tools"]


def inspan_program() -> str:
    """The program: what `INSPAN_CLI` names, else the one on the PATH."""
    return os.environ.get("INSPAN_CLI", "").strip() or shutil.which("inspan") or "inspan"


def call_tool(name: str, arguments: dict[str, Any]) -> str:
    """What the model is to read. A refusal is data; only what could not be run says that it is an error."""
    arguments = {**arguments}
    folder = arguments.get("dir")
    if isinstance(folder, str):
        arguments["dir"] = _from_terminal(folder)
    try:
        done = subprocess.run(
            [inspan_program(), "app", "call", name],
            input=json.dumps(arguments),
            capture_output=True,
            text=True,
            check=False,
        )
        answer = json.loads(done.stdout)
    except OSError as error:
        return _failed(
            f"inspan could not be started: {error.strerror or error}. Install it, or set INSPAN_CLI."
        )
    except ValueError:
        return _failed("inspan gave no answer that can be read.")
    text = str(answer.get("text", ""))
    return _failed(text) if answer.get("isError") else text


def run_typed_line(line: str) -> tuple[int, str]:
    """Runs what a person typed behind `agent-app`: the exit status, and what was said."""
    try:
        done = subprocess.run(
            [inspan_program(), "app", "line", line],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        return 127, f"inspan could not be started: {error.strerror or error}. Install it, or set INSPAN_CLI."
    return done.returncode, "\n".join(part.strip() for part in (done.stdout, done.stderr) if part.strip())


def register_profile() -> str:
    """Lets bridges take work to this harness; what became of it, in a sentence."""
    try:
        done = subprocess.run(
            [inspan_program(), "app", "profile", HARNESS, "--json"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_QUICK_S,
            stdin=subprocess.DEVNULL,
        )
        answer = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"bridge profile: not registered ({type(error).__name__})"
    return f"bridge profile: {answer.get('status', 'refused')} ({answer.get('file') or done.returncode})"


def skill_folders() -> list[Path]:
    """The folders of the skills, each with its `SKILL.md`."""
    program = os.environ.get("AGENT_APP_CLI", "").strip() or shutil.which("agent-app")
    if not program:
        return []
    try:
        done = subprocess.run(
            [program, "skills", "--path"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_QUICK_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    folder = Path(done.stdout.strip())
    return sorted(path.parent for path in folder.glob("*/SKILL.md")) if done.returncode == 0 else []


def _from_terminal(folder: str) -> str:
    """A relative folder is meant from where the person's terminal stands."""
    here = os.environ.get("TERMINAL_CWD", "")
    if not folder or os.path.isabs(folder) or "://" in folder or not os.path.isdir(here):
        return folder
    there = os.path.join(here, folder)
    return there if os.path.exists(there) or folder.startswith(".") else folder


def _failed(text: str) -> str:
    return json.dumps({"error": text}, ensure_ascii=False)
