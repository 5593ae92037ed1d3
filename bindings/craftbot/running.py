"""Runs a tool through the program `inspan`, which holds all that the bindings have in common."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

__all__ = ["call_tool"]

_NOT_REACHED = 3


def call_tool(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """`{status, output, exit_code}`; a program that is not there is an error with the status of an app that is not reached."""
    program = os.environ.get("INSPAN_CLI", "").strip() or shutil.which("inspan") or "inspan"
    try:
        done = subprocess.run(
            [program, "app", "call", name],
            input=json.dumps(arguments),
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        answer = json.loads(done.stdout)
        text, code = str(answer["text"]), int(answer["code"])
    except OSError as error:
        said = f"inspan could not be started: {error.strerror or error}. Install it, or set INSPAN_CLI."
        return {"status": "error", "output": said, "exit_code": _NOT_REACHED}
    except (ValueError, KeyError, TypeError):
        return {
            "status": "error",
            "output": "inspan gave no answer that can be read.",
            "exit_code": _NOT_REACHED,
        }
    return {"status": "error" if answer.get("isError") else "success", "output": text, "exit_code": code}
