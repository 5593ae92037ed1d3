"""No bytes make the machine raise, pieces do not matter, and a restored machine goes on as the other would."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import inspan.harnesses
from inspan.conformance.recording import RecordedLine, read_recording
from inspan.model.content import Noise, ProtocolFault
from inspan.model.plan import TransportSettings
from inspan.model.reports import PermissionRequested, Reported
from inspan.transports.machine import HarnessEnd, Step
from inspan.transports.stream import StreamMachine
from inspan.transports.stream.templates import recognise
from support.stream_ground import DIALECTS, mode_of
from support.stream_talker import OPENING, SESSION, opened

Json = dict[str, Any]
every_dialect = pytest.mark.parametrize("dialect", sorted(DIALECTS))
RECORDINGS = [
    (dialect, file)
    for dialect, harness in sorted(DIALECTS.items())
    for file in sorted(
        (Path(inspan.harnesses.__file__).parent / harness / "recordings/stream").glob("*.jsonl")
    )
]
every_recording = pytest.mark.parametrize(
    ("dialect", "file"), RECORDINGS, ids=[f"{DIALECTS[dialect]}-{file.stem}" for dialect, file in RECORDINGS]
)
KEYS = st.sampled_from(
    [
        "id",
        "method",
        "params",
        "result",
        "error",
        "type",
        "success",
        "data",
        "subtype",
        "response",
        "request_id",
        "request",
        "message",
        "content",
        "text",
        "threadId",
        "turnId",
        "turn",
        "item",
        "status",
        "delta",
        "itemId",
        "availableDecisions",
        "tool_name",
        "input",
        "permission_suggestions",
        "session_id",
        "assistantMessageEvent",
        "stopReason",
        "usage",
        "aborted",
        "terminal_reason",
        "is_error",
        "requestId",
        "tokenUsage",
    ]
)
WORDS = st.sampled_from(
    [
        "turn/completed",
        "item/completed",
        "error",
        "response",
        "result",
        "control_request",
        "control_response",
        "can_use_tool",
        "init",
        "item/commandExecution/requestApproval",
        "extension_ui_request",
        "confirm",
        "select",
        "agent_settled",
        "message_end",
        "user",
        "assistant",
        "stream_event",
        "serverRequest/resolved",
        "thread/tokenUsage/updated",
        "userMessage",
        "t1",
        "1",
        "2",
        "3",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=20,
)


class Player:
    """Plays the lines of one recorded process, to a machine that may be another one after each piece."""

    def __init__(self, dialect: str, lines: list[RecordedLine], restarts_at: frozenset[int]) -> None:
        self.mode = mode_of(dialect)
        self.lines = lines
        self.restarts_at = restarts_at
        started = lines[0].message
        self.settings = TransportSettings(
            workspace="/demo/ws",
            attempt=started["started"],
            session_id=started.get("session") or started.get("chosen"),
            stream=self.mode.stream,
            config_options=self._options(),
        )
        self.machine = StreamMachine(self.settings)
        self.reports: list[Reported] = []
        self.written: list[Any] = []
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def play(self) -> None:
        self._take(self.machine.start())
        for index, line in enumerate(self.lines[1:]):
            if index in self.restarts_at:
                self.machine = StreamMachine(self.settings, snapshot=self.machine.snapshot())
            if line.direction == "<":
                self._feed(json.dumps(line.message).encode() + b"\n", is_cut=index in self.restarts_at)
            elif line.direction == ">":
                self._say(line)

    def recorded(self) -> list[Any]:
        """What the recorded client wrote."""
        return [line.message for line in self.lines if line.direction == ">"]

    def _options(self) -> dict[str, str]:
        """The options of the posture by which it was recorded, as the opening calls say them."""
        for line in self.lines:
            for rule in (*self.mode.stream.fresh, *self.mode.stream.resume, *self.mode.stream.fork):
                found = recognise(rule.write, line.message) if line.direction == ">" else None
                names = (
                    {}
                    if found is None
                    else {key[7:]: value for key, value in found.items() if key[:7] == "option."}
                )
                if names:
                    return names
        return {}

    def _feed(self, data: bytes, *, is_cut: bool) -> None:
        if not is_cut:
            self._take(self.machine.feed(data))
            return
        middle = len(data) // 2
        step = self.machine.feed(data[:middle])
        assert step.consumed == 0
        self._take(step)
        self.machine = StreamMachine(self.settings, snapshot=self.machine.snapshot())
        self._take(self.machine.feed(data))

    def _say(self, line: RecordedLine) -> None:
        rules, message = self.mode.stream, line.message
        if rules.prompt is not None and (found := recognise(rules.prompt.write, message)) is not None:
            self._take(self.machine.prompt(line.delivery or "d", str(found["prompt"])))
        elif rules.cancel is not None and recognise(rules.cancel.write, message) is not None:
            self._take(self.machine.cancel())
        elif message not in self.written:
            self._answer(message)

    def _answer(self, message: Json) -> None:
        for wire_id, options in self.asked:
            for option in (*options, None):
                before = self.machine.snapshot()
                step = self.machine.answer(wire_id, option)
                if [json.loads(one.data) for one in step.outgoing] == [message]:
                    self._take(step)
                    return
                self.machine.rollback(before)
        raise AssertionError(f"no option writes {message}")

    def _take(self, step: Step) -> None:
        self.reports += step.reports
        self.written += [json.loads(one.data) for one in step.outgoing]
        self.asked += [
            (one.body.wire_id, tuple(option.id for option in one.body.options))
            for one in step.reports
            if isinstance(one.body, PermissionRequested)
        ]


def launches(file: Path) -> list[list[RecordedLine]]:
    """The lines of each process of a recording, without the throwaway version of the client."""
    found: list[list[RecordedLine]] = []
    for line in read_recording(file):
        if line.direction == "!" and "started" in line.message:
            found.append([])
        found[-1].append(line)
    return found


def plain(message: Any) -> Any:
    """A message without the version of whoever recorded it."""
    text = json.dumps(message)
    if '"clientInfo"' in text:
        message["params"]["clientInfo"]["version"] = ""
    return message


@every_recording
def test_what_is_written_is_what_the_harness_was_seen_to_take(dialect: str, file: Path) -> None:
    for lines in launches(file):
        player = Player(dialect, lines, frozenset())
        player.play()
        assert [plain(one) for one in player.written] == [plain(one) for one in player.recorded()]


@every_recording
def test_no_record_of_a_real_conversation_is_noise_or_a_fault(dialect: str, file: Path) -> None:
    for lines in launches(file):
        player = Player(dialect, lines, frozenset())
        player.play()
        assert not [one for one in player.reports if isinstance(one.body, Noise | ProtocolFault)]


@every_recording
def test_a_machine_that_is_restored_anywhere_says_and_writes_the_same(dialect: str, file: Path) -> None:
    for lines in launches(file):
        whole = Player(dialect, lines, frozenset())
        whole.play()
        broken = Player(dialect, lines, frozenset(range(len(lines))))
        broken.play()
        assert broken.reports == whole.reports
        assert broken.written == whole.written


@every_dialect
@given(data=st.data())
def test_records_of_any_shape_raise_nothing_and_can_be_forgotten(dialect: str, data: st.DataObject) -> None:
    talker = opened(dialect)
    if data.draw(st.booleans()):
        talker.prompt()
    before = talker.machine.snapshot()
    for value in data.draw(st.lists(JSON, max_size=5)):
        try:
            line = msgspec.json.encode(value) + b"\n"
        except (UnicodeEncodeError, OverflowError, ValueError):
            continue
        step = talker.machine.feed(line)
        assert step.consumed == len(line)
        msgspec.json.encode([one.body for one in step.reports])
        talker.restore()
    talker.machine.rollback(before)
    assert talker.machine.snapshot() == before


@every_dialect
@given(data=st.data())
def test_bytes_of_any_kind_raise_nothing_and_pieces_do_not_matter(dialect: str, data: st.DataObject) -> None:
    known = [json.dumps(one).encode() + b"\n" for one in OPENING[dialect]]
    line = st.sampled_from(
        [*known, b"\n", b"x" * 20_000 + b"\n", b'{"type": "x"', b"[" * 900 + b"\n"]
    ) | st.binary(max_size=40)
    whole = b"".join(data.draw(st.lists(line, max_size=6)))
    cuts = sorted(data.draw(st.sets(st.integers(min_value=0, max_value=len(whole)), max_size=5)))
    ends = [0, *cuts, len(whole)]
    talker, other = opened(dialect), opened(dialect)
    at_once = talker.machine.feed(whole)
    steps = [other.machine.feed(whole[a:b]) for a, b in itertools.pairwise(ends)]
    assert sum(step.consumed for step in steps) == at_once.consumed
    end = HarnessEnd(exit_code=0)
    last = [*talker.machine.finish().reports, *talker.machine.end(end).reports]
    last_of_other = [*other.machine.finish().reports, *other.machine.end(end).reports]
    said = [one for step in steps for one in step.reports]
    assert _without_counts([*at_once.reports, *last]) == _without_counts([*said, *last_of_other])


def test_a_line_over_the_cap_is_dropped_and_said_once_across_a_restart() -> None:
    talker = opened("rpc")
    first = talker.feed(b'{"x": "' + b"x" * 20_000)
    talker.restore()
    rest = talker.feed(b"x" * 20_000, b'"}\n', b'{"method": "turn/started", "params": {}}\n')
    assert [getattr(one, "code", "") for one in first] == ["frame_too_large"]
    assert not [one for one in rest if getattr(one, "code", "")]
    assert talker.prompt()["params"]["threadId"] == SESSION


@every_dialect
def test_an_output_that_ends_within_a_record_is_told(dialect: str) -> None:
    talker = opened(dialect)
    talker.feed(b'{"type": "half')
    (fault,) = talker.end(HarnessEnd(exit_code=0))
    assert getattr(fault, "code", "") == "truncated"


@every_dialect
def test_a_last_record_without_its_newline_counts(dialect: str) -> None:
    talker = opened(dialect)
    talker.feed(b'{"type": "new", "method": "new", "params": {}}')
    (unknown,) = talker.end(HarnessEnd(exit_code=0))
    assert getattr(unknown, "kind", "") == "new"


def _without_counts(reports: list[Reported]) -> list[Any]:
    """Noise is told in as many reports as there are pieces: only that there was some is compared."""
    kept: list[Any] = []
    for one in reports:
        what = "noise" if isinstance(one.body, Noise) else one
        if not (what == "noise" and kept and kept[-1] == "noise"):
            kept.append(what)
    return kept
