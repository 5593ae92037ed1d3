"""Point Gemini CLI at the scripted model, with the switches that it documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.live.arena import FAKE_KEY
from support.live.target import Target

__all__ = ["TARGET"]


def _write_settings(home: Path, model_url: str) -> None:
    """Write `settings.json` and `.env` into `home`: the key's way of signing in, nothing sent home."""
    settings: dict[str, Any] = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "disableUpdateNag": True},
        "model": {"name": "gemini-2.5-flash"},
    }
    folder = home / ".gemini"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    (folder / ".env").write_text(f"GOOGLE_GEMINI_BASE_URL={model_url}\n", encoding="utf-8")


TARGET = Target(
    pin="gemini",
    acp_arguments=("--acp",),
    variables={"GEMINI_API_KEY": FAKE_KEY, "GEMINI_CLI_TRUST_WORKSPACE": "true"},
    write_settings=_write_settings,
    auth_method="gemini-api-key",
)
