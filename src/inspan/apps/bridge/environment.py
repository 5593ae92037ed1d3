"""The environment of an agent that the bridge runs: what any program needs, what its harness needs, nothing else.

The work comes from an app, and an app's data from anywhere; so the agent is handed no key that it was not given.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["PROGRAM", "agent_environment"]

PROGRAM = "a2app"
"""The program by which an agent operates an app."""

_NEEDED = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "TERM",
        "NO_COLOR",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
        "REQUESTS_CA_BUNDLE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
        "LD_LIBRARY_PATH",
        "DYLD_LIBRARY_PATH",
        "A2APP_HOME",
        "INSPAN_HOME",
    ]
)
_NEEDED_BEGINNINGS = ("LC_", "XDG_")


def agent_environment(
    environ: Mapping[str, str], *, inherits: Iterable[str], sets: Mapping[str, str]
) -> dict[str, str]:
    """The whole environment of an agent.

    Args:
        environ: The bridge's own.
        inherits: Names of what its harness needs beyond what any program does; a trailing `*` matches a prefix.
        sets: What it is given besides.
    """
    wanted = tuple(inherits)
    names = {one for one in wanted if not one.endswith("*")}
    beginnings = (*_NEEDED_BEGINNINGS, *(one[:-1] for one in wanted if one.endswith("*")))
    kept = {
        name: value
        for name, value in environ.items()
        if name in _NEEDED or name in names or name.startswith(beginnings)
    }
    return {**kept, "PATH": _with_our_program(kept.get("PATH", os.defpath)), **sets}


def _with_our_program(path: str) -> str:
    """`path` with our own programs at its end, where it leads to none of them."""
    if shutil.which(PROGRAM, path=path):
        return path
    beside = Path(sys.executable).parent
    return f"{path}{os.pathsep}{beside}" if (beside / PROGRAM).exists() else path
