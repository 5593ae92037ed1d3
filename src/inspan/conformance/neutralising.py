"""Neutralising a recording: what tells of a person or opens something becomes other letters of the same width.

A recording is shared with everybody who has the harness's folder. Names, paths, addresses and keys in it are replaced
byte for byte and column for column, so that offsets, colours and the layout of the screen stay.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Secrets", "find_secrets"]

SHORTEST_NAME = 3
SHORTEST_VALUE = 8
EVERYBODYS_NAMES = frozenset(["root", "user", "home", "admin", "ubuntu", "runner", "nobody"])
SECRET_VARIABLE = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)

_TOKENS = re.compile(
    rb"""(?x)
      (?<![A-Za-z0-9])
      (?: (?:sk|pk|rk|xai|gsk|ghp|gho|ghu|ghs|ghr|glpat|github_pat|hf|npm|xox[abprs]) [-_]
        | AIza | AKIA | ya29\. )
      (?=[A-Za-z_\-.]*[0-9]) [A-Za-z0-9_\-.]{12,}
    | eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*
    """
)
_ADDRESS = re.compile(rb"[A-Za-z0-9._%+\-]+@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+")
_SEQUENCE = re.compile(rb"(\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~])")
_BETWEEN = rb"(?:\x1b\[[0-?]*[ -/]*[@-~]|\r|\n)*"
_KEPT = frozenset(b"/.@-_\\:~ \r\n")


class Secrets:
    """What must not stay in a recording.

    Attributes:
        texts: Whole texts, the longest first: paths, values of variables, further words.
        names: Words that are secret only where they stand alone: a name may be a part of another word.
    """

    def __init__(self, *, texts: Iterable[str], names: Iterable[str] = ()) -> None:
        self.texts = tuple(sorted({one for one in texts if one}, key=len, reverse=True))
        self.names = tuple(sorted({one for one in names if one}, key=len, reverse=True))
        # Colours may change, and a row may end, in the middle of a text that is known.
        self._known = [
            re.compile(_BETWEEN.join(re.escape(bytes([byte])) for byte in one.encode())) for one in self.texts
        ]
        self._patterns = [
            _ADDRESS,
            _TOKENS,
            *(
                re.compile(rb"(?i)(?<![A-Za-z0-9])" + re.escape(one.encode()) + rb"(?![A-Za-z0-9])")
                for one in self.names
            ),
        ]

    def neutralise(self, data: bytes) -> bytes:
        """`data` with every secret replaced; as long as before, in bytes and in columns."""
        for pattern in self._known:
            data = pattern.sub(_replaced, data)
        return b"".join(
            part if part.startswith(b"\x1b") else self._neutralise_text(part)
            for part in _SEQUENCE.split(data)
        )

    def find_left(self, lines: Iterable[str]) -> Iterator[str]:
        """Secrets on a screen all the same, named by where they stand: wrapped over rows, or drawn in pieces."""
        rows = list(lines)
        whole = "".join(rows).encode("utf-8", "replace")
        for pattern in (*self._known, *self._patterns):
            for found in pattern.finditer(whole):
                if any(byte not in _KEPT and byte != 0x78 for byte in found[0]):
                    yield f"{len(found[0])} characters at column {found.start()} of the rows put together"

    def _neutralise_text(self, data: bytes) -> bytes:
        for pattern in self._patterns:
            data = pattern.sub(_replaced, data)
        return data


def find_secrets(
    environ: Mapping[str, str], *, workspace: str, user: str, host: str, words: Iterable[str] = ()
) -> Secrets:
    """The secrets of this machine and person.

    Args:
        environ: The environment: its home folder, and the values of variables that are named like keys.
        workspace: The folder that was worked in.
        user: The person's user name.
        host: The machine's name.
        words: What else must not stay.
    """
    values = [
        value
        for name, value in environ.items()
        if SECRET_VARIABLE.search(name) and len(value) >= SHORTEST_VALUE
    ]
    home = environ.get("HOME", "")
    paths = [one for one in (workspace, os.path.realpath(workspace), home) if len(one) >= SHORTEST_NAME]
    names = [
        one
        for one in (user, host, host.partition(".")[0])
        if len(one) >= SHORTEST_NAME and one not in EVERYBODYS_NAMES
    ]
    return Secrets(texts=[*values, *paths, *words], names=names)


def _replaced(found: re.Match[bytes]) -> bytes:
    parts = _SEQUENCE.split(found[0])
    return b"".join(part if part.startswith(b"\x1b") else _others(part) for part in parts)


def _others(text: bytes) -> bytes:
    try:
        return "".join(_other(one) for one in text.decode()).encode()
    except UnicodeDecodeError:
        return bytes(byte if byte in _KEPT else 0x78 for byte in text)


def _other(character: str) -> str:
    """Another character of the same width, in bytes and in columns."""
    if ord(character) < 0x80:
        return character if ord(character) in _KEPT else "x"
    is_wide = unicodedata.east_asian_width(character) in ("W", "F")
    match len(character.encode()), is_wide:
        case 2, _:
            return character if unicodedata.combining(character) else "ø"
        case 3, _:
            return "字" if is_wide else "ẋ"
        case _:
            return "🙂" if is_wide else "\U00010000"
