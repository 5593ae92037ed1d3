"""A person at a terminal: a real pty, an emulator that answers as terminals do, and a program that runs on it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Generator

from inspan.transports.terminal.opening import open_screen
from inspan.transports.terminal.screen import ScreenSize, Snapshot

__all__ = ["DEADLINE_S", "Person", "at_terminal"]

DEADLINE_S = 40.0


class Person:
    """Somebody at a terminal on which a program runs.

    Attributes:
        process: The program.
        output: Every byte that it wrote to the terminal.
        answers: Every byte that the terminal answered by itself.
    """

    def __init__(self, command: list[str], *, columns: int, rows: int, before: str) -> None:
        self._master, self._slave = pty.openpty()
        self._lock = threading.Lock()
        self._screen = open_screen(ScreenSize(rows=rows, columns=columns))
        self._screen.feed(before.replace("\n", "\r\n").encode())
        self.output = b""
        self.answers = b""
        self._set_size(columns, rows)
        self.settings = termios.tcgetattr(self._slave)
        self.process = subprocess.Popen(
            command,
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def settings_now(self) -> list[int | list[bytes | int]]:
        """How the terminal is set up: echo, lines, signals."""
        return termios.tcgetattr(self._slave)

    def type(self, keys: bytes) -> None:
        """Presses keys."""
        os.write(self._master, keys)

    def resize(self, columns: int, rows: int) -> None:
        """Gives the terminal another size, and tells the program."""
        with self._lock:
            self._screen.resize(ScreenSize(rows=rows, columns=columns))
        self._set_size(columns, rows)

    def look(self) -> Snapshot:
        """What is on the terminal."""
        with self._lock:
            return self._screen.snapshot()

    def text(self) -> str:
        """The text on the terminal."""
        return "\n".join(self.look().lines)

    def until(self, condition: Callable[[str], object], what: str) -> str:
        """The text on the terminal once `condition` holds for it."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition(shown := self.text()):
            assert time.monotonic() < deadline, f"waited in vain until {what}:\n{shown}"
            time.sleep(0.01)
        return shown

    def until_shown(self, text: str) -> str:
        """As `until`: `text` is on the terminal."""
        return self.until(lambda shown: text in shown, f"{text!r} is shown")

    def ended(self) -> int:
        """The program's exit status, once all that it wrote is on the terminal."""
        status = self.process.wait(DEADLINE_S)
        self._finish()
        return status

    def close(self) -> None:
        """Ends the program, whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._finish()
        with contextlib.suppress(OSError):
            os.close(self._slave)
        os.close(self._master)

    def _finish(self) -> None:
        # The slave stays open here, so the reader is told by a mark that nothing more comes.
        if self._thread.is_alive():
            os.write(self._slave, _MARK)
            self._thread.join(DEADLINE_S)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                return
            is_over = _MARK in self.output[-len(_MARK) :] + data
            with self._lock:
                self.output += data
                answer = self._screen.feed(data.replace(_MARK, b""))
                self.answers += answer
            if is_over:
                return
            if answer:
                os.write(self._master, answer)

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


_MARK = b"\x1b]9999;that is all\x1b\\"


@contextlib.contextmanager
def at_terminal(
    *words: str, columns: int = 90, rows: int = 30, before: str = "$ my own screen\n"
) -> Generator[Person]:
    """Somebody at a terminal who runs `inspan` with `words`; it is ended with the block.

    Args:
        words: The command.
        columns: Width of the terminal.
        rows: Its height.
        before: What is on it already.
    """
    command = [sys.executable, "-m", "inspan.cli", *words]
    person = Person(command, columns=columns, rows=rows, before=before)
    try:
        yield person
    finally:
        person.close()


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
