"""Folders of harnesses for tests: a whole manifest in a few lines, and programs that stand in for harnesses."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

__all__ = ["MANIFEST", "add_harness", "add_plugin", "add_program", "manifest_text"]

MANIFEST = """\
schema = 1
id = "acme"
name = "Acme"
default_mode = "acp"

[maintainer]
name = "Somebody"

[program]
names = ["acme-agent"]

[session]
resume_type = "acme.session.v1"

[modes.acp]
transport = "acp"

[modes.acp.launch]
args = ["acp"]

[[modes.acp.postures]]
approvals = "ask"
session_mode = "careful"
"""
"""A manifest with nothing but what must be there, and one posture."""


def manifest_text(harness: str = "acme", *, top: str = "", more: str = "") -> str:
    """The manifest of `harness`, with `top` among its first keys and `more` at its end."""
    text = MANIFEST.replace('"acme"', f'"{harness}"').replace("acme.session.v1", f"{harness}.session.v1")
    return f"{top}\n{text}\n{more}\n"


def add_harness(root: Path, harness: str, text: str) -> Path:
    """Writes the manifest of `harness` below `root` and gives its folder."""
    folder = root / harness
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.toml").write_text(text, encoding="utf-8")
    return folder


def add_plugin(folder: Path, source: str) -> Path:
    """Writes `plugin.py` into a harness's folder; the manifest must name it."""
    file = folder / "plugin.py"
    file.write_text(source, encoding="utf-8")
    return file


def add_program(folder: Path, name: str, source: str) -> Path:
    """Writes a Python program that can be run, and gives its path."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!{sys.executable}\n{source}", encoding="utf-8")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file
