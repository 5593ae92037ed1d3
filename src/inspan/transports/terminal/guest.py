"""Fitting what a program writes to a terminal that is somebody's own.

A person who attaches lends the program their terminal. The seat's terminal has answered already what the program
asks, so that a question that reached the person's would be answered twice, the second time as keys. And what a
program does to a whole terminal (a full reset, the other screen, the palette, the size of the window) must not
stay behind when the person leaves. Both are taken out here, in one pass over the bytes.

source: the control sequences of xterm, of kitty and of the VT500 family, as their manuals list them
verified: 2026-11-30
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["FRESH", "STRING_CAP_BYTES", "GuestTerminal"]

STRING_CAP_BYTES = 1024 * 1024
"""A string that is longer is dropped: a clipboard is smaller."""

FRESH = (
    b"\x1b[!p\x1b[?1;5;6;9;66;69;1000;1002;1003;1004;1005;1006;1015;1016;2004l\x1b[?7;25h\x1b[r\x1b[0m\x1b(B\x1b)B\x0f"
    b"\x1b[<99u\x1b[>4m\x1b[0 q\x1b]8;;\x1b\\\x1b[H\x1b[2J"
)
"""In place of a full reset: every setting that passes here as it was at the start, and nothing on the screen."""

_FULL_RESET = b"\x1bc"
_SYNC_ON, _SYNC_OFF = b"\x1b[?2026h", b"\x1b[?2026l"

_C0 = rb"[\x00-\x17\x19\x1c-\x1f\x7f]"
_BODY = rb"[\x00-\x17\x19\x1c-\x3f\x7f]*"
_SEQUENCE = re.compile(
    rb"\x1b(?P<c0>" + _C0 + rb"*)"
    rb"(?:\[(?P<body>" + _BODY + rb")(?P<final>[@-~])"
    rb"|\](?P<osc>[^\x07\x18\x1a\x1b]*)(?:\x07|\x1b\\|[\x18\x1a]|(?=\x1b.))"
    rb"|(?P<string>[PX^_])"
    rb"|(?P<escape>[ -/]+[0-~]|[0-OQ-WYZ\\`-~]))"
    rb"|(?P<open>\x1b" + _C0 + rb"*(?:[ -/]+|\[" + _BODY + rb"|\][^\x07\x18\x1a\x1b]*\x1b?)?\Z|\xc2\Z)"
    # Half a sequence, and half a character: without it what follows could not be put together anew.
    rb"|(?P<loose>\x1b" + _C0 + rb"*(?:[ -/]+|\[" + _BODY + rb")?|\x05|\xc2(?:[\x80-\x9f]|(?![\xa0-\xbf])))",
    re.DOTALL,
)
_STRING_END = re.compile(rb"\x1b\\|[\x18\x1a]|\x1b(?=[^\\])", re.DOTALL)
_CONTROLS = re.compile(_C0)
_HARMLESS_CONTROLS = re.compile(rb"[\x07-\x0f]")
_PARTS = re.compile(rb"([<=>?]*)([0-9:;]*)([ -/]*)", re.DOTALL)

_OTHER_SCREEN = frozenset([b"47", b"1047", b"1049"])
_LASTING_MODES = frozenset([b"3", b"40", b"1046", b"2031", b"2033", b"2048", b"5522", b"9001"])
"""Modes that resize the terminal, or have it send what the seat's own has sent."""
_TITLES = frozenset([b"0", b"1", b"2"])
_KEPT_STRINGS = frozenset([b"8", b"9", b"52", b"99", b"777", b"7501"])
"""Links, progress and notifications, the clipboard, and what the program says of itself; none may ask."""
_ESCAPE_ASKS = frozenset([b"Z"])
_PLAIN_ASKS = frozenset(b"ctxiy")
"""Who are you, where is your window, print this: finals of sequences that pass in no form."""
_MARKED_ASKS = frozenset([b"?n", b"n", b"?u", b">q", b"?m", b"?S", b"?r", b"?s"])
_KEPT_WITH_INTERMEDIATE = frozenset(
    [
        b" q",
        b" @",
        b" A",
        b"!p",
        b'"q',
        b"$r",
        b"$t",
        b"$x",
        b"$z",
        b"${",
        b"$v",
        b"*x",
        b"#{",
        b"#}",
        b"'}",
        b"'~",
    ]
)


