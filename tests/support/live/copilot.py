"""Point Copilot CLI at the scripted model, with the switches that it documents; no login is needed."""

from __future__ import annotations

import json
from pathlib import Path

from support.live.arena import FAKE_KEY
from support.live.target import Target

__all__ = ["TARGET"]

_VARIABLES = {
    "COPILOT_OFFLINE": "true",
    "COPILOT_AUTO_UPDATE": "false",
    "COPILOT_PROVIDER_TYPE": "openai",
    "COPILOT_PROVIDER_API_KEY": FAKE_KEY,
    "COPILOT_MODEL": "scripted-1",
}


def _write_settings(home: Path, model_url: str) -> None:
    """Write nothing but a folder: the model's address is a variable, which `model_variable` names."""
    folder = home / ".copilot"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"banner": "never"}) + "\n", encoding="utf-8")


TARGET = Target(
    pin="copilot",
    acp_arguments=("--acp",),
    variables=_VARIABLES,
    model_variable="COPILOT_PROVIDER_BASE_URL",
    write_settings=_write_settings,
)
