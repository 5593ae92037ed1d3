r"""File names as a model sees them, and back again.

A name may hold any byte but `/` and zero. What is not printable UTF-8 is shown as `\xhh`, and a path that is asked for
in that form is found again.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["show_name", "show_path", "unescape_name"]

_ESCAPED = re.compile(r"(?:\\x[0-9a-f]{2})+")


def show_name(name: str) -> str:
    r"""A name with each control character and each byte that is not UTF-8 as `\xhh`; valid Unicode."""
    if name.isprintable():
        return name
    shown: list[str] = []
    for character in name:
        if character.isprintable():
            shown.append(character)
        else:
            shown.extend(f"\\x{byte:02x}" for byte in _bytes_of(character))
    return "".join(shown)


def show_path(path: Path, workspace: Path) -> str:
    """A path for the model: relative to the workspace where it is in it, else absolute."""
    if path == workspace:
        return "."
    try:
        return show_name(str(path.relative_to(workspace)))
    except ValueError:
        return show_name(str(path))


def unescape_name(shown: str) -> str:
    r"""What `show_name` was given, for a text that it gave. A text without `\xhh` stays as it is."""
    return _ESCAPED.sub(
        lambda match: os.fsdecode(bytes.fromhex(match.group().replace("\\x", ""))),
        shown,
    )


def _bytes_of(character: str) -> bytes:
    try:
        return os.fsencode(character)
    except UnicodeEncodeError:  # half of a surrogate pair, which no file has in its name
        return b"?"