class GuestTerminal:
    """The filter of one stream.

    Attributes:
        wants_redraw: The program went back to its main screen. Here it has only one, so that everything must be
            drawn again; what came behind is dropped.
    """

    def __init__(self) -> None:
        self.wants_redraw = False
        self._rest = b""
        self._is_in_string = False

    def fit(self, data: bytes) -> bytes:
        """What of `data` may reach the terminal. A sequence that is not whole waits for its end.

        A piece that begins with a full reset is a drawing of the whole screen: it replaces all that came before.
        """
        is_drawing = data.startswith(_FULL_RESET)
        if is_drawing:
            self._rest, self._is_in_string = b"", False
        self.wants_redraw = False
        kept = b"".join(self._pieces(self._rest + data, may_return=not is_drawing))
        return _SYNC_ON + kept + _SYNC_OFF if is_drawing else kept

    def _pieces(self, data: bytes, *, may_return: bool) -> Iterator[bytes]:
        self._rest, at = b"", 0
        while True:
            if self._is_in_string:
                end = _STRING_END.search(data, at)
                if end is None:
                    self._rest = b"\x1b" if data.endswith(b"\x1b") else b""
                    return
                self._is_in_string = False
                # An escape that begins something else ends the string and is looked at again.
                at = end.end() if data[end.start() : end.end()] != b"\x1b" else end.start()
            found = _SEQUENCE.search(data, at)
            if found is None:
                yield data[at:]
                return
            yield data[at : found.start()]
            at = found.end()
            if found["open"] is not None:
                if len(found["open"]) <= STRING_CAP_BYTES:
                    self._rest = found["open"]
                else:
                    self._is_in_string = True
                return
            yield b"".join(_HARMLESS_CONTROLS.findall(found["c0"] or b""))
            if found["final"] is not None:
                yield self._control(found["body"], found["final"])
                if self.wants_redraw and may_return:
                    return
                self.wants_redraw = False
            elif found["osc"] is not None:
                yield found[0] if _may_pass(found["osc"]) else b""
            elif found["string"] is not None:
                self._is_in_string = True
            elif found["escape"] == b"c":
                yield FRESH
            elif found["escape"] is not None and found["escape"] not in _ESCAPE_ASKS:
                yield b"\x1b" + found["escape"]

    def _control(self, body: bytes, final: bytes) -> bytes:
        # A terminal carries out control characters inside a sequence as if they stood before it.
        before = b"".join(_HARMLESS_CONTROLS.findall(body))
        body = _CONTROLS.sub(b"", body)
        parts = _PARTS.fullmatch(body)
        if parts is None:
            return before
        marks, numbers, between = parts.groups()
        if between:
            is_kept = not marks and between + final in _KEPT_WITH_INTERMEDIATE
        elif final in (b"h", b"l"):
            return before + self._modes(marks, numbers.split(b";"), final)
        else:
            is_lasting = final == b"J" and b"3" in numbers.split(b";")
            is_kept = final[0] not in _PLAIN_ASKS and marks + final not in _MARKED_ASKS and not is_lasting
        return before + (b"\x1b[%s%s" % (body, final) if is_kept else b"")

    def _modes(self, marks: bytes, numbers: list[bytes], final: bytes) -> bytes:
        if marks != b"?":
            kept = [one for one in numbers if one in (b"4", b"20")]
            return b"\x1b[%s%s" % (b";".join(kept), final) if kept and not marks else b""
        numbers = [one.lstrip(b"0") for one in numbers]
        kept = [one for one in numbers if one and one not in _OTHER_SCREEN and one not in _LASTING_MODES]
        passed = b"\x1b[?%s%s" % (b";".join(kept), final) if kept else b""
        if not _OTHER_SCREEN.isdisjoint(numbers):
            if final == b"h":
                return passed + b"\x1b[2J"
            self.wants_redraw = True
        return passed


def _may_pass(string: bytes) -> bool:
    number, _, rest = string.partition(b";")
    if number in _TITLES:
        return rest != b"?"
    return number in _KEPT_STRINGS and (number == b"8" or not _asks(number, rest))


def _asks(number: bytes, rest: bytes) -> bool:
    if number in (b"9", b"777"):
        return False
    # `52;c;?`, `7501;?`, `99;p=?`: a question mark in the place of a value.
    return any(field.rpartition(b"=")[2] == b"?" for field in re.split(b"[;:]", rest))
