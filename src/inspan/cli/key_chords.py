"""Key chords: what a person presses that is meant for us, in between what is meant for the program.

A terminal tells the same key in several ways, by what the program behind it asked for: as a byte, in kitty's
keyboard protocol (with repeats and releases), or in xterm's `modifyOtherKeys`. A chord is found in all of them.

source: the manuals of the kitty keyboard protocol and of xterm's modifyOtherKeys
verified: 2026-11-30
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from inspan.model.errors import UsageError

__all__ = ["Chord", "KeyChords", "Pressed", "chord_of", "words_of"]

Chord = tuple[int, ...]
"""Keys one after another, each as the byte that it sends by itself."""

MOST_KEYS = 4

_CTRL = 4
_LOCKS = 64 | 128
_FUNCTIONAL = 0xE000
_RELEASE = 3
_KEY = re.compile(
    rb"\x1b\[(?P<code>\d+)(?::\d*)*(?:;(?P<mods>\d*)(?::(?P<event>\d+))?(?:;[\d:]*)?)?u"
    rb"|\x1b\[27;(?P<other_mods>\d+);(?P<other_code>\d+)~"
    rb"|\x1b\[[0-?]*[ -/]*[@-~]|\x1bO.|.",
    re.DOTALL,
)


class Pressed(NamedTuple):
    """What came of a piece of input.

    Attributes:
        keys: What is meant for the program.
        action: The chord that was completed; what was typed behind it is dropped.
    """

    keys: bytes
    action: str | None = None


class KeyChords:
    """Finds chords. The keys of one that is begun are kept back until it is clear that it is none."""

    def __init__(self, chords: Mapping[str, Chord]):
        """Takes the chords by the names of their actions.

        Raises:
            UsageError: One is the beginning of another.
        """
        for name, chord in chords.items():
            for other, longer in chords.items():
                if name != other and longer[: len(chord)] == chord:
                    raise UsageError(
                        f"The keys to {other} begin with those to {name}: {words_of(chord)}.",
                        hint="Choose others with --detach-keys or --scroll-keys.",
                    )
        self._chords = {chord: name for name, chord in chords.items()}
        self._held: Chord = ()
        self._kept_back = b""

    def press(self, data: bytes) -> Pressed:
        """Takes what was typed."""
        keys: list[bytes] = []
        for found in _KEY.finditer(data):
            key, is_press = _key_of(found)
            if not is_press or key is None:
                # A release, or a modifier alone, is no key of a chord and breaks none.
                if self._held and (not is_press or _is_functional(found)):
                    self._kept_back += found[0]
                    continue
                keys.append(self._let_go() + found[0])
                continue
            if not self._continues(key):
                keys.append(self._let_go())
            if not self._continues(key):
                keys.append(found[0])
                continue
            self._held = (*self._held, key)
            self._kept_back += found[0]
            if (action := self._chords.get(self._held)) is not None:
                self._held, self._kept_back = (), b""
                return Pressed(b"".join(keys), action)
        return Pressed(b"".join(keys))

    def _continues(self, key: int) -> bool:
        wanted = (*self._held, key)
        return any(chord[: len(wanted)] == wanted for chord in self._chords)

    def _let_go(self) -> bytes:
        kept, self._held, self._kept_back = self._kept_back, (), b""
        return kept


def chord_of(words: str) -> Chord:
    r"""The chord that `ctrl-\,d` names.

    Raises:
        UsageError: A word names no key.
    """
    names = words.split(",")
    keys = [_key_named(name.strip()) for name in names]
    if None in keys or len(keys) > MOST_KEYS:
        raise UsageError(
            f"{words!r} names no keys.",
            hint=f"Give 1 to {MOST_KEYS}, such as 'ctrl-],d': ctrl-a to ctrl-z, ctrl-\\, ctrl-], ctrl-^, ctrl-_, "
            "or a letter or digit after one of them.",
        )
    chord = tuple(key for key in keys if key is not None)
    if chord[0] >= 0x20:
        raise UsageError(
            f"{names[0]!r} is typed all the time.", hint="Begin with a key such as ctrl-] or ctrl-\\."
        )
    return chord


def words_of(chord: Chord) -> str:
    r"""The chord in words, as `chord_of` reads it."""
    return ",".join(f"ctrl-{chr(key + 0x40).lower()}" if key < 0x20 else chr(key) for key in chord)


def _key_named(name: str) -> int | None:
    control = name.lower().removeprefix("ctrl-")
    if control != name.lower():
        is_control = len(control) == 1 and "@" < control.upper() <= "_" and control != "["
        return ord(control.upper()) & 0x1F if is_control else None
    return ord(name) if len(name) == 1 and name.isascii() and name.isalnum() else None


def _key_of(found: re.Match[bytes]) -> tuple[int | None, bool]:
    """The byte that the key sends by itself, if it sends one, and whether it was pressed."""
    code, mods = found["code"] or found["other_code"], found["mods"] or found["other_mods"]
    if code is None:
        return (found[0][0] if len(found[0]) == 1 else None), True
    is_press = int(found["event"] or 1) != _RELEASE
    pressed = (int(mods or 1) - 1) & ~_LOCKS
    point = int(code)
    if pressed == 0 and point < 0x80:
        return point, is_press
    if pressed == _CTRL and 0x40 < point < 0x7F:
        return ord(chr(point).upper()) & 0x1F, is_press
    return None, is_press


def _is_functional(found: re.Match[bytes]) -> bool:
    return found["code"] is not None and int(found["code"]) >= _FUNCTIONAL
