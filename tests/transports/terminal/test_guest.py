"""A borrowed terminal: nothing reaches it that it would answer, and nothing that would stay with it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.transports.terminal.guest import FRESH, STRING_CAP_BYTES, GuestTerminal
from inspan.transports.terminal.opening import open_screen
from inspan.transports.terminal.screen import ScreenSize


def fit(*pieces: bytes) -> bytes:
    guest = GuestTerminal()
    return b"".join(guest.fit(piece) for piece in pieces)


@pytest.mark.parametrize(
    "asks",
    [
        *(b"\x1b[c", b"\x1b[0c", b"\x1b[>c", b"\x1b[>0c", b"\x1b[=c", b"\x1bZ", b"\x05"),
        *(b"\x1b[5n", b"\x1b[6n", b"\x1b[?6n", b"\x1b[?996n", b"\x1b[?15n"),
        *(b"\x1b[?2026$p", b"\x1b[4$p", b"\x1b[>q", b"\x1b[>0q", b"\x1b[?u", b"\x1b[?4m", b"\x1b[?1;1;0S"),
        *(b"\x1b[14t", b"\x1b[16t", b"\x1b[18t", b"\x1b[21t", b"\x1b[8;10;20t", b"\x1b[x", b"\x1b[1x"),
        *(b"\x1b[1;1;1;1;1;1*y", b"\x1b[1$w", b"\x1b[1$u", b"\x1b[&u", b"\x1b[#R", b"\x1b[1'|", b"\x1b[5i"),
        *(
            b"\x1bP$qm\x1b\\",
            b"\x1bP+q544e\x1b\\",
            b"\x1b_Gi=31,a=q;AAAA\x1b\\",
            b"\x1bPtmux;\x1b\x1b[c\x1b\\",
        ),
        *(b"\x1b]10;?\x07", b"\x1b]11;?\x1b\\", b"\x1b]4;1;?\x07", b"\x1b]52;c;?\x07", b"\x1b]7501;?\x1b\\"),
        *(b"\x1b]21;foreground=?\x1b\\", b"\x1b]99;i=1:p=?;\x1b\\", b"\x1b]1337;ReportCellSize\x07"),
        *(b"\x1b[?2048h", b"\x1b[?2031h", b"\xc2\x9bc", b"\x1b[\r6n".replace(b"\r", b"\x00")),
    ],
)
def test_what_a_terminal_would_answer_is_taken_out_wherever_it_is_cut(asks: bytes) -> None:
    shown = fit(b"before" + asks + b"after")
    one_by_one = fit(*(bytes([byte]) for byte in b"before" + asks + b"after"))

    # Of a sequence that begins with C1 in two bytes only the introducer is known; the rest is text.
    text = b"beforecafter" if asks.startswith(b"\xc2") else b"beforeafter"
    assert shown == one_by_one
    assert shown in (text, b"before\x1b\\after")


@pytest.mark.parametrize(
    "shown",
    [
        *(b"plain \xc3\xa9 \xe2\x96\x88 \xc2\xa0 text\r\n\t\x08\x07", b"\x1b[1;31mred\x1b[0m", b"\x1b[10;5H"),
        *(
            b"\x1b[2J",
            b"\x1b[K",
            b"\x1b[?25l",
            b"\x1b[?2004h",
            b"\x1b[?1000;1006h",
            b"\x1b[?2026h",
            b"\x1b[4h",
        ),
        *(
            b"\x1b7\x1b8",
            b"\x1b(0",
            b"\x1b#8",
            b"\x1b=",
            b"\x1b[3 q",
            b"\x1b[>1u",
            b"\x1b[<u",
            b"\x1b[s\x1b[u",
        ),
        *(
            b"\x1b]0;a title?\x07",
            b"\x1b]2;x;?\x1b\\",
            b"\x1b]8;;https://x.example/?q=?\x1b\\",
            b"\x1b]9;4;1;50\x07",
        ),
        *(
            b"\x1b]52;c;aGVsbG8=\x07",
            b"\x1b]7501;state=working\x1b\\",
            b"\x1b[!p",
            b"\x1b[1;3r",
            b"\x1b[38:2::1:2:3m",
        ),
    ],
)
def test_what_only_draws_passes_as_it_is_wherever_it_is_cut(shown: bytes) -> None:
    assert fit(shown) == shown
    assert fit(*(bytes([byte]) for byte in shown)) == shown


@pytest.mark.parametrize(
    "lasting",
    [
        *(
            b"\x1b]4;1;#fff\x07",
            b"\x1b]10;red\x07",
            b"\x1b]104\x07",
            b"\x1b]7;file:///\x07",
            b"\x1b]133;A\x07",
        ),
        *(b"\x1b[3J", b"\x1b[?3h", b"\x1b[22;0t", b"\x1b[2h", b"\x1b[12l", b"\x1b]1337;File=:AAAA\x07"),
    ],
)
def test_what_would_stay_with_the_terminal_is_taken_out(lasting: bytes) -> None:
    assert fit(lasting) == b""


def test_a_full_reset_clears_the_screen_and_leaves_the_terminal_its_own_settings() -> None:
    assert fit(b"a\x1bcb") == b"a" + FRESH + b"b"
    assert b"\x1bc" not in FRESH


def test_the_other_screen_is_the_same_one_cleared_and_the_way_back_asks_for_a_drawing() -> None:
    guest = GuestTerminal()

    assert guest.fit(b"main\x1b[?1049;2004hother") == b"main\x1b[?2004h\x1b[2Jother"
    assert not guest.wants_redraw
    assert guest.fit(b"last\x1b[?1049;25l behind") == b"last\x1b[?25l"
    assert guest.wants_redraw
    # The drawing itself may go to the other screen and back; it is whole.
    drawn = guest.fit(b"\x1bcbelow\x1b[?1049h\x1b[?1049labove")
    assert drawn.endswith(b"above\x1b[?2026l")
    assert not guest.wants_redraw


def test_a_string_without_an_end_takes_no_memory_and_what_comes_after_it_passes() -> None:
    guest = GuestTerminal()
    for _ in range(40):
        assert guest.fit(b"\x1bPq" + b"#" * 65536) == b""
    assert guest.fit(b"\x1b\\shown") == b"shown"

    assert guest.fit(b"\x1b]52;c;" + b"A" * STRING_CAP_BYTES) == b""
    assert guest.fit(b"A" * 99) == b""
    assert guest.fit(b"\x1b\\shown") == b"shown"


_BITS = st.sampled_from(
    [
        *(
            b"\x1b",
            b"[",
            b"]",
            b"P",
            b"c",
            b"n",
            b"6",
            b"5",
            b"?",
            b">",
            b"=",
            b"$",
            b"p",
            b"q",
            b"u",
            b"t",
            b"0",
        ),
        *(
            b";",
            b"\\",
            b"\x07",
            b"\x18",
            b"\x1a",
            b"\x05",
            b"\x00",
            b"\r",
            b"\xc2",
            b"\x9b",
            b"\x90",
            b"x",
            b"Z",
        ),
        *(
            b"10;?",
            b"7501;?",
            b"14t",
            b"\x1b[c",
            b"\x1b[6n",
            b"\x1b]11;?\x1b\\",
            b"\x1bP$qm\x1b\\",
            b"!",
            b" ",
            b"#",
        ),
        *(b"\x1b_", b"+q", b"2048h", b"\xff", b"\xe2", b"1049l", b"(", b"%", b"'", b"*y"),
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(_BITS, max_size=40), st.integers(min_value=1, max_value=7))
def test_no_bytes_whatever_make_the_borrowed_terminal_answer(bits: list[bytes], step: int) -> None:
    stream = b"".join(bits)
    guest = GuestTerminal()
    screen = open_screen(ScreenSize(rows=5, columns=20))
    try:
        for start in range(0, len(stream), step):
            shown = guest.fit(stream[start : start + step])
            assert screen.feed(shown) == b"", (stream, shown)
            assert b"\xc2\x9b" not in shown
            assert b"\xc2\x90" not in shown
    finally:
        screen.close()
