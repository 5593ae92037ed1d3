"""Keys as bytes, in the encoding that the program asked its terminal for."""

from __future__ import annotations

from collections.abc import Iterable

from inspan.model.typing_recipe import Key

from .screen import Snapshot

__all__ = ["APPLICATION_CURSOR", "BRACKETED_PASTE", "FOCUS_EVENTS", "encode_keys"]

APPLICATION_CURSOR = 1
FOCUS_EVENTS = 1004
BRACKETED_PASTE = 2004
"""DEC private modes."""
DISAMBIGUATE = 1
"""The kitty keyboard flag by which escape and control keys get an encoding of their own."""

PLAIN = {"enter": b"\r", "tab": b"\t", "space": b" ", "backspace": b"\x7f", "focus-in": b"\x1b[I"}
ARROWS = {"up": b"A", "down": b"B", "right": b"C", "left": b"D"}


def encode_keys(keys: Iterable[Key], snapshot: Snapshot) -> bytes:
    """What a terminal writes when these keys are pressed."""
    return b"".join(_encode(key, snapshot) for key in keys)


def _encode(key: Key, snapshot: Snapshot) -> bytes:
    is_distinct = bool((snapshot.keyboard_flags or 0) & DISAMBIGUATE)
    if key in PLAIN:
        return PLAIN[key]
    if key in ARROWS:
        introducer = b"\x1bO" if APPLICATION_CURSOR in (snapshot.modes or ()) else b"\x1b["
        return introducer + ARROWS[key]
    if key == "escape":
        return b"\x1b[27u" if is_distinct else b"\x1b"
    if key.startswith("ctrl-"):
        letter = ord(key[-1])
        return b"\x1b[%d;5u" % letter if is_distinct else bytes([letter & 0x1F])
    return key.encode("ascii")
