"""Streams of bytes as programs write them to a terminal, and as they should not."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["SEQUENCES", "UNFINISHED", "byte_streams"]

NUMBER = st.integers(0, 17)
TEXT = ("abc xyz", "w" * 33, "界", "界" * 8, "⚠\ufe0f", "n\u0303", "🇨🇭", "\r\n", "\n" * 7, "\t", "\b", "\r")
ESCAPES = (
    "7",
    "8",
    "M",
    "D",
    "E",
    "H",
    "c",
    "=",
    ">",
    "[!p",
    "[s",
    "[u",
    "[2J",
    "[3J",
    "[>4;2m",
    '[1"q',
    '[0"q',
)
STRINGS = (
    "]0;a title\x07",
    "]2;⠋ at work\x1b\\",
    "]9;4;1;40\x07",
    "]9;4;3\x07",
    "]9;4;0\x07",
    "]8;;x:1\x1b\\",
)
DEC_MODES = (1, 5, 6, 7, 25, 45, 66, 69, 1002, 1004, 1006, 2004, 2026, 2031, 2048)
UNFINISHED = (b"", b"\x1b", b"\x1b[3", b"\xe7\x95", b"\x1b]2;x", b"\x1b(", b"\x1b[?10", b"\x1bP+q", b"\x1b_G")
"""Beginnings of sequences and characters."""


def _csi(finals: str, *, numbers: int, before: str = "") -> st.SearchStrategy[str]:
    def written(inner: list[int], final: str) -> str:
        return f"\x1b[{before}{';'.join(map(str, inner))}{final}"

    return st.builds(written, st.lists(NUMBER, min_size=numbers, max_size=numbers), st.sampled_from(finals))


def _modes(numbers: tuple[int, ...], *, before: str) -> st.SearchStrategy[str]:
    def written(number: int, final: str) -> str:
        return f"\x1b[{before}{number}{final}"

    return st.builds(written, st.sampled_from(numbers), st.sampled_from("hl"))


SEQUENCES: st.SearchStrategy[bytes] = st.one_of(
    st.sampled_from(TEXT),
    st.sampled_from(ESCAPES).map(lambda escape: "\x1b" + escape),
    st.sampled_from(STRINGS).map(lambda string: "\x1b" + string),
    _csi("ABCDEFGIJKLMPSTXZ@`abdeg", numbers=1),
    _csi("Hrs", numbers=2),
    st.sampled_from((0, 1, 4, 7, 31, 44, 97)).map(lambda pen: f"\x1b[{pen}m"),
    NUMBER.map(lambda blue: f"\x1b[38;2;1;2;{blue}m"),
    _modes(DEC_MODES, before="?"),
    _modes((1047, 1049), before="?"),
    _modes((4, 20), before=""),
    _csi("u", numbers=1, before=">"),
    _csi("u", numbers=1, before="="),
    st.sampled_from((1, 2, 3)).map(lambda depth: f"\x1b[<{depth}u"),
    st.integers(0, 6).map(lambda shape: f"\x1b[{shape} q"),
    st.just("\x1b(0lqk\x1b(B."),
).map(str.encode)
"""Pieces that a terminal knows, whole."""


def byte_streams(pieces: st.SearchStrategy[bytes], *, most: int = 14) -> st.SearchStrategy[bytes]:
    """Up to `most` pieces after each other."""
    return st.lists(pieces, max_size=most).map(b"".join)
