"""Point OpenCode at the scripted model, with the switches that it documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.live.arena import FAKE_KEY
from support.live.target import Target

__all__ = ["TARGET"]

_VARIABLES = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
}


def _write_settings(home: Path, model_url: str) -> None:
    """Write `opencode.json` into `home`: one provider, the scripted model; shell and edits are asked about."""
    model: dict[str, Any] = {
        "name": "Scripted 1",
        "tool_call": True,
        "reasoning": True,
        "limit": {"context": 200000, "output": 8192},
    }
    provider: dict[str, Any] = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{model_url}/v1", "apiKey": FAKE_KEY},
        "models": {"scripted-1": model},
    }
    settings: dict[str, Any] = {
        "model": "scripted/scripted-1",
        "small_model": "scripted/scripted-1",
        "enabled_providers": ["scripted"],
        "provider": {"scripted": provider},
        "permission": {"bash": "ask", "edit": "ask"},
        "autoupdate": False,
        "share": "disabled",
    }
    path = home / ".config" / "opencode" / "opencode.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


TARGET = Target(pin="opencode", acp_arguments=("acp",), variables=_VARIABLES, write_settings=_write_settings)
