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
_HERE = Path(__file__).resolve().parent
_QUICK_S = 20


def read_tools() -> list[dict[str, Any]]:
    """Every tool: `name`, `description`, `parameters`."""
    return json.loads((_HERE / "tools.json").read_text(encoding="utf-8"))["tools"]


def skill_folders() -> list[Path]:
    """The folders of the skills, each with its `SKILL.md`."""
    return sorted(path.parent for path in (_HERE / "skills").glob("*/SKILL.md"))


def inspan_program() -> str:
    """The program: what `INSPAN_CLI` names, else the one on the PATH."""
    return os.environ.get("INSPAN_CLI", "").strip() or shutil.which("inspan") or "inspan"


def call_tool(name: str, arguments: dict[str, Any]) -> str:
    """What the model is to read. A refusal is data; only what could not be run says that it is an error."""
    try:
        answer = json.loads(_run(["call", name], given=json.dumps(arguments)).stdout)
        text = str(answer["text"])
    except OSError as error:
        return _failed(_not_started(error))
    except (ValueError, TypeError, KeyError):
        return _failed("inspan gave no answer that can be read.")
    return _failed(text) if answer.get("isError") else text


def run_typed_line(line: str) -> tuple[int, str]:
    """Runs what a person typed behind `agent-app`: the exit status, and what was said."""
    try:
        done = _run(["line", line])
    except OSError as error:
        return 127, _not_started(error)
    return done.returncode, "\n".join(part.strip() for part in (done.stdout, done.stderr) if part.strip())


def register_profile() -> str:
    """Lets bridges take work to this harness; what became of it, in a sentence."""
    try:
        answer = json.loads(_run(["profile", HARNESS, "--json"], timeout_s=_QUICK_S).stdout)
        if "error" in answer:
            return f"bridge profile: none. {answer['error']['message']}"
        return f"bridge profile: {answer['status']} ({answer['file']})"
    except (OSError, ValueError, TypeError, KeyError, subprocess.TimeoutExpired) as error:
        return f"bridge profile: not registered ({type(error).__name__})"


def _run(
    words: list[str], *, given: str = "", timeout_s: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs `inspan app WORDS`. A relative folder in them is meant from where the person's terminal stands."""
    here = os.environ.get("TERMINAL_CWD", "").strip()
    return subprocess.run(
        [inspan_program(), "app", *words],
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        timeout=timeout_s,
        cwd=here if os.path.isdir(here) else None,
    )


def _not_started(error: OSError) -> str:
    return f"inspan could not be started: {error.strerror or error}. Install it, or set INSPAN_CLI."


def _failed(text: str) -> str:
    return json.dumps({"error": text}, ensure_ascii=False)
