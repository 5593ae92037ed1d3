"""A real harness as the live tests see it: which pin, how it starts, how it finds the scripted model."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.live.arena import Arena, open_arena
from support.live.install import Installed, install
from support.live.netns import Namespace

__all__ = ["ReadyTarget", "Target", "open_target"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What to know about one harness.

    `pin` names its entry in `pins.toml`, and `harness` the harness where that has another name.
    `write_settings(home, model_url)` writes its configuration.
    `auth_method` is the ACP method id to authenticate with, where the harness insists on it.
    `model_variable` names the variable by which the harness is told the model's address, if there is one.
    `acp_program` is the name of the program of its ACP mode, where that is another one in the same folder.
    """

    pin: str
    write_settings: Callable[[Path, str], None]
    acp_arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    auth_method: str | None = None
    model_variable: str = ""
    acp_program: str = ""
    harness: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadyTarget:
    """A harness that is installed, and an arena where it is on the `PATH` and set up."""

    target: Target
    installed: Installed
    arena: Arena

    @property
    def harness(self) -> str:
        """The id of the harness."""
        return self.target.harness or self.target.pin

    def start_acp(self) -> subprocess.Popen[bytes]:
        """Start it in its ACP mode on pipes; its standard error goes nowhere."""
        program = self.installed.program
        if self.target.acp_program:
            program = program.with_name(self.target.acp_program)
        argv = [str(program), *self.target.acp_arguments]
        return self.arena.start(argv, stderr=subprocess.DEVNULL)


@contextmanager
def open_target(target: Target, namespace: Namespace) -> Generator[ReadyTarget]:
    """Install `target` if need be and make an arena for it; the arena ends with the block."""
    installed = _find(target.pin)
    programs = [*installed.needs, installed.folder]
    with open_arena(namespace, programs=programs, variables=target.variables) as arena:
        target.write_settings(arena.home, arena.model.url)
        if target.model_variable:
            arena.environment[target.model_variable] = f"{arena.model.url}/v1"
        yield ReadyTarget(target=target, installed=installed, arena=arena)


@functools.cache
def _find(pin: str) -> Installed:
    """The installation, looked at once a test run: each look starts the harness."""
    return install(pin)
