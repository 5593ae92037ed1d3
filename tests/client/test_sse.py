"""Server-sent events, read however they are cut."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.client import sse
from inspan.client.sse import ServerSentEvent, SseDecoder

STREAM = (
    b"retry: 1000\nid: 7\n\n"
    b":\nid: 8\n\n"
    b'id: 9\nevent: turn_ended\ndata: {"a":1}\n\n'
    b"event: cut\ndata: one\ndata: two\nunknown: x\n\n"
)
FRAMES = [
    ServerSentEvent(event="", data=b"", id="7"),
    ServerSentEvent(event="", data=b"", id="8"),
    ServerSentEvent(event="turn_ended", data=b'{"a":1}', id="9"),
    ServerSentEvent(event="cut", data=b"one\ntwo", id="9"),
]


@given(st.lists(st.integers(0, len(STREAM))))
def test_a_stream_reads_the_same_however_it_is_cut(cuts: list[int]) -> None:
    decoder = SseDecoder()
    places = [0, *sorted(cuts), len(STREAM)]

    found = [frame for begin, end in itertools.pairwise(places) for frame in decoder.feed(STREAM[begin:end])]

    assert found == FRAMES


def test_half_a_frame_is_no_frame() -> None:
    assert list(SseDecoder().feed(b"id: 1\nevent: turn_ended\ndata: {}\n")) == []


def test_a_frame_over_the_cap_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "FRAME_CAP_BYTES", 100)
    decoder = SseDecoder()
    assert list(decoder.feed(b"data: 123456" * 8)) == []

    with pytest.raises(ValueError, match="over the cap"):
        list(decoder.feed(b"data: 123456"))
