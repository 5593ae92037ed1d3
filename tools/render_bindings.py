"""Makes what the bindings share from the tables and texts of `inspan.apps`: tools, skills, the command.

`python tools/render_bindings.py` writes; `--check` says what is stale and ends with 1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from inspan import __version__
from inspan.apps.tools.table import SUBSETS, TOOLS, input_schema

__all__ = ["BINDINGS", "expected_files", "find_stale", "main"]

ROOT = Path(__file__).resolve().parent.parent
BINDINGS = ROOT / "bindings"
APPS = ROOT / "src" / "inspan" / "apps"

_WITH_TABLE = ("hermes", "openclaw", "dsh", "craftbot")
_WITH_SKILLS = ("claude-code", "openclaw", "pi", "hermes", "dsh")
_COMMANDS = {"claude-code": "commands/agent-app.md", "pi": "prompts/agent-app.md"}
_NAME = "Agent Apps"
_SUMMARY = "Build and operate apps that a person and an agent share."


def expected_files() -> dict[Path, str]:
    """Every generated file with its text, by its path below `bindings/`."""
    found = {Path(name, "tools.json"): _table() for name in _WITH_TABLE}
    for name in _WITH_SKILLS:
        found |= {Path(name, "skills", path): text for path, text in _skills()}
    command = (APPS / "commands" / "agent-app.md").read_text(encoding="utf-8")
    found |= {Path(name, path): command for name, path in _COMMANDS.items()}
    found[Path("claude-code/.claude-plugin/plugin.json")] = _json(
        {
            "name": "agent-apps",
            "displayName": _NAME,
            "description": _SUMMARY,
            "version": __version__,
            "author": {"name": "Inspan"},
            "license": "Apache-2.0",
            "keywords": ["apps", "agents", "a2app"],
            "skills": "./skills/",
            "commands": "./commands/",
            "mcpServers": {
                "a2app": {"command": "inspan", "args": ["app", "mcp", "--profile", "claude-code"]}
            },
        }
    )
    found[Path("claude-code/.claude-plugin/marketplace.json")] = _json(
        {
            "name": "inspan",
            "owner": {"name": "Inspan"},
            "description": _SUMMARY,
            "version": __version__,
            "metadata": {"description": _SUMMARY, "version": __version__},
            "plugins": [
                {"name": "agent-apps", "source": "./", "description": _SUMMARY, "version": __version__}
            ],
        }
    )
    found[Path("openclaw/openclaw.plugin.json")] = _openclaw_manifest()
    found[Path("hermes/plugin.yaml")] = _hermes_manifest()
    return found


def find_stale(folder: Path = BINDINGS) -> list[str]:
    """What differs from what it should be, a line each."""
    stale: list[str] = []
    expected = expected_files()
    for path, text in sorted(expected.items()):
        file = folder / path
        if not file.is_file():
            stale.append(f"{path} is missing")
        elif file.read_text(encoding="utf-8") != text:
            stale.append(f"{path} is stale")
    for name in _WITH_SKILLS:
        stale += [
            f"{file.relative_to(folder)} is no skill any more"
            for file in sorted((folder / name / "skills").rglob("*"))
            if file.is_file() and file.relative_to(folder) not in expected
        ]
    return stale


def main(words: Sequence[str]) -> int:
    """Writes, or checks."""
    if list(words) == ["--check"]:
        stale = find_stale()
        for line in stale:
            sys.stderr.write(f"{line}\n")
        return 1 if stale else 0
    for path, text in expected_files().items():
        file = BINDINGS / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return 0


def _table() -> str:
    return _json(
        {
            "tools": [
                {
                    "name": tool.name,
                    "program": tool.program,
                    "description": tool.description,
                    "parameters": input_schema(tool),
                    "isReadOnly": tool.is_read_only,
                    "isDestructive": tool.is_destructive,
                }
                for tool in TOOLS
            ],
            "subsets": {name: list(names) for name, names in SUBSETS.items()},
        }
    )


def _skills() -> Iterator[tuple[Path, str]]:
    folder = APPS / "skills"
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix in (".md", ".json"):
            yield file.relative_to(folder), file.read_text(encoding="utf-8")


def _hermes_manifest() -> str:
    lines = [
        "name: agent-apps",
        f"version: {__version__}",
        f"description: {_SUMMARY}",
        "author: Inspan",
        "kind: standalone",
        "provides_tools:",
        *(f"  - {tool.name}" for tool in TOOLS),
        "provides_hooks:",
        "  - pre_gateway_dispatch",
    ]
    return "\n".join(lines) + "\n"


def _openclaw_manifest() -> str:
    return _json(
        {
            "id": "agent-apps",
            "name": _NAME,
            "description": _SUMMARY,
            "version": __version__,
            "enabledByDefault": False,
            "skills": ["./skills"],
            "cliCommands": [
                {
                    "name": "agent-app",
                    "description": "Build, serve and operate Agent Apps",
                    "hasSubcommands": True,
                }
            ],
            "commandAliases": [{"name": "agent-app", "kind": "runtime-slash", "cliCommand": "agent-app"}],
            "activation": {"onStartup": True, "onCommands": ["agent-app"]},
            "contracts": {"tools": [tool.name for tool in TOOLS]},
            "configSchema": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "tools": {
                        "type": "string",
                        "enum": ["none", *SUBSETS],
                        "default": "none",
                        "description": "Which tools the agent gets: none (skills and commands do), basic, tasks or all.",
                    },
                    "tab": {
                        "type": "string",
                        "enum": ["look", "apps", "all"],
                        "default": "apps",
                        "description": "What whoever may open the tab may do there: look at the apps, also launch, pause and "
                        "delete them, or all, which has the agent work too.",
                    },
                    "inspan": {
                        "type": "string",
                        "description": "The program `inspan`, where it is not on the PATH.",
                    },
                },
            },
        }
    )


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
