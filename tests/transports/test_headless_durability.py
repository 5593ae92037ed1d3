"""No bytes make the machine raise, pieces do not matter, and a restored machine goes on as the other would."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.model.content import Noise
from inspan.model.headless import HeadlessSettings
from inspan.model.reports import PromptAnswered, Reported
from inspan.transports.headless import HeadlessMachine
from inspan.transports.machine import HarnessEnd
from support.headless_rules import BY_EXIT, RULES, TEXT, line, settings

CALL = {"type": "tool", "id": "c1", "name": "Shell", "input": {"command": "ls"}}
LINES = [
    line("init", session="s1", model="m"),
    line("begun"),
    line("say", words="Hel", message="m"),
    line("say", words="lo", message="n"),
    line("said", words="Hello", message="m"),
    line("blocks", content=[CALL, {"type": "text", "text": "x"}]),
    line("result_of", id="c1", failed=True),
    line("denied", id="c1"),
    line("step", **{"in": 5, "out": 1}),
    line("total", **{"in": 50}),
    line("retry", ms=10),
    line("error", message="no", status=429),
    line("recovered"),
    line("end", how="good"),
    line("end", how="bad", message="x"),
    line("late", session="s2"),
    line("brand-new"),
    b"a banner\n",
    b"\xff\xfe\n",
    b'{"type":"say","words":"\\ud800"}\n',
    b"x" * 3000,
    b"\n",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ("type", "words", "id", "session", "content", "input", "status", "message", "ms", "how")
            )
            | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
KINDS = st.sampled_from(
    ("init", "say", "blocks", "denied", "step", "error", "end", "retry", "result_of", "total", "late")
)


@st.composite
def odd_record(draw: st.DrawFn) -> bytes:
    """A record of a known kind with members of any shape."""
    members = draw(st.dictionaries(st.sampled_from(("words", "id", "content", "session", "ms", "in")), JSON))
    try:
        return msgspec.json.encode({**members, "type": draw(KINDS)}) + b"\n"
    except (UnicodeEncodeError, msgspec.EncodeError, ValueError, OverflowError):
        return b"{}\n"


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A line with a piece replaced by other bytes."""
    whole = draw(st.sampled_from(LINES))
    start = draw(st.integers(min_value=0, max_value=len(whole)))
    end = draw(st.integers(min_value=start, max_value=min(len(whole), start + 8)))
    return whole[:start] + draw(st.binary(max_size=8)) + whole[end:]


FED = st.lists(st.sampled_from(LINES) | odd_record() | damaged() | st.binary(max_size=20), max_size=12)
HEADLESS = st.sampled_from((RULES, BY_EXIT, TEXT))
END = st.builds(
    HarnessEnd,
    exit_code=st.none() | st.integers(0, 255),
    signal=st.none() | st.sampled_from((9, 15)),
    stderr_tail=st.text(max_size=20),
)


def opened(headless: HeadlessSettings) -> HeadlessMachine:
    machine = HeadlessMachine(settings(headless))
    machine.start()
    machine.prompt("d1", "hello")
    return machine


def merged(reports: list[Reported]) -> list[Reported]:
    """Reports without what depends on where the pieces were cut: how many lines of noise came at once."""
    return [one for one in reports if not isinstance(one.body, Noise)]


@given(HEADLESS, FED, END)
def test_no_bytes_make_it_raise_and_everything_it_says_can_be_stored(
    headless: HeadlessSettings, fed: list[bytes], end: HarnessEnd
) -> None:
    machine = opened(headless)
    reports: list[Reported] = []
    used = 0
    for piece in fed:
        step = machine.feed(piece)
        reports += step.reports
        used += step.consumed
    step = machine.finish()
    reports += step.reports
    assert used + step.consumed <= sum(map(len, fed))
    reports += machine.end(end).reports
    assert sum(isinstance(one.body, PromptAnswered) for one in reports) <= 1
    for one in reports:
        assert msgspec.json.decode(msgspec.json.encode(one), type=Reported) == one
    HeadlessMachine(settings(headless), snapshot=machine.snapshot())


@given(HEADLESS, FED, st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_pieces_do_not_matter(headless: HeadlessSettings, fed: list[bytes], sizes: list[int]) -> None:
    data = b"".join(fed)
    whole, cut = opened(headless), opened(headless)
    expected = merged([*whole.feed(data).reports, *whole.finish().reports])
    said: list[Reported] = []
    start, index = 0, 0
    while start < len(data):
        size = sizes[index % len(sizes)]
        said += cut.feed(data[start : start + size]).reports
        start, index = start + size, index + 1
    said += cut.finish().reports
    assert merged(said) == expected
    assert cut.snapshot() == whole.snapshot()


@given(HEADLESS, FED, st.lists(st.integers(1, 40), min_size=1, max_size=6), st.booleans())
def test_a_machine_that_is_restored_at_any_step_goes_on_as_the_other(
    headless: HeadlessSettings, fed: list[bytes], sizes: list[int], rolls_back: bool
) -> None:
    data = b"".join(fed)
    whole, other = opened(headless), opened(headless)
    expected = merged([*whole.feed(data).reports, *whole.finish().reports])
    said: list[Reported] = []
    offset, fed_to, index = 0, 0, 0
    while fed_to < len(data):
        snapshot = other.snapshot()
        if rolls_back:
            other.feed(data[fed_to:])
            other.rollback(snapshot)
        else:
            other = HeadlessMachine(settings(headless), snapshot=snapshot)
        fed_to = min(len(data), max(fed_to, offset) + sizes[index % len(sizes)])
        step = other.feed(data[offset:fed_to])
        said += step.reports
        offset += step.consumed
        index += 1
    said += other.finish().reports
    assert merged(said) == expected


@pytest.mark.parametrize("headless", [RULES, BY_EXIT, TEXT])
def test_an_empty_output_uses_nothing(headless: HeadlessSettings) -> None:
    machine = opened(headless)
    assert machine.feed(b"").consumed == 0
    assert machine.finish().consumed == 0
