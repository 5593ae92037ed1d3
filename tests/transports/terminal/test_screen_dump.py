"""A dump brings a fresh screen to what another one shows, and both go on alike."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inspan.conformance.console_fixtures import streams_of
from inspan.transports.terminal.opening import open_screen
from inspan.transports.terminal.screen import Screen, ScreenEvent, ScreenSize, Snapshot
from support.screen_bytes import SEQUENCES, UNFINISHED, byte_streams
from support.terminal_recordings import recorded_sets

SIZE = ScreenSize(rows=6, columns=14)
HARNESSES = ("claude-code", "cline", "codex", "copilot", "gemini", "kimi", "opencode", "pi", "qwen", "vibe")
RECORDED = {f"{harness}/{one.name}": one for harness in HARNESSES for one in recorded_sets(harness)}
PLACES = 12
"""At how many places each recorded stream is dumped."""


def view(screen: Screen) -> tuple[Snapshot, tuple[str, ...]]:
    """Everything that a dump has to bring back."""
    return msgspec.structs.replace(screen.snapshot(), revision=0, bells=None), screen.scrollback(1000)


def redrawn(screen: Screen, size: ScreenSize) -> Screen:
    again = open_screen(size)
    again.feed(screen.dump())
    return again


def expect_the_same(size: ScreenSize, before: bytes, after: bytes) -> None:
    """Dump between the two, and compare at the dump and after what follows."""
    screen = open_screen(size)
    screen.feed(before)
    again = redrawn(screen, size)
    assert view(again) == view(screen), screen.dump()
    screen.feed(after)
    again.feed(after)
    assert view(again) == view(screen), screen.dump()
    screen.close()
    again.close()


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_console_is_redrawn_and_goes_on_alike(name: str) -> None:
    recorded = RECORDED[name]
    for stream, _ in streams_of(recorded):
        step = max(1, len(stream) // PLACES)
        for begin, end in pairwise(range(0, len(stream) + step, step)):
            expect_the_same(recorded.size, stream[:begin], stream[begin:end])


@settings(deadline=None, max_examples=150)
@given(
    first=st.sampled_from((b"", b"\x1b[?2027h")),
    before=byte_streams(SEQUENCES),
    open_end=st.sampled_from(UNFINISHED),
    after=byte_streams(SEQUENCES),
)
@example(
    first=b"", before=b"\x1b[9;15H\xf0\x9f\x87\xa8\xf0\x9f\x87\xad\x1b[uabc xyz", open_end=b"", after=b""
)
@example(first=b"", before="\u754c".encode() * 7, open_end=b"", after=b"x")
@example(first=b"", before=b"\x1b[2;4r\x1b[?6h\x1b[2;3Hx\x1b7", open_end=b"", after=b"\x1b[H\x1b8y")
@example(
    first=b"", before=b"one\x1b[?1049h\x1b[3;4Htwo", open_end=b"\x1b]2;ti", after=b"tle\x07\x1b[?1049lthree"
)
@example(first=b"", before=b"x", open_end=b"", after=b"\x1b[3b")
@example(first=b"", before=b"\x1b[>5u\x1b[>7u\x1b[?1049h\x1b[>1u", open_end=b"", after=b"\x1b[?1049l\x1b[<u")
def test_any_screen_is_redrawn_and_goes_on_alike(
    first: bytes, before: bytes, open_end: bytes, after: bytes
) -> None:
    expect_the_same(SIZE, first + before + open_end, after)


@settings(deadline=None, max_examples=50)
@given(before=byte_streams(SEQUENCES))
def test_a_dump_rings_no_bell_and_hands_out_nothing(before: bytes) -> None:
    heard: list[ScreenEvent] = []

    def listen(event: ScreenEvent) -> bytes:
        heard.append(event)
        return b""

    screen, again = open_screen(SIZE), open_screen(SIZE, on_event=listen)
    screen.feed(b"\x07" + before)
    again.feed(screen.dump())
    assert (heard, again.snapshot().bells) == ([], 0)
    screen.close()
    again.close()


def test_a_dump_changes_nothing() -> None:
    screen = open_screen(SIZE)
    screen.feed(b"one\x1b7\x1b[?1049h\x1b[>5utwo\x1b[31m\x1b]2;t")
    seen, dumped = view(screen), screen.dump()
    assert (view(screen), screen.dump()) == (seen, dumped)
    screen.close()


def test_a_dump_draws_the_colours() -> None:
    screen = open_screen(SIZE)
    screen.feed(b"\x1b[31mred\x1b[1;44mblue\x1b[m plain")
    dumped = screen.dump()
    assert b"\x1b[38;5;1mred" in dumped
    assert b"48;5;4" in dumped
    screen.close()


def test_a_dump_keeps_as_many_rows_above_as_it_is_asked_for() -> None:
    screen = open_screen(SIZE)
    screen.feed(b"\r\n".join(b"line %d" % number for number in range(100)))
    assert screen.scrollback(3) == ("line 91", "line 92", "line 93")
    for count in (0, 1, 50, 1000):
        again = open_screen(SIZE)
        again.feed(screen.dump(scrollback_lines=count))
        assert again.scrollback(1000) == screen.scrollback(count)
        assert again.snapshot().lines == screen.snapshot().lines
        again.close()
    screen.close()


def test_blank_rows_above_are_rows_too() -> None:
    screen = open_screen(SIZE)
    screen.feed(b"\r\n" * 9)
    assert screen.scrollback(1000) == ("",) * 4
    again = redrawn(screen, SIZE)
    assert again.scrollback(1000) == ("",) * 4
    screen.close()
    again.close()


def test_an_alternate_screen_has_no_rows_above() -> None:
    screen = open_screen(SIZE)
    screen.feed(b"x\r\n" * 20 + b"\x1b[?1049h")
    assert screen.scrollback(1000) == ()
    screen.feed(b"\x1b[?1049l")
    assert len(screen.scrollback(1000)) == 15
    screen.close()


@pytest.mark.parametrize("unfinished", [end for end in UNFINISHED if end])
def test_a_screen_tells_whether_it_was_cut_in_a_sequence(unfinished: bytes) -> None:
    screen = open_screen(SIZE)
    screen.feed(b"text\x1b[31m")
    assert screen.is_at_ground is True
    screen.feed(unfinished)
    assert screen.is_at_ground is False
    screen.close()


def test_a_sequence_that_never_ends_is_left_out_of_a_dump() -> None:
    screen = open_screen(SIZE)
    screen.feed(b"text\x1b]2;" + b"x" * (1024 * 1024 + 1))
    assert screen.is_at_ground is False
    again = redrawn(screen, SIZE)
    assert again.snapshot().lines == screen.snapshot().lines
    assert again.is_at_ground is True
    screen.close()
    again.close()


def test_the_second_emulator_dumps_what_it_shows() -> None:
    screen, again = open_screen(SIZE, engine="avt"), open_screen(SIZE, engine="avt")
    screen.feed("one\r\n\x1b[31mtwo\x1b[?25l 界".encode() + b"\xe7\x95")
    again.feed(screen.dump())
    for written in (b"", b"\x8cx"):
        screen.feed(written)
        again.feed(written)
        assert (again.snapshot().lines, again.snapshot().cursor) == (
            screen.snapshot().lines,
            screen.snapshot().cursor,
        )
    assert screen.is_at_ground is False
    screen.feed(b"\r\nx" * 8)
    assert screen.scrollback(2) == ("x", "x")
    screen.close()
    again.close()
