"""Point Claude Code, and its adapter for ACP, at the scripted model, with the switches that it documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.live.arena import FAKE_KEY
from support.live.target import Target

__all__ = ["ADAPTER", "TARGET"]

_VARIABLES = {
    "ANTHROPIC_API_KEY": FAKE_KEY,
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
}


def _write_settings(home: Path, model_url: str) -> None:
    """Write `settings.json` into `home`: where the scripted model is."""
    settings: dict[str, Any] = {"env": {"ANTHROPIC_BASE_URL": model_url}}
    folder = home / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


TARGET = Target(pin="claude", variables=_VARIABLES, write_settings=_write_settings)
ADAPTER = Target(pin="claude-agent-acp", variables=_VARIABLES, write_settings=_write_settings)
