"""Point Kimi CLI at the scripted model, with the switches that it documents."""

from __future__ import annotations

import json
from pathlib import Path

from support.live.arena import FAKE_KEY
from support.live.target import Target

__all__ = ["TARGET"]

_SETTINGS = """\
default_model = "scripted-1"
telemetry = false

[providers.scripted]
type = "openai_legacy"
base_url = "{url}/v1"
api_key = "{key}"

[models.scripted-1]
provider = "scripted"
model = "scripted-1"
max_context_size = 200000
"""

_NO_TOKEN = {
    "access_token": FAKE_KEY,
    "refresh_token": FAKE_KEY,
    "expires_at": 4102444800.0,
    "scope": "",
    "token_type": "Bearer",
}


def _write_settings(home: Path, model_url: str) -> None:
    """Write `config.toml` into `home`: one provider, the scripted model."""
    folder = home / ".kimi"
    folder.mkdir()
    (folder / "config.toml").write_text(_SETTINGS.format(url=model_url, key=FAKE_KEY), encoding="utf-8")
    # Over ACP it looks whether somebody signed in, whatever provider is configured.
    (folder / "credentials").mkdir()
    (folder / "credentials" / "kimi-code.json").write_text(json.dumps(_NO_TOKEN) + "\n", encoding="utf-8")


TARGET = Target(pin="kimi", acp_arguments=("acp",), write_settings=_write_settings)
