"""Point Codex at the scripted model, with the switches that it documents."""

from __future__ import annotations

from pathlib import Path

from support.live.target import Target

__all__ = ["TARGET"]

_SETTINGS = """\
model = "scripted-1"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "Scripted"
base_url = "{url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false
"""


def _write_settings(home: Path, model_url: str) -> None:
    """Write `config.toml` into `home`: one provider, the scripted model, tried once."""
    path = home / ".codex" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(_SETTINGS.format(url=model_url), encoding="utf-8")


TARGET = Target(pin="codex", write_settings=_write_settings)
