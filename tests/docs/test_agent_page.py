"""The page on the agent: its program runs as it stands, and so does its first command."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from support.program import inspan

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "agent.md").read_text(encoding="utf-8")


def test_the_program_on_the_page_runs(tmp_path: Path) -> None:
    found = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    done = subprocess.run(
        [sys.executable, "-c", found[1]], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert "TextDelta" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("end_turn Usage(")
    assert done.stderr == ""


def test_the_first_command_on_the_page_says_what_the_page_says() -> None:
    found = re.search(r'\$ inspan (agent run [^"]*)"([^"]+)"\n(.+)\n(\d+ tokens in, \d+ out); session', PAGE)
    assert found is not None
    done = inspan(*found[1].split(), found[2])
    assert done.out.strip() == found[3]
    assert found[4] in done.err
