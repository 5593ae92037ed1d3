"""Point Qwen Code at the scripted model, with the switches that it documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.live.target import Target

__all__ = ["TARGET"]


def _write_settings(home: Path, model_url: str) -> None:
    """Write `settings.json` and `.env` into `home`: one provider, the scripted model."""
    settings: dict[str, Any] = {
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "disableUpdateNag": True},
        "model": {"name": "scripted-1"},
        "tools": {"approvalMode": "default"},
    }
    folder = home / ".qwen"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    variables = f"OPENAI_BASE_URL={model_url}/v1\nOPENAI_MODEL=scripted-1\n"
    (folder / ".env").write_text(variables, encoding="utf-8")


TARGET = Target(pin="qwen", acp_arguments=("--acp",), write_settings=_write_settings)
