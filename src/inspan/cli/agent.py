"""`inspan agent`: the agent that comes with Inspan, run once, talked with, served over ACP, and its plugins."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .arguments import Namespace, Parser

if TYPE_CHECKING:
    from .context import Context

__all__ = ["MODES", "build_agent"]

MODES = ("default", "plan", "accept_edits", "bypass")
"""The permission modes, as the agent has them."""


def build_agent(parser: Parser) -> None:
    """Adds the actions of `agent`."""
    running = parser.action(
        "run",
        "send one prompt, show what happens, and end with its turn",
        _run,
        description="The exit status is the turn's outcome. Asks on the terminal where there is one; elsewhere what would be "
        "asked is denied. With --json: one value at the end.",
    )
    running.add_argument(
        "prompt",
        metavar="PROMPT",
        nargs="*",
        default=[],
        help="the prompt; - or nothing reads standard input",
    )
    _add_options(running)
    running.example('inspan agent run "Explain this folder."', "with the model that the environment names")
    running.example("inspan agent run --model scripted:demo hello", "needs no key and no network")
    chatting = parser.action(
        "chat",
        "talk with the agent on this terminal",
        _chat,
        description="Ctrl-C stops a turn, Ctrl-D leaves. /help lists the commands. A line that ends with a backslash goes on "
        "in the next.",
    )
    _add_options(chatting)
    chatting.example("inspan agent chat --continue", "goes on with the newest session of this folder")
    serving = parser.action("acp", "serve the agent over ACP on standard input and output", _acp)
    serving.add_argument("--model", metavar="MODEL", help="provider:model of new sessions")
    serving.add_argument("--permission-mode", choices=MODES, default="default", help="of new sessions")
    serving.add_argument("--strict", action="store_true", help="a project that names plugins is an error")
    serving.example("inspan agent acp", "for an editor that speaks the Agent Client Protocol")
    sessions = parser.action("sessions", "list the sessions that are kept, or delete one", _sessions)
    sessions.add_argument("--delete", metavar="ID", help="delete this session")
    sessions.example("inspan agent sessions", "the last used first")
    plugins = parser.action(
        "plugins",
        "list, show, disable and enable runtime plugins",
        _plugins,
        description="Runtime plugins extend the agent and run with all its authority. A change counts from the next agent "
        "on; plugins.json in the home is where it is kept.",
    )
    plugins.add_argument(
        "what", metavar="WHAT", nargs="?", choices=("list", "show", "disable", "enable"), default="list",
        help="list (the default), show, disable or enable",
    )  # fmt: skip
    plugins.add_argument("plugin", metavar="PLUGIN", nargs="?", help="the plugin's id, for all but list")
    plugins.example("inspan agent plugins", "starts the agent's plugins, shows how they are, and stops them")
    plugins.example("inspan agent plugins disable memory", "from the next agent on")


def _add_options(parser: Parser) -> None:
    parser.add_argument("--model", metavar="MODEL", help="provider:model (default: from the environment)")
    parser.add_argument("--effort", choices=("low", "medium", "high"), help="how hard the model is to think")
    parser.add_argument(
        "--permission-mode",
        choices=MODES,
        default="default",
        help="what may be done unasked (default: default)",
    )
    parser.add_argument(
        "--workspace", metavar="DIR", default=".", help="the folder to work in (default: here)"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--resume", metavar="ID", help="go on with this session")
    which.add_argument(
        "--continue", dest="newest", action="store_true", help="go on with the folder's newest session"
    )
    which.add_argument("--ephemeral", action="store_true", help="keep nothing of it")
    parser.add_argument("--strict", action="store_true", help="a project that names plugins is an error")
    parser.add_argument("--instructions", metavar="TEXT", default="", help=argparse.SUPPRESS)


def _run(context: Context, args: Namespace) -> int:
    from .agent_run import run_once

    return run_once(context, args)


def _chat(context: Context, args: Namespace) -> int:
    from .agent_chat import chat

    return chat(context, args)


def _acp(context: Context, args: Namespace) -> int:
    from inspan.agent.acp.__main__ import main

    words = ["--permission-mode", args.permission_mode, "--home", str(context.home.path)]
    words += ["--model", args.model] if args.model else []
    words += ["--strict"] if args.strict else []
    return main(words)


def _sessions(context: Context, args: Namespace) -> int:
    from .agent_keeping import show_sessions

    return show_sessions(context, delete=args.delete)


def _plugins(context: Context, args: Namespace) -> int:
    from .agent_keeping import manage_plugins

    return manage_plugins(context, args.what, args.plugin)
