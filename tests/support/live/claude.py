"""Point Claude Code, and its adapter for ACP, at the scripted model, with the switches that it documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.live.arena import FAKE_KEY
from support.live.install import read_pins
from support.live.target import Target

__all__ = ["ADAPTER", "CONSOLE", "TARGET"]

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


def _write_console_settings(home: Path, model_url: str) -> None:
    """Write besides what a first run would ask: whether the key may be used, and the vendor's own server, which is not there."""
    _write_settings(home, model_url)
    seeded: dict[str, Any] = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "lastOnboardingVersion": read_pins()["claude"].version,
        "customApiKeyResponses": {"approved": [FAKE_KEY[-20:]], "rejected": []},
    }
    (home / ".claude.json").write_text(json.dumps(seeded) + "\n", encoding="utf-8")


_ID = "claude-code"
TARGET = Target(pin="claude", harness=_ID, variables=_VARIABLES, write_settings=_write_settings)
CONSOLE = Target(pin="claude", harness=_ID, variables=_VARIABLES, write_settings=_write_console_settings)
ADAPTER = Target(pin="claude-agent-acp", harness=_ID, variables=_VARIABLES, write_settings=_write_settings)
