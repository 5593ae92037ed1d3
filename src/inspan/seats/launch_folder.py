"""A launch's folder: what a daemon that comes back must know of it, and the environment that it began with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from inspan.holder import TerminalSize
from inspan.model.errors import UsageError
from inspan.model.installation import FORWARD_AUTH
from inspan.model.plan import LaunchPlan, TransportSettings
from inspan.transports import TERMINAL
from inspan.transports.terminal.identity import IDENTITY

from .start_budget import Start

__all__ = ["LaunchFiles", "harness_environment", "read_files", "terminal_size", "write_files"]

_HIDDEN = ("INSPAN_HOME", "INSPAN_SEAT", "INSPAN_LAUNCH", "INSPAN_TOKEN", "INSPAN_HOOKS", FORWARD_AUTH)
"""Variables that are ours and mean nothing, or the wrong thing, to a harness."""

_OUTER_TERMINAL = (
    "TERM",
    "COLORTERM",
    "COLORFGBG",
    "COLUMNS",
    "LINES",
    "TMUX",
    "STY",
    "VTE_VERSION",
    "KITTY_",
    "WEZTERM_",
    "ITERM_",
    "LC_TERMINAL",
    "GHOSTTY_",
    "ALACRITTY_",
    "KONSOLE_",
    "ZELLIJ",
    "WT_",
    "ConEmu",
    "VSCODE_",
)
"""Beginnings of variables that tell of the terminal that the daemon was started in, which is not the harness's."""


class LaunchFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What a daemon that comes back must know of a launch, kept in the launch's folder; no secrets.

    Attributes:
        transport: The transport.
        settings: What it was told.
        handshake_timeout_s: Seconds until an open session.
        stop_grace_s: Seconds between the steps of a stop.
        start: What is started, and whether for the first time.
        hook_token_hash: What is kept of the token that its hooks carry; empty where it has none.
    """

    transport: str
    settings: TransportSettings
    handshake_timeout_s: float
    stop_grace_s: float
    start: Start | None = None
    hook_token_hash: str = ""


def harness_environment(
    environ: Mapping[str, str],
    plan: LaunchPlan,
    given: Mapping[str, str],
    hooks: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """The harness's complete environment: the daemon's, less what conflicts, with the plan's and the operator's.

    `hooks` is what its hook relay must find there.
    """

    def is_stripped(name: str) -> bool:
        return name in _HIDDEN or any(
            name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
            for pattern in plan.strip
        )

    kept = {name: value for name, value in environ.items() if not is_stripped(name)}
    if plan.transport == TERMINAL:
        kept = {name: value for name, value in kept.items() if not name.startswith(_OUTER_TERMINAL)}
        kept |= IDENTITY.environment()
    own = {name: value for name, value in given.items() if name not in plan.merged}
    return {**kept, **plan.environment, **own, **hooks}


def terminal_size(plan: LaunchPlan) -> TerminalSize | None:
    """The size of the terminal that the harness gets, where it gets one."""
    if plan.transport != TERMINAL:
        return None
    return TerminalSize(columns=plan.settings.terminal.columns, rows=plan.settings.terminal.rows)


def write_files(folder: Path, plan: LaunchPlan, files: LaunchFiles) -> None:
    """Makes a launch's folder, with the files that its plan wants.

    Raises:
        UsageError: `invalid_argument` for a file outside the folder.
        OSError: It cannot be written.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for one in plan.files:
        path = (folder / one.path).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise UsageError(f"A plan wants to write {one.path}, outside its launch's folder.")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(one.text)
        path.chmod(0o600)
    path = folder / "transport.json"
    path.write_bytes(msgspec.json.encode(files))
    path.chmod(0o600)


def read_files(folder: Path) -> LaunchFiles | None:
    """What a daemon before this one wrote; `None` where it is not there or cannot be read."""
    try:
        return msgspec.json.decode((folder / "transport.json").read_bytes(), type=LaunchFiles)
    except (OSError, msgspec.DecodeError):
        return None
