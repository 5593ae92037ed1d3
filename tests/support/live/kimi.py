"""Point Kimi CLI at the scripted model, with the switches that it documents."""

from __future__ import annotations

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


def _write_settings(home: Path, model_url: str) -> None:
    """Write `config.toml` into `home`: one provider, the scripted model."""
    folder = home / ".kimi"
    folder.mkdir()
    (folder / "config.toml").write_text(_SETTINGS.format(url=model_url, key=FAKE_KEY), encoding="utf-8")


TARGET = Target(pin="kimi", acp_arguments=("acp",), write_settings=_write_settings)
