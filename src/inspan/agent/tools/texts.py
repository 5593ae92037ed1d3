"""Text in files: from bytes and back, without a change to what nobody edited.

The encoding is found from the bytes: a byte order mark, else UTF-8, else Latin-1. A file that is UTF-8 but for a few stray
bytes keeps them, each as a surrogate that turns into the same byte again.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from .problems import ToolProblem

__all__ = [
    "FileText",
    "decode_text",
    "image_type",
    "is_binary",
    "replace_text",
    "with_line_ends",
]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SNIFFED_BYTES = 8192
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class FileText:
    """A file's text and how to write it again.

    Attributes:
        text: The text, line ends as they are in the file. May hold surrogates that stand for stray bytes.
        encoding: A codec's name.
        mark: The byte order mark; empty without.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def is_crlf(self) -> bool:
        """Whether most lines end with a carriage return and a newline."""
        pairs = self.text.count("\r\n")
        return pairs > 0 and pairs * 2 > self.text.count("\n")

    def encode(self, text: str) -> bytes:
        """The bytes of another text for the same file.

        Raises:
            ToolProblem: The file's encoding has no such character.
        """
        try:
            return self.mark + text.encode(self.encoding, "surrogateescape")
        except UnicodeEncodeError as error:
            raise ToolProblem(
                f"The file is kept in {self.encoding}, which has no character for"
                f" {text[error.start : error.start + 1]!a}."
            ) from error


def is_binary(data: bytes) -> bool:
    """Whether bytes from a file's beginning are no text: they hold a zero, and no mark says that they are wide."""
    return not _mark_of(data)[0] and b"\0" in data[:_SNIFFED_BYTES]


def image_type(data: bytes) -> str:
    """The media type of a picture that models can see, from its first bytes; empty for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for magic, media_type in _IMAGES if data.startswith(magic)), "")


def decode_text(data: bytes) -> FileText:
    """A whole file's text. Any bytes can be read, and `encode` gives back the same ones."""
    mark, encoding = _mark_of(data)
    body = data[len(mark) :]
    if encoding.startswith("utf-8"):
        text = body.decode("utf-8", "surrogateescape")
        if not mark and _is_mostly_stray(text):
            return FileText(text=body.decode("latin-1"), encoding="latin-1")
        return FileText(text=text, mark=mark)
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError:
        return FileText(text=data.decode("latin-1"), encoding="latin-1")
    return FileText(text=text, encoding=encoding, mark=mark)


def with_line_ends(text: str, *, is_crlf: bool) -> str:
    """The text with all of its lines ended in one way."""
    plain = text.replace("\r\n", "\n")
    return plain.replace("\n", "\r\n") if is_crlf else plain


def replace_text(kept: FileText, old: str, new: str, *, every: bool) -> tuple[str, list[int]]:
    """Replaces `old`, which must be there once, or any number of times if `every` is true.

    Line ends match each other, whatever they are; what is put in gets the line ends of what it replaces.

    Returns:
        The new text, and the line numbers, from 1, where it was found.

    Raises:
        ToolProblem: It is not there, or is there more than once.
    """
    old, new = with_line_ends(old, is_crlf=False), with_line_ends(new, is_crlf=False)
    flat = kept.text.replace("\r\n", "\n")
    starts = _find_all(flat, old)
    if not starts:
        raise ToolProblem(_not_found(flat, old))
    lines = _line_numbers(flat, starts)
    if len(starts) > 1 and not every:
        shown = ", ".join(str(line) for line in lines[:10]) + (", …" if len(lines) > 10 else "")
        raise ToolProblem(
            f"The text to replace is there {len(starts)} times (lines {shown}). Give more of the lines around it so"
            " that it is unique, or set replace_all."
        )
    if len(flat) == len(kept.text):
        return _join(flat, starts, len(old), [new] * len(starts)), lines
    offset_of = _offsets(kept.text)
    spans = [(offset_of(start), offset_of(start + len(old))) for start in starts]
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        taken = kept.text[start:end]
        is_crlf = "\r\n" in taken if "\n" in taken else kept.is_crlf
        pieces += [kept.text[at:start], with_line_ends(new, is_crlf=is_crlf)]
        at = end
    pieces.append(kept.text[at:])
    return "".join(pieces), lines


def _mark_of(data: bytes) -> tuple[bytes, str]:
    return next(((mark, encoding) for mark, encoding in _MARKS if data.startswith(mark)), (b"", "utf-8"))


def _find_all(text: str, wanted: str) -> list[int]:
    found: list[int] = []
    at = text.find(wanted)
    while at >= 0:
        found.append(at)
        at = text.find(wanted, at + len(wanted))
    return found


def _line_numbers(text: str, starts: list[int]) -> list[int]:
    numbers: list[int] = []
    line, at = 1, 0
    for start in starts:
        line += text.count("\n", at, start)
        at = start
        numbers.append(line)
    return numbers


def _join(text: str, starts: list[int], length: int, news: list[str]) -> str:
    pieces: list[str] = []
    at = 0
    for start, new in zip(starts, news, strict=True):
        pieces += [text[at:start], new]
        at = start + length
    return "".join([*pieces, text[at:]])


def _offsets(text: str) -> Callable[[int], int]:
    removed = [match.start() - index for index, match in enumerate(re.finditer("\r\n", text))]
    return lambda flat: flat + bisect_left(removed, flat)


def _is_mostly_stray(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        stray = len(re.findall("[\udc80-\udcff]", text))
        return stray * 2 > len(re.findall("[^\x00-\x7f]", text))
    return False


def _not_found(text: str, old: str) -> str:
    wanted = next((line.strip() for line in old.split("\n") if line.strip()), "")
    near = [
        str(number) for number, line in enumerate(text.split("\n"), 1) if wanted and line.strip() == wanted
    ]
    if near:
        return (
            f"The text to replace is not there. Its first line is, with other text or white space around it, at line"
            f" {', '.join(near[:5])}: read the file again and give the text exactly."
        )
    return "The text to replace is not there. Read the file again and give the text exactly, white space included."
