"""Makes folders of the home, which are for their owner alone, and so is whatever has to be made above them."""

from __future__ import annotations

from pathlib import Path

__all__ = ["make_private"]


def make_private(folder: Path) -> None:
    """Makes a folder and what is missing above it, each 0700. What is there stays as it is.

    Raises:
        OSError: It cannot be made.
    """
    if not folder.is_dir():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
