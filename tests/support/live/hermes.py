"""Point Hermes Agent at the scripted model, with the switches that it documents."""

from __future__ import annotations

from pathlib import Path

from support.live.arena import FAKE_KEY
from support.live.target import Target

__all__ = ["TARGET"]

_SETTINGS = """\
model:
  provider: custom
  base_url: {url}/v1
  api_key: {key}
  default: scripted-1
"""


def _write_settings(home: Path, model_url: str) -> None:
    """Write `config.yaml` into `home`: one provider, the scripted model."""
    folder = home / ".hermes"
    folder.mkdir()
    (folder / "config.yaml").write_text(_SETTINGS.format(url=model_url, key=FAKE_KEY), encoding="utf-8")


TARGET = Target(
    pin="hermes",
    acp_arguments=("acp",),
    # It installs further packages by itself, and without a network waits for that.
    variables={"PIP_NO_INDEX": "1"},
    write_settings=_write_settings,
)
