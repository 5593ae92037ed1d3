"""Point Cline at the scripted model, with the settings that `cline auth` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.live.arena import FAKE_KEY
from support.live.target import Target

__all__ = ["TARGET"]

_PROVIDER = "openai-compatible"


def _write_settings(home: Path, model_url: str) -> None:
    """Write `providers.json` into `home`: one provider, the scripted model."""
    own = {"provider": _PROVIDER, "apiKey": FAKE_KEY, "model": "scripted-1", "baseUrl": f"{model_url}/v1"}
    known = {"settings": own, "updatedAt": "2026-11-30T00:00:00.000Z", "tokenSource": "manual"}
    settings: dict[str, Any] = {
        "version": 1,
        "lastUsedProvider": _PROVIDER,
        "modes": {},
        "providers": {_PROVIDER: known},
    }
    folder = home / ".cline" / "data" / "settings"
    folder.mkdir(parents=True)
    (folder / "providers.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


TARGET = Target(pin="cline", acp_arguments=("--acp",), write_settings=_write_settings)
