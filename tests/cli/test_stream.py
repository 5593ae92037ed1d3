import itertools
import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.cli.fields import text
from inspan.cli.stream import EventStream, SseEvent, SseReader
from inspan.cli.wire import Connection, connect
from inspan.model.errors import InspanError
from support.scripted_http import ScriptedHttp, envelope

DEADLINE_S = 20.0


def _stream(gaps: list[str] | None = None, after: int = 0) -> EventStream:
    path = str(Path(os.environ["INSPAN_HOME"]) / "daemon.sock")
    return EventStream(lambda: connect(path), after=after, on_gap=(gaps if gaps is not None else []).append)


def _positions(stream: EventStream, count: int) -> list[object]:
    found: list[object] = []
    deadline = time.monotonic() + DEADLINE_S
    while len(found) < count and time.monotonic() < deadline:
        one = stream.next(timeout_s=0.5)
        if isinstance(one, dict):
            found.append(one["position"])
    return found


@given(st.lists(st.integers(min_value=0, max_value=200), max_size=6))
def test_events_are_the_same_wherever_the_bytes_are_cut(cuts: list[int]) -> None:
    whole = 'retry: 1\nid: 4\n\n:\nid: 5\nevent: noise\ndata: {"a": "ä"}\n\nevent: bye\r\ndata: x\r\ndata: y\r\n\r\n'.encode()
    reader = SseReader()
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]

    found = [event for start, end in itertools.pairwise(edges) for event in reader.feed(whole[start:end])]

    assert found == [SseEvent("4", "", ""), SseEvent("5", "noise", '{"a": "ä"}'), SseEvent("", "bye", "x\ny")]


@pytest.mark.parametrize("how", ["cut", "bye", "break"])
def test_a_stream_that_ends_is_taken_up_again_without_a_loss_or_a_double(
    daemon: ScriptedHttp, how: str
) -> None:
    daemon.emit(*(envelope(position, "noise") for position in range(1, 6)))
    daemon.end_stream_after(3, how)
    gaps: list[str] = []
    stream = _stream(gaps)

    found = _positions(stream, 5)
    stream.close()

    assert found == [1, 2, 3, 4, 5]
    assert daemon.streams[0] == "0"
    assert len(gaps) == 1
    assert len(daemon.streams) == 2


def test_events_that_were_seen_are_passed_over(daemon: ScriptedHttp) -> None:
    daemon.emit(*(envelope(position, "noise") for position in range(1, 4)))
    stream = _stream(after=2)

    found = _positions(stream, 1)
    stream.close()

    assert found == [3]
    assert daemon.streams == ["2"]


def test_quiet_is_told_after_the_timeout_and_another_input_at_once(daemon: ScriptedHttp) -> None:
    stream = _stream()
    reading, writing = os.pipe()
    os.write(writing, b"!")

    assert stream.next(timeout_s=0.05) is None
    assert stream.next(timeout_s=DEADLINE_S, beside=[reading]) == reading

    stream.close()
    os.close(reading)
    os.close(writing)


def test_an_error_of_the_stream_is_raised(daemon: ScriptedHttp) -> None:
    daemon.emit(envelope(1, "noise"))
    daemon.end_stream_after(1, "error")
    stream = _stream()

    with pytest.raises(InspanError):
        _positions(stream, 2)
    stream.close()


def test_an_envelope_is_handed_out_as_it_came(daemon: ScriptedHttp) -> None:
    sent = envelope(7, "message_chunk", role="agent", text="hé\u2028\nllo")
    daemon.emit(sent)
    stream = _stream()

    found = stream.next(timeout_s=DEADLINE_S)
    stream.close()

    assert found == json.loads(json.dumps(sent))
    assert text(found, "event", "text") == "hé\u2028\nllo"


def test_a_stream_whose_daemon_died_has_it_started(daemon: ScriptedHttp) -> None:
    tries: list[str] = []

    def connect_at_the_second_try() -> Connection:
        if not started:
            tries.append("refused")
            raise ConnectionRefusedError
        return connect(str(Path(os.environ["INSPAN_HOME"]) / "daemon.sock"))

    started: list[str] = []
    stream = EventStream(connect_at_the_second_try, revive=lambda: started.append("started"))
    daemon.emit(envelope(1, "noise"))

    assert _positions(stream, 1) == [1]
    stream.close()
    assert (tries, started) == (["refused"], ["started"])


def test_a_daemon_that_said_goodbye_is_waited_for_and_not_started(daemon: ScriptedHttp) -> None:
    started: list[str] = []
    goes: list[str] = []

    def connect_once() -> Connection:
        if goes:
            raise ConnectionRefusedError
        goes.append("connected")
        return connect(str(Path(os.environ["INSPAN_HOME"]) / "daemon.sock"))

    stream = EventStream(connect_once, revive=lambda: started.append("started"))
    daemon.emit(envelope(1, "noise"))
    daemon.end_stream_after(1, "bye")

    assert _positions(stream, 1) == [1]
    assert stream.next(timeout_s=0.3) is None
    stream.close()
    assert not started
