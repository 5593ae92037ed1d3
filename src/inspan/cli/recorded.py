"""What is recorded: a program on a terminal of its own, or the terminal of a seat."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import termios
import time
from typing import NoReturn, Protocol

from inspan.model.errors import UsageError

from .context import Context, at
from .wire import answer_of, no_answer, target

__all__ = ["Recorded", "RecordedProgram", "RecordedSeat", "split_command"]

_PIECE_BYTES = 64 * 1024
_END_S = 3.0
_LOOK_AGAIN_S = 0.02
_NOT_FOUND = 127
_OUTER_TERMINAL = (
    "TMUX",
    "STY",
    "TERM_PROGRAM",
    "KITTY_",
    "WEZTERM_",
    "GHOSTTY_",
    "ITERM_",
    "VTE_",
    "COLUMNS",
    "LINES",
)


class Recorded(Protocol):
    """Something with a terminal.

    Attributes:
        wants_answers: Whether it must be told what its terminal answers.
    """

    wants_answers: bool

    def fileno(self) -> int:
        """The descriptor that is readable when it wrote something."""
        ...

    def read(self) -> bytes | None:
        """What it wrote, after at most one read; `None` at its end."""
        ...

    def type(self, keys: bytes) -> None:
        """Types into it."""
        ...

    def close(self) -> None:
        """Ends it, or leaves it where it belongs to a seat; twice is safe."""
        ...


class RecordedProgram:
    """A program on a terminal of its own, which answers as a seat's does."""

    def __init__(self, command: list[str], *, workspace: str, columns: int, rows: int, term: dict[str, str]):
        self.wants_answers = True
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OUTER_TERMINAL)}
        self._pid, self._master = pty.fork()
        if self._pid == 0:
            _become(command, workspace, {**kept, **term}, columns, rows)
        self._is_over = False

    def fileno(self) -> int:
        """See `Recorded`."""
        return self._master

    def read(self) -> bytes | None:
        """See `Recorded`."""
        try:
            return os.read(self._master, _PIECE_BYTES) or None
        except OSError:  # Linux says so when the last one that had it open is gone
            return None

    def type(self, keys: bytes) -> None:
        """See `Recorded`."""
        view = memoryview(keys)
        with contextlib.suppress(OSError):
            while view:
                view = view[os.write(self._master, view) :]

    def close(self) -> None:
        """Hangs its terminal up, and ends its group where that is not enough."""
        if self._is_over:
            return
        self._is_over = True
        os.close(self._master)
        deadline = time.monotonic() + _END_S
        while os.waitpid(self._pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
                return
            time.sleep(_LOOK_AGAIN_S)


class RecordedSeat:
    """The terminal of a seat, with its keyboard. Its own terminal answers.

    Attributes:
        wants_answers: Never.
    """

    def __init__(self, context: Context, seat: str, *, columns: int, rows: int):
        self.wants_answers = False
        self._context = context
        self._seat = seat
        self._connection = context.connect()
        try:
            where = target(at("seats", seat, "terminal"), {"write": True})
            self._connection.send("GET", where, headers={})
            self._connection.read_head(30.0)
            if self._connection.status != 200:
                answer_of(self._connection.status, self._connection.read_all())
        except (OSError, ValueError) as error:
            self.close()
            raise no_answer(error, is_read=True) from error
        except BaseException:
            self.close()
            raise
        self._writer = self._connection.headers.get("inspan-writer", "")
        self._buffered: bytes | None = self._connection.take_buffered()
        theirs = tuple(
            int(self._connection.headers.get(f"inspan-{side}", "0")) for side in ("columns", "rows")
        )
        if theirs != (columns, rows):
            self._call("size", {"columns": columns, "rows": rows})

    def fileno(self) -> int:
        """See `Recorded`."""
        return self._connection.fileno()

    def take_buffered(self) -> bytes:
        """What came before anybody waited."""
        buffered, self._buffered = self._buffered or b"", None
        return buffered

    def read(self) -> bytes | None:
        """See `Recorded`."""
        try:
            return self._connection.read_some()
        except (OSError, ValueError) as error:
            raise no_answer(error, is_read=True) from error

    def type(self, keys: bytes) -> None:
        """See `Recorded`."""
        self._call("keys", keys)

    def close(self) -> None:
        """Leaves; the harness runs on."""
        self._connection.close()

    def _call(self, what: str, body: object) -> None:
        where = at("seats", self._seat, "terminal", what)
        self._context.call(
            "POST", where, body=body, headers={"Inspan-Writer": self._writer}, is_starting=False
        )


def _become(command: list[str], workspace: str, environ: dict[str, str], columns: int, rows: int) -> NoReturn:
    """The child: becomes the program, or ends with 127."""
    try:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.chdir(workspace)
        os.execvpe(command[0], command, environ)  # noqa: S606 - to run what the person named is what this is for
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\r\n".encode())
    finally:
        os._exit(_NOT_FOUND)


def split_command(words: str) -> list[str]:
    """The words of a command line.

    Raises:
        UsageError: There are none, or a quotation mark is open.
    """
    import shlex

    try:
        command = shlex.split(words)
    except ValueError as error:
        raise UsageError(
            f"The command cannot be read: {error}.", hint="Close its quotation marks."
        ) from error
    if not command:
        raise UsageError("The command is empty.", hint="Give it as --command 'PROGRAM ARGUMENT …'.")
    return command
