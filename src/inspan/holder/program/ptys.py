"""A pty: the pair of descriptors, the size of its window, and the process group in its foreground."""

from __future__ import annotations

import os
import termios

__all__ = ["Pty", "foreground_group", "set_window_size"]

_IUTF8 = getattr(termios, "IUTF8", 0x4000)  # the same bit on Linux and macOS; 3.11 has no name for it


class Pty:
    """A new pty of the given size, with the modes of a fresh terminal and UTF-8.

    Attributes:
        master: Our end. Who reads from it owns it and closes it: only then the terminal is hung up.
        slave: The harness's end. It stays open here until the harness has ended: one that has closed all
            its descriptors for a moment can open its terminal again, and its output has one end.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.master, self.slave = os.openpty()
        modes = termios.tcgetattr(self.slave)
        modes[0] |= _IUTF8
        termios.tcsetattr(self.slave, termios.TCSANOW, modes)
        set_window_size(self.slave, columns, rows)

    def let_go(self) -> None:
        """Close our copy of the harness's end; calling twice is safe."""
        if self.slave >= 0:
            os.close(self.slave)
            self.slave = -1


def set_window_size(handle: int, columns: int, rows: int) -> None:
    """Set the size; the kernel sends SIGWINCH to the foreground if it is another one."""
    termios.tcsetwinsize(handle, (rows, columns))


def foreground_group(master: int) -> int | None:
    """The process group in the foreground, or None if there is none."""
    try:
        return os.tcgetpgrp(master) or None
    except OSError:
        return None
