"""`inspan version`."""

from __future__ import annotations

import platform

from inspan import __version__
from inspan.home import API_VERSION

from .arguments import Namespace, Parser
from .context import Context

__all__ = ["build_version"]


def build_version(parser: Parser) -> None:
    """Adds the arguments of `version`."""
    parser.set_defaults(run=_version)
    parser.example("inspan version --json", "the version, that of the HTTP interface, and Python's")


def _version(context: Context, _: Namespace) -> int:
    if context.output.is_json:
        context.output.value(
            {"version": __version__, "api": API_VERSION, "python": platform.python_version()}
        )
    else:
        context.output.line(
            f"inspan {__version__} (HTTP interface {API_VERSION}, Python {platform.python_version()})"
        )
    return 0
