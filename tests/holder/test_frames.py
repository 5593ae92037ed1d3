"""The framing, as both sides use it."""

from __future__ import annotations

import json
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.holder.program.frames import FrameDecoder, encode_data, encode_json, split_data

CAP = 4096
Frame = tuple[Literal["J", "D", "G"], bytes]

json_frames = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=20), max_size=4).map(
    encode_json
)
data_frames = st.builds(
    encode_data, st.integers(0, 2**64 - 1), st.binary(max_size=300), is_guarded=st.booleans()
)
cuts = st.lists(st.integers(1, 60), min_size=1)


def decode(raw: bytes, sizes: list[int], cap: int = CAP) -> tuple[list[Frame], FrameDecoder]:
    decoder = FrameDecoder(cap)
    frames: list[Frame] = []
    position = turn = 0
    while position < len(raw):
        size = sizes[turn % len(sizes)]
        frames += decoder.feed(raw[position : position + size])
        position += size
        turn += 1
    return frames, decoder


@given(st.lists(json_frames | data_frames, max_size=12), cuts)
def test_any_cutting_of_the_bytes_gives_the_same_frames(encoded: list[bytes], sizes: list[int]) -> None:
    raw = b"".join(encoded)
    frames, decoder = decode(raw, sizes)
    assert decoder.fault is None
    assert [body for _, body in frames] == [one[5:] for one in encoded]
    assert [ord(kind) for kind, _ in frames] == [one[4] for one in encoded]


@given(st.binary(max_size=400), cuts)
def test_garbage_ends_in_a_fault_or_in_frames_below_the_cap_and_never_depends_on_the_cutting(
    raw: bytes, sizes: list[int]
) -> None:
    frames, decoder = decode(raw, sizes, cap=64)
    whole, at_once = decode(raw, [max(1, len(raw))], cap=64)
    assert frames == whole
    assert all(len(body) < 64 for _, body in frames)
    assert (decoder.fault and decoder.fault.code) == (at_once.fault and at_once.fault.code)


@given(st.lists(data_frames, max_size=3), st.integers(CAP + 1, 2**32 - 1), cuts)
@pytest.mark.requirement("H-H5", "H-N36")
def test_a_frame_over_the_cap_is_refused_from_its_length_alone(
    before: list[bytes], length: int, sizes: list[int]
) -> None:
    raw = b"".join(before) + length.to_bytes(4, "big")
    frames, decoder = decode(raw, sizes)
    assert [body for _, body in frames] == [one[5:] for one in before]
    assert decoder.fault is not None
    assert decoder.fault.code == "frame_too_large"
    assert decoder.feed(encode_json({})) == []


@pytest.mark.requirement("H-H5")
def test_the_cap_itself_is_allowed() -> None:
    frames, decoder = decode(encode_data(1, bytes(CAP - 9)), [1000])
    assert decoder.fault is None
    assert len(frames[0][1]) == CAP - 1


@pytest.mark.parametrize("raw", [bytes(4), b"\0\0\0\1X", b"\0\0\0\5\0abcd"])
def test_a_header_without_a_known_kind_is_malformed(raw: bytes) -> None:
    _, decoder = decode(raw, [1])
    assert decoder.fault is not None
    assert decoder.fault.code == "frame_malformed"


@given(st.integers(0, 2**64 - 1), st.binary(max_size=50))
def test_a_data_frame_keeps_its_number_and_bytes(number: int, data: bytes) -> None:
    assert split_data(encode_data(number, data)[5:]) == (number, data)


def test_a_data_frame_too_short_for_its_number_is_not_split() -> None:
    assert split_data(b"1234567") is None


def test_a_control_frame_is_json() -> None:
    assert json.loads(encode_json({"type": "é"})[5:]) == {"type": "é"}
