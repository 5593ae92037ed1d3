"""Output that never stops, in every form that a terminal could be made to keep."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

__all__ = ["FLOODS", "flood"]

_CHUNK = 4096
_BASE64 = b"QUJD" * (_CHUNK // 4)


def _lines(number: int) -> bytes:
    return b"".join(
        b"line %d of the output that never stops\r\n" % (100 * number + one) for one in range(100)
    )


def _styles(number: int) -> bytes:
    colours = range(64 * number, 64 * number + 64)
    return b"".join(
        b"\x1b[38;2;%d;%d;%dm.\r\n" % (one >> 16 & 255, one >> 8 & 255, one & 255) for one in colours
    )


def _links(number: int) -> bytes:
    links = range(64 * number, 64 * number + 64)
    return b"".join(b"\x1b]8;id=%d;http://x/%d\x07.\x1b]8;;\x07" % (one, one) for one in links)


def _endless(introducer: bytes, content: bytes) -> Callable[[int], bytes]:
    """A sequence that begins and never ends."""
    return lambda number: content if number else introducer + content


def _again(content: bytes) -> Callable[[int], bytes]:
    return lambda _: content


FLOODS: dict[str, Callable[[int], bytes]] = {
    "lines": _lines,
    "a line that never ends": _again(b"x" * _CHUNK),
    "bytes that are no text": lambda number: random.Random(number).randbytes(_CHUNK),
    "a title that never ends": _endless(b"\x1b]2;", b"x" * _CHUNK),
    "a status report that never ends": _endless(b"\x1b]7501;", b"x" * _CHUNK),
    "a clipboard that never ends": _endless(b"\x1b]52;c;", _BASE64),
    "an image that never ends": _endless(b"\x1b_Gf=24,s=1000,v=1000,t=d,m=1;", _BASE64),
    "images": lambda number: b"\x1b_Gi=%d,f=24,s=100,v=100,t=d,m=1;%s\x1b\\" % (number, _BASE64),
    "a string that never ends": _endless(b"\x1bPq", b"?~" * 2048),
    "parameters that never end": _endless(b"\x1b[", b"1;" * 2048),
    "marks on one letter": _endless(b"\x1b[?2027ha", "\u0301".encode() * 2048),
    "people in one cluster": _endless(b"\x1b[?2027h", "👩\u200d".encode() * 512),
    "colours": _styles,
    "links": _links,
    "long links": lambda number: b"\x1b]8;;http://x/%d%s\x07.\r\n\x1b]8;;\x07" % (number, b"y" * 3000),
    "titles": lambda number: b"\x1b]2;%d%s\x07" % (number, b"y" * _CHUNK),
    "kept titles": _again(b"\x1b[22;0t" * 500),
    "keyboard flags": _again(b"\x1b[>31u" * 500),
    "palettes": lambda number: b"\x1b]4;%d;rgb:aa/bb/cc\x07" % (number % 256) * 50,
    "two screens in turns": _again(b"\x1b[?1049hx\x1b[?1049l" * 200),
    "status reports": lambda number: b"\x1b]7501;state=idle;id=%d\x1b\\" % number * 100,
}
"""By what they are: the chunk of a number, in order from 0."""


def flood(name: str, *, size_bytes: int) -> Iterator[bytes]:
    """The chunks of a flood, until they are that many bytes."""
    written = 0
    for number in itertools.count():
        chunk = FLOODS[name](number)
        yield chunk
        written += len(chunk)
        if written >= size_bytes:
            return
