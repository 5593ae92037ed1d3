"""One test's surroundings: a throwaway home and workspace, a cleared environment, the scripted model."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.live.model import ScriptedModel, running_model
from support.live.netns import Namespace

__all__ = ["FAKE_KEY", "Arena", "open_arena"]

FAKE_KEY = "sk-scripted-not-a-key"

_SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")


@dataclass(frozen=True, kw_only=True, slots=True)
class Arena:
    """Where a live test happens. All paths are new and short enough for Unix sockets.

    `environment` is the whole environment of everything started here. `inspan_home` is set in it as
    `INSPAN_HOME`; harnesses find themselves at home in `home`.
    """

    root: Path
    home: Path
    workspace: Path
    inspan_home: Path
    namespace: Namespace
    model: ScriptedModel
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def start(
        self, argv: Sequence[str], *, stderr: int | None = None, is_piped: bool = True
    ) -> subprocess.Popen[bytes]:
        """Start a program in the namespace, in the workspace; see `Namespace.start`."""
        return self.namespace.start(
            argv, environment=self.environment, cwd=self.workspace, stderr=stderr, is_piped=is_piped
        )

    def run(
        self, argv: Sequence[str], *, timeout_s: float = 60.0, stdin_text: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end in the namespace, in the workspace; see `Namespace.run`."""
        return self.namespace.run(
            argv,
            environment=self.environment,
            cwd=self.workspace,
            timeout_s=timeout_s,
            stdin_text=stdin_text,
        )


@contextmanager
def open_arena(
    namespace: Namespace, *, programs: Sequence[Path] = (), variables: Mapping[str, str] | None = None
) -> Generator[Arena]:
    """Make an arena in `namespace` and remove all of it afterwards, every process in the namespace included.

    One arena at a time: daemons and holders leave their parents, so the namespace is what finds them.

    Args:
        namespace: where everything runs.
        programs: folders to put in front of the `PATH`.
        variables: further variables, such as a harness's own.
    """
    root = Path(tempfile.mkdtemp(prefix="isp-"))
    try:
        home, workspace, inspan_home = root / "home", root / "ws", root / "inspan"
        for folder in (home, workspace, inspan_home):
            folder.mkdir(mode=0o700)
        environment = _cleared(home, programs) | {"INSPAN_HOME": str(inspan_home)} | dict(variables or {})
        environment |= {"INSPAN_FORWARD_AUTH": "1"}  # every key here is a fake one
        with running_model(namespace, root) as model:
            yield Arena(
                root=root,
                home=home,
                workspace=workspace,
                inspan_home=inspan_home,
                namespace=namespace,
                model=model,
                environment=environment,
            )
    finally:
        namespace.empty()
        shutil.rmtree(root, ignore_errors=True)


def _cleared(home: Path, programs: Sequence[Path]) -> dict[str, str]:
    python = Path(sys.executable).parent
    path = [str(folder) for folder in (*programs, python, *map(Path, _SYSTEM_PATH))]
    return {
        "PATH": ":".join(path),
        "HOME": str(home),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "USER": "operator",
        "LOGNAME": "operator",
        "SHELL": "/bin/sh",
        "NO_PROXY": "*",
        "OPENAI_API_KEY": FAKE_KEY,
    }
