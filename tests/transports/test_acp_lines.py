"""Framing gives the same lines for the same bytes, in whatever pieces they come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inspan.transports.acp.lines import LineReader

PIECES = st.lists(st.binary(max_size=12).map(lambda data: data.replace(b"\x00", b"\n")), max_size=12)


def read(pieces: list[bytes], cap_bytes: int) -> tuple[list[bytes | None], int]:
    """All lines, and all bytes that were used up."""
    reader = LineReader(cap_bytes)
    lines: list[bytes | None] = []
    used = 0
    for piece in pieces:
        found, count = reader.feed(piece)
        lines += found
        used += count
    return lines, used


@given(PIECES, st.integers(min_value=1, max_value=20))
def test_lines_do_not_depend_on_the_pieces(pieces: list[bytes], cap_bytes: int) -> None:
    whole = b"".join(pieces)
    single = [whole[index : index + 1] for index in range(len(whole))]

    assert read(pieces, cap_bytes)[0] == read([whole], cap_bytes)[0] == read(single, cap_bytes)[0]


@given(PIECES, st.integers(min_value=1, max_value=20))
def test_every_line_is_whole_or_said_to_be_over_the_cap(pieces: list[bytes], cap_bytes: int) -> None:
    *ended, rest = b"".join(pieces).split(b"\n")

    expected: list[bytes | None] = [one if len(one) <= cap_bytes else None for one in ended]
    if len(rest) > cap_bytes:
        expected.append(None)

    assert read(pieces, cap_bytes)[0] == expected


@given(PIECES, st.integers(min_value=1, max_value=20), st.data())
def test_a_reader_that_starts_anew_where_bytes_were_used_up_goes_on_the_same(
    pieces: list[bytes], cap_bytes: int, data: st.DataObject
) -> None:
    whole = b"".join(pieces)
    cut = data.draw(st.integers(min_value=0, max_value=len(whole)))
    first = LineReader(cap_bytes)
    lines, used = first.feed(whole[:cut])

    second = LineReader(cap_bytes, is_discarding=first.is_discarding)

    assert lines + second.feed(whole[used:])[0] == read([whole], cap_bytes)[0]


@given(PIECES)
def test_what_is_held_never_exceeds_the_cap(pieces: list[bytes]) -> None:
    reader = LineReader(8)
    for piece in pieces:
        reader.feed(piece)

    assert len(reader.take_rest()) <= 8
