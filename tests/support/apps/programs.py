"""The two programs as tests run them, an app in a folder for them, and servers that behave badly on purpose."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from inspan.apps.author import App
from inspan.apps.conformance.reference import make_reference_app, write_folder
from inspan.apps.programs.a2app.main import main as a2app_main
from inspan.apps.programs.agent_app.main import main as agent_app_main
from support.apps.served import Served, serving

__all__ = [
    "Board",
    "Ran",
    "a2app",
    "agent_app",
    "answering",
    "board",
    "find_program",
    "free_port",
    "home_for_test",
    "programs_at_once",
    "read_request",
    "scaffolded",
]


class Ran(NamedTuple):
    """How a program ended, and what it printed."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def a2app(*words: str) -> Ran:
    """Runs `a2app` in this process."""
    return _run(a2app_main, words)


def agent_app(*words: str) -> Ran:
    """Runs `agent-app` in this process; what it starts are processes of their own."""
    return _run(agent_app_main, words)


def find_program(name: str) -> str:
    """The program beside this interpreter."""
    found = shutil.which(name, path=os.path.dirname(sys.executable))
    assert found is not None, f"{name} is not installed"
    return found


@contextlib.contextmanager
def home_for_test() -> Generator[Path]:
    """A folder of its own for the index and for apps, named in the environment for the block."""
    with tempfile.TemporaryDirectory(prefix="isp-") as folder:
        kept = dict(os.environ)
        os.environ["A2APP_HOME"] = str(Path(folder) / "home")
        for name in ("A2APP_TOKEN", "A2APP_AUTH_TOKEN", "A2APP_AGENT", "AGENT_APP_OPEN_CMD"):
            os.environ.pop(name, None)
        try:
            yield Path(folder)
        finally:
            os.environ.clear()
            os.environ.update(kept)


class Board(NamedTuple):
    """The reference app, served, in a folder that the programs can be given."""

    app: App
    folder: Path
    served: Served

    @property
    def ref(self) -> str:
        return str(self.folder)


@contextlib.contextmanager
def board(folder: Path) -> Generator[Board]:
    """Serves the reference app from this process, for the block."""
    path = folder / "board"
    path.mkdir()
    app = make_reference_app(path)
    with serving(app) as served:
        write_folder(path, served.port)
        yield Board(app, path, served)


@contextlib.contextmanager
def scaffolded(folder: Path, name: str = "todo") -> Generator[Path]:
    """A new app; whatever was started for it is ended after the block."""
    path = folder / name
    done = agent_app(str(path), "scaffold", "--port", str(free_port()))
    assert done.status == 0, done.err
    try:
        yield path
    finally:
        if (path / "manifest.json").exists():
            agent_app(str(path), "stop", "--dev")
            agent_app(str(path), "stop")


def free_port() -> int:
    """A port that nothing listens on at this moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Generator[int]:
    """A server that treats each connection as `answer` does, on a port; no HTTP of its own."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    open_ones: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                one, _ = listener.accept()
            except OSError:
                return
            open_ones.append(one)
            threading.Thread(target=_quietly, args=(answer, one), daemon=True).start()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for one in open_ones:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        thread.join()


def read_request(one: socket.socket) -> bytes:
    """One HTTP request, head and body, however it was cut up on its way; nothing at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = one.recv(65536)
        if not part:
            return b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    found = re.search(rb"content-length: *(\d+)", head.lower())
    while found and len(body) < int(found[1]):
        body += one.recv(65536)
    return head + b"\r\n\r\n" + body


def programs_at_once(commands: list[list[str]]) -> Iterator[subprocess.CompletedProcess[bytes]]:
    """Runs several command lines at the same time, and gives how each ended."""
    started = [subprocess.Popen(one, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for one in commands]
    for one in started:
        out, err = one.communicate(timeout=60)
        yield subprocess.CompletedProcess(one.args, one.returncode, out, err)


def _quietly(answer: Callable[[socket.socket], None], one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        answer(one)


def _run(main: Callable[[list[str]], int], words: tuple[str, ...]) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(list(words))
    return Ran(status, out.getvalue(), err.getvalue())
