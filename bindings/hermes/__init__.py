"""Agent Apps in Hermes: the tools, the skills, `/agent-app` and `hermes agent-app`, as far as this Hermes has a place for each.

Each thing is registered by itself: what this version of the host does not offer is left out, and said in its log.
"""

from __future__ import annotations

import argparse
import inspect
import logging
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import engine

__all__ = ["register"]

_LOG = logging.getLogger(__name__)
_COMMAND = "agent-app"
_USAGE = "Say what you want: /agent-app make a reading list; /agent-app what is overdue on my board?"


def register(ctx: Any) -> None:
    """Called by the host's plugin manager. Never raises: an exception would disable the plugin whole."""
    for tool in engine.read_tools():
        _offer(
            ctx,
            "register_tool",
            name=tool["name"],
            toolset="agent_app",
            schema={
                "name": tool["name"],
                "description": tool["description"],
                "parameters": tool["parameters"],
            },
            handler=_handler(tool["name"]),
            description=tool["description"],
        )
    for folder in engine.skill_folders():
        _offer(
            ctx,
            "register_skill",
            name=folder.name,
            path=folder / "SKILL.md",
            description=_description(folder),
        )
    _offer(
        ctx,
        "register_command",
        name=_COMMAND,
        handler=_slash(ctx),
        description="Build, change, import, operate or verify an Agent App",
        args_hint="what you want",
    )
    _offer(
        ctx,
        "register_cli_command",
        name=_COMMAND,
        help="Build, serve and operate Agent Apps",
        setup_fn=_add_words,
        handler_fn=_cli,
    )
    _offer(ctx, "register_hook", "pre_gateway_dispatch", _rewrite)
    _LOG.info(engine.register_profile())


def _offer(ctx: Any, method: str, *places: Any, **fields: Any) -> None:
    """Calls a method of the host with what it takes of all this."""
    call: Callable[..., Any] | None = getattr(ctx, method, None)
    if call is None:
        _LOG.info("This Hermes has no %s; that part of Agent Apps is left out.", method)
        return
    try:
        takes = inspect.signature(call).parameters
        if not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in takes.values()):
            fields = {name: value for name, value in fields.items() if name in takes}
        call(*places, **fields)
    except Exception as error:  # noqa: BLE001 - one part that fails must not take the others with it
        _LOG.warning("%s was refused by Hermes (%s).", method, type(error).__name__)


def _handler(name: str) -> Callable[..., str]:
    def handle(args: dict[str, Any] | None = None, **_: Any) -> str:
        return engine.call_tool(name, args or {})

    return handle


def _request(words: str) -> str:
    return f"Agent App Framework request (/agent-app): {words}"


def _slash(ctx: Any) -> Callable[[str], str | None]:
    def handle(raw_args: str = "") -> str | None:
        words = raw_args.strip()
        if not words:
            return _USAGE
        inject = getattr(ctx, "inject_message", None)
        if inject is not None and inject(_request(words)):
            return None
        return f"Send it as a normal message: {_request(words)}"

    return handle


def _rewrite(event: Any = None, **_: Any) -> dict[str, str] | None:
    """On messaging platforms: `/agent-app …` and `/agent_app@bot …` become a request to the agent."""
    text = event.get("text") if isinstance(event, dict) else getattr(event, "text", None)
    if not isinstance(text, str):
        return None
    command, *words = text.strip().split(maxsplit=1)[:2] or [""]
    if command.partition("@")[0] not in ("/agent-app", "/agent_app") or not words:
        return None  # a bare command is answered by the command itself, with how it is used
    return {"action": "rewrite", "text": _request(words[0])}


def _add_words(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs=argparse.REMAINDER, help="as for agent-app and a2app")


def _cli(args: argparse.Namespace) -> int:
    status, said = engine.run_typed_line(shlex.join(args.words or ["list"]))
    if said:
        print(said)
    return status


def _description(folder: Path) -> str:
    for line in (folder / "SKILL.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("description: "):
            return line.removeprefix("description: ")
    return ""
