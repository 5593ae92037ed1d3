"""Whatever is written to a screen, it goes on, and its memory stays bounded."""

from __future__ import annotations

import os

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.transports.terminal.opening import Engine, open_screen
from inspan.transports.terminal.screen import Screen, ScreenSize, UnknownSequence
from support.floods import FLOODS, flood
from support.screen_bytes import SEQUENCES, UNFINISHED, byte_streams

ENGINES: tuple[Engine, ...] = ("ghostty", "avt")
SIZE = ScreenSize(rows=50, columns=200)
FLOOD_BYTES = int(os.environ.get("INSPAN_FLOOD_MB", "1")) * 1024 * 1024
MEMORY_LIMIT = 64 * 1024 * 1024
"""Half of it is what the worst of them takes: every cell of a thousand rows with 65 marks on it."""
SIZES = st.builds(ScreenSize, rows=st.integers(1, 40), columns=st.integers(1, 90))
INTRODUCERS = (b"\x1b[", b"\x1b]", b"\x1bP", b"\x1b_", b"\x1b^", b"\x1bX", b"\x9b", b"\x9d", b"\x1b")
TOO_MUCH = (b"\x1b[99999999999999999999A", b"\x1b[" + b";" * 100 + b"m", b"\x1b[?" + b"1;" * 50 + b"h")
NO_TEXT = (b"\xf4\x90\x80\x80", b"\xed\xa0\x80", b"\xc0\xaf", b"\xff\xfe", b"\xe2\x82", b"\x00\x7f\x80")
WRONG = st.tuples(st.sampled_from(INTRODUCERS), st.binary(max_size=20)).map(b"".join)
BROKEN: st.SearchStrategy[bytes] = (
    st.binary(max_size=40)
    | SEQUENCES
    | SEQUENCES.map(lambda piece: piece[:-1])
    | st.sampled_from(UNFINISHED + TOO_MUCH + NO_TEXT)
    | WRONG
)
"""Sequences whole, cut, and wrong, and bytes that are no text."""


def expect_a_whole_screen(screen: Screen, size: ScreenSize) -> None:
    snapshot = screen.snapshot()
    assert snapshot.size == size
    assert len(snapshot.lines) == size.rows
    assert 0 <= snapshot.cursor.row < size.rows
    assert 0 <= snapshot.cursor.column <= size.columns


@settings(max_examples=150)
@given(pieces=st.lists(BROKEN, max_size=30))
@pytest.mark.parametrize("engine", ENGINES)
def test_a_screen_shows_something_whatever_is_written_to_it(engine: Engine, pieces: list[bytes]) -> None:
    size = ScreenSize(rows=6, columns=20)
    screen = open_screen(size, engine=engine)
    for piece in pieces:
        screen.feed(piece)
        expect_a_whole_screen(screen, size)
    screen.dump()
    screen.feed(b"\x18\x1b\\\x1bcagain")
    assert screen.snapshot().lines == ("again", "", "", "", "", "")
    screen.close()


@settings(max_examples=100)
@given(steps=st.lists(st.tuples(SIZES, byte_streams(BROKEN, most=6)), min_size=1, max_size=8))
@pytest.mark.parametrize("engine", ENGINES)
def test_a_screen_takes_any_size_in_the_middle_of_anything(
    engine: Engine, steps: list[tuple[ScreenSize, bytes]]
) -> None:
    screen = open_screen(ScreenSize(rows=24, columns=80), engine=engine)
    for size, written in steps:
        for one in (ScreenSize(rows=1, columns=1), size):
            screen.resize(one)
            expect_a_whole_screen(screen, one)
            screen.feed(written)
            expect_a_whole_screen(screen, one)
            screen.scrollback(1000)
    screen.close()


@pytest.mark.parametrize("name", FLOODS)
@pytest.mark.parametrize("engine", ENGINES)
def test_output_that_never_stops_takes_no_more_memory(engine: Engine, name: str) -> None:
    process = psutil.Process()
    screen = open_screen(SIZE, engine=engine)
    screen.feed(b"warm\r\n" * 3000)
    before, most = process.memory_info().rss, 0
    for number, chunk in enumerate(flood(name, size_bytes=FLOOD_BYTES)):
        screen.feed(chunk)
        if number % 256 == 0:
            screen.snapshot()
            most = max(most, process.memory_info().rss)
    assert max(most, process.memory_info().rss) - before < MEMORY_LIMIT
    screen.feed(b"\x18\x1b\\\x1bcagain")
    assert screen.snapshot().lines[0] == "again"
    screen.close()


def test_what_is_handed_out_of_an_endless_sequence_is_bounded() -> None:
    heard: list[int] = []

    def listen(event: object) -> bytes:
        if isinstance(event, UnknownSequence):
            heard.append(len(event.content))
        return b""

    screen = open_screen(SIZE, on_event=listen)
    for chunk in flood("a status report that never ends", size_bytes=FLOOD_BYTES):
        screen.feed(chunk)
    screen.feed(b"\x1b\\")
    assert heard == [4096]
    screen.close()


def test_the_dump_of_the_worst_screen_is_bounded() -> None:
    screen = open_screen(SIZE)
    for chunk in flood("people in one cluster", size_bytes=4 * 1024 * 1024):
        screen.feed(chunk)
    cells = SIZE.rows * SIZE.columns
    assert len(screen.dump()) < cells * 65 * 4
    screen.close()
