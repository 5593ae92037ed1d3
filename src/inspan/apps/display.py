"""Shows an app's page to a person, if there is a way to: the harness's command, else the system's browser.

That no window opened is no error: the URL is always said, and an agent with a browser of its own goes there itself.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

__all__ = ["OPEN_COMMAND_VARIABLE", "Shown", "headless_reason", "is_wsl", "open_url", "opener_commands"]

OPEN_COMMAND_VARIABLE = "AGENT_APP_OPEN_CMD"
"""A harness's own way to show a URL: words, split at blanks, with the URL put last. Never through a shell."""

Start = Callable[[Sequence[str]], None]


class Shown(NamedTuple):
    """How the URL was shown.

    Attributes:
        opened: Whether something was started that shows it.
        via: What.
        reason: Why nothing was, where that is not plain.
    """

    opened: bool
    via: Literal["harness-cmd", "os-browser", "print-only", "none"]
    reason: str = ""


def open_url(
    url: str,
    *,
    print_only: bool = False,
    environment: Mapping[str, str] | None = None,
    system: str | None = None,
    kernel: str | None = None,
    start: Start | None = None,
    warn: Callable[[str], None],
) -> Shown:
    """Shows a URL that was checked before to be the app's.

    The harness's command goes first, also where nobody could see a window: it may show it elsewhere. If it cannot
    be started, the system's browser is tried like without it.

    Args:
        url: The app's page.
        print_only: Whether to start nothing, since the caller shows it.
        environment: The environment; that of this process where None.
        system: `sys.platform`; this machine's where None.
        kernel: What `/proc/version` says; this machine's where None.
        start: Starts a program, or raises OSError; a real one where None.
        warn: Is told of a command of the harness that cannot be started.
    """
    environment = os.environ if environment is None else environment
    system = sys.platform if system is None else system
    kernel = _kernel() if kernel is None else kernel
    start = _start if start is None else start
    if print_only:
        return Shown(False, "print-only")
    command = environment.get(OPEN_COMMAND_VARIABLE, "").split()
    if command:
        try:
            start([*command, url])
        except (OSError, ValueError) as error:
            warn(
                f"{OPEN_COMMAND_VARIABLE} could not be started ({type(error).__name__}); trying the system's browser"
            )
        else:
            return Shown(True, "harness-cmd")
    reason = headless_reason(environment, system, kernel)
    if reason:
        return Shown(False, "none", reason)
    tried: list[str] = []
    for opener in opener_commands(environment, system, kernel):
        try:
            start([*opener, url])
        except (OSError, ValueError):
            tried.append(opener[0])
        else:
            return Shown(True, "os-browser")
    return Shown(False, "none", f"no usable opener ({', '.join(tried)})")


def headless_reason(environment: Mapping[str, str], system: str, kernel: str) -> str:
    """Why nobody here would see a window; empty where somebody may."""
    if environment.get("CI", "").strip().lower() not in ("", "false"):
        return "CI is set"
    if "SSH_CONNECTION" in environment or "SSH_TTY" in environment:
        return "running over SSH"
    # Either display is enough: an empty DISPLAY says nothing about the other one.
    has_display = environment.get("DISPLAY", "") or environment.get("WAYLAND_DISPLAY", "")
    if system.startswith("linux") and not has_display and not is_wsl(environment, system, kernel):
        return "no DISPLAY or WAYLAND_DISPLAY"
    return ""


def is_wsl(environment: Mapping[str, str], system: str, kernel: str) -> bool:
    """Whether this Linux runs inside Windows, whose browser needs no display here."""
    if not system.startswith("linux"):
        return False
    return bool(environment.get("WSL_DISTRO_NAME", "")) or "microsoft" in kernel.lower()


def opener_commands(environment: Mapping[str, str], system: str, kernel: str) -> list[list[str]]:
    """What opens a browser on this system, each to be tried in turn with the URL put last."""
    if system == "win32":
        return [["cmd", "/c", "start", ""]]
    if system == "darwin":
        return [["open"]]
    if is_wsl(environment, system, kernel):
        return [["wslview"], ["explorer.exe"]]
    return [["xdg-open"]]


def _kernel() -> str:
    try:
        with open("/proc/version", encoding="utf-8", errors="replace") as file:
            return file.read(4096)
    except OSError:
        return platform.release()


def _start(command: Sequence[str]) -> None:
    """Starts a program of its own that nobody waits for.

    Raises:
        OSError: It cannot be started.
    """
    process = subprocess.Popen(
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    process.returncode = 0  # its own end says nothing: an opener hands over and goes
