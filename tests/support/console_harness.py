"""A harness of the user's own whose console is the scripted one, for a real daemon."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

import inspan
from support.harness_folders import add_harness, add_program

__all__ = ["HARNESS", "add_console_harness", "keys_of", "press"]

HARNESS = "consoled"

_MANIFEST = """\
schema = 1
id = "consoled"
name = "Consoled"
default_mode = "terminal"

[maintainer]
name = "tests"

[program]
names = ["scripted-console"]

[session]
resume_type = "consoled.session.v1"

[modes.terminal]
transport = "terminal"
handshake_timeout_s = 5.0
launch.args = ["{state}"]
capabilities.activity = { support = "supported", source = "a test" }
capabilities.permission_report = { support = "supported", source = "a test" }

[modes.terminal.terminal]
rules_file = "terminal-rules.toml"

[[modes.terminal.postures]]
approvals = "ask"
"""

_RULES = """\
schema = 1
source = "scripted_console.py"
verified = "2026-11-30"

[[rules]]
name = "dialog.permission"
report = "needs_input"
priority = 900
kind = "permission"
all = ['^Run this command\\?$', '^> 1\\. Yes$']

[[rules]]
name = "gate.trust"
report = "needs_input"
priority = 890
gate = "trust"
all = ['^Do you trust this folder\\?$']

[[rules]]
name = "working"
report = "running"
priority = 500
all = ['esc to interrupt']

[[rules]]
name = "limit"
report = "limit"
priority = 480
all = ['^Usage limit reached']
capture = '^(?P<message>Usage limit reached)\\. Resets at (?P<resets>[0-9apm]+)'

[[rules]]
name = "idle"
report = "idle"
priority = 100
region = { of = "last_rows", rows = 2 }
all = ['^> type here$']

[[rules]]
name = "ready"
report = "ready"
priority = 100
region = { of = "last_rows", rows = 2 }
all = ['^> type here$', 'model: ']
"""


def add_console_harness(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes the harness known to the test's own home; gives the folder where its program writes down its keys.

    Args:
        root: A folder of the test.
        monkeypatch: Puts the program on the PATH.
    """
    state, programs = root / "console", root / "programs"
    state.mkdir()
    script = Path(__file__).with_name("scripted_console.py")
    add_program(
        programs,
        "scripted-console",
        f"import runpy\nrunpy.run_path({str(script)!r}, run_name='__main__')\n",
    )
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    home = Path(os.environ["INSPAN_HOME"])
    home.mkdir(mode=0o700, exist_ok=True)
    folder = add_harness(home / "harnesses", HARNESS, _MANIFEST.replace("{state}", str(state)))
    (folder / "terminal-rules.toml").write_text(_RULES, encoding="utf-8")
    return state


def keys_of(state: Path) -> bytes:
    """Every byte that the program read."""
    path = state / "keys"
    return path.read_bytes() if path.exists() else b""


def press(keys: bytes, seat: str = "worker") -> None:
    """Types as a program does that attaches by the library, and leaves again."""

    async def attach() -> None:
        async with inspan.connect() as client, client.terminal(seat, write=True, steal=True) as terminal:
            await terminal.keys(keys)

    asyncio.run(attach())
