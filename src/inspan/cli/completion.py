"""`inspan completion`: the shells' scripts; each asks `inspan __complete` for what could stand there."""

from __future__ import annotations

from pathlib import Path

from .arguments import Namespace, Parser
from .context import Context

__all__ = ["SHELLS", "build_completion", "script_of"]

SHELLS = ("bash", "zsh", "fish")
"""Shells that have a script."""


def build_completion(parser: Parser) -> None:
    """Adds the arguments of `completion`."""
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    parser.set_defaults(run=_completion)
    parser.example('eval "$(inspan completion bash)"', "in ~/.bashrc")
    parser.example("inspan completion zsh > ~/.zfunc/_inspan", "in a folder of your fpath")
    parser.example("inspan completion fish > ~/.config/fish/completions/inspan.fish", "where fish looks")


def script_of(shell: str) -> str:
    """The completion script of a shell."""
    return (Path(__file__).parent / "completions" / f"inspan.{shell}").read_text(encoding="utf-8")


def _completion(context: Context, args: Namespace) -> int:
    script = script_of(args.shell)
    if context.output.is_json:
        context.output.value({"shell": args.shell, "script": script})
    else:
        context.output.part(script)
    return 0
