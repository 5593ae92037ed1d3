"""Point Pi at the scripted model, with the switches that it documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.live.arena import FAKE_KEY
from support.live.target import Target

__all__ = ["TARGET", "write_gate"]

_GATE = """\
export default function (pi) {
  pi.on("tool_call", async (event, ctx) => {
    if (event.toolName !== "bash") return;
    const command = event.input.command;
    const blocked = { block: true, reason: "Blocked by a person" };
    if (command.includes("chosen")) {
      if ((await ctx.ui.select("Allow this command?", ["Allow", "Block"])) !== "Allow") return blocked;
    } else if (command.includes("typed")) {
      if ((await ctx.ui.input("Why should it run?")) === undefined) return blocked;
    } else if (!(await ctx.ui.confirm("Run it?", command))) {
      return blocked;
    }
  });
}
"""


def _write_settings(home: Path, model_url: str) -> None:
    """Write `models.json` and `settings.json` into `home`: one provider, the scripted model."""
    provider: dict[str, Any] = {
        "baseUrl": f"{model_url}/v1",
        "api": "openai-completions",
        "apiKey": FAKE_KEY,
        "models": [{"id": "scripted-1", "name": "Scripted 1", "contextWindow": 200000, "maxTokens": 8192}],
    }
    folder = home / ".pi" / "agent"
    folder.mkdir(parents=True)
    models = {"providers": {"scripted": provider}}
    (folder / "models.json").write_text(json.dumps(models, indent=2) + "\n", encoding="utf-8")
    settings = {"defaultProvider": "scripted", "defaultModel": "scripted-1"}
    (folder / "settings.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def write_gate(home: Path) -> None:
    """Write an extension into `home` that asks about every shell command: it has no such questions of its own."""
    folder = home / ".pi" / "agent" / "extensions"
    folder.mkdir(parents=True)
    (folder / "gate.ts").write_text(_GATE, encoding="utf-8")


TARGET = Target(pin="pi", write_settings=_write_settings)
