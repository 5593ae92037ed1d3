"""Point Mistral Vibe at the scripted model, with the switches that it documents."""

from __future__ import annotations

from pathlib import Path

from support.live.target import Target

__all__ = ["TARGET"]

_SETTINGS = """\
active_model = "scripted-1"
enable_auto_update = false
enable_telemetry = false
enable_update_checks = false

[[providers]]
name = "scripted"
api_base = "{url}/v1"
api_key_env_var = "OPENAI_API_KEY"
api_style = "openai"
backend = "generic"

[[models]]
name = "scripted-1"
provider = "scripted"
alias = "scripted-1"
"""


def _write_settings(home: Path, model_url: str) -> None:
    """Write `config.toml` into `home`: one provider, the scripted model."""
    folder = home / ".vibe"
    folder.mkdir()
    (folder / "config.toml").write_text(_SETTINGS.format(url=model_url), encoding="utf-8")


TARGET = Target(pin="vibe", acp_program="vibe-acp", write_settings=_write_settings)
