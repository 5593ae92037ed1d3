"""No bytes make the machine raise, pieces do not matter, and a restored machine goes on as the other would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from inspan.model.content import Noise
from inspan.model.manifest import AcpSettings
from inspan.model.permission import ToolCall
from inspan.model.plan import TransportSettings
from inspan.model.reports import PermissionRequested, Reported
from inspan.transports.acp import AcpMachine
from inspan.transports.machine import Step
from support.acp_peer import SESSION, chunk, line, update

RECORDINGS = sorted((Path(__file__).parents[2] / "src/inspan/harnesses").glob("*/recordings/acp.jsonl"))


def recorded_lines() -> list[bytes]:
    """What the recorded harnesses wrote, under the session id that the tests use."""
    found: list[bytes] = []
    for path in RECORDINGS:
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            message = row["msg"]
            if row["dir"] == "<" and len(json.dumps(message)) < 4000:
                if "sessionId" in message.get("params", {}):
                    message["params"]["sessionId"] = SESSION
                found.append(line(message))
    return found


def result(number: int, value: object) -> bytes:
    """An answer to our call of this number."""
    return line({"jsonrpc": "2.0", "id": number, "result": value})


OPENING = (
    result(1, {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}),
    chunk("old", kind="user_message_chunk"),
    chunk("old answer"),
    result(2, {"modes": {"currentModeId": "ask", "availableModes": [{"id": "ask"}, {"id": "edits"}]}}),
    result(3, {}),
)
OPENING_LINES = [one if isinstance(one, bytes) else line(one) for one in OPENING]
OPENINGS = {
    "not at all": [],
    "after a replay": OPENING_LINES,
    "without a replay": [OPENING_LINES[0], *OPENING_LINES[3:]],
}
OPENED = st.sampled_from(sorted(OPENINGS))
TOOL = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "run"}
PERMISSION = {
    "sessionId": SESSION,
    "toolCall": {"toolCallId": "t"},
    "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}],
}
MESSAGES = [
    *OPENING_LINES,
    line(chunk("live")),
    line(chunk("words", kind="user_message_chunk")),
    line(chunk("x", session="other")),
    line(update(TOOL)),
    line(update({**TOOL, "sessionUpdate": "tool_call_update", "status": "completed"})),
    line(update({"sessionUpdate": "available_commands_update", "availableCommands": []})),
    line(update({"sessionUpdate": "current_mode_update", "currentModeId": "ask"})),
    line({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": PERMISSION}),
    line({"jsonrpc": "2.0", "id": "0", "method": "session/request_permission", "params": PERMISSION}),
    line({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 0}}),
    line({"jsonrpc": "2.0", "id": 5, "method": "fs/read_text_file", "params": {}}),
    *(result(number, {"stopReason": "end_turn"}) for number in range(4, 8)),
    line({"jsonrpc": "2.0", "id": 5, "error": {"code": -32603, "message": "no"}}),
    line([chunk("in a batch"), chunk("and another")]),
    b"log line\n",
    b"\xff\n",
    b"x" * 3000 + b"\n",
    b"x" * 3000,
    b"\n",
]
RECORDED = recorded_lines()
CALLS: tuple[tuple[str, ...], ...] = (
    ("prompt",),
    ("cancel",),
    ("answer", "0", "y"),
    ("answer", '"0"', ""),
    ("answer", "7", "y"),
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A message with a piece replaced by other bytes."""
    whole = draw(st.sampled_from(MESSAGES) | st.sampled_from(RECORDED))
    start = draw(st.integers(min_value=0, max_value=len(whole)))
    end = draw(st.integers(min_value=start, max_value=min(len(whole), start + 8)))
    return whole[:start] + draw(st.binary(max_size=8)) + whole[end:]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(("jsonrpc", "id", "method", "params", "result", "error", "update", "sessionId"))
            | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
FED = st.one_of(
    st.sampled_from(MESSAGES),
    st.sampled_from(MESSAGES),
    st.sampled_from(RECORDED),
    damaged(),
    st.binary(max_size=40),
    JSON.map(lambda value: json.dumps(value).encode() + b"\n"),
)
ACTIONS = st.lists(st.one_of(FED, FED, FED, st.sampled_from(CALLS)), max_size=24)
SETTINGS = TransportSettings(
    workspace="/w",
    attempt="resume",
    session_id=SESSION,
    session_mode="edits",
    acp=AcpSettings(replay_after_answer=True),
    frame_cap_bytes=2500,
)


class Core:
    """Does with a machine what core does: keeps what a step gives, and its snapshot only where it changed."""

    def __init__(self, *, opens: str) -> None:
        self.machine = AcpMachine(SETTINGS)
        self.journal = b""
        self.offset = 0
        self.reports: list[Reported] = []
        self.written: list[bytes] = []
        self.snapshot = self.machine.snapshot()
        self.deliveries = 0
        self.keep(self.machine.start())
        for one in OPENINGS[opens]:
            self.act(one)

    def keep(self, step: Step) -> None:
        """Makes a step durable."""
        self.offset += step.consumed
        self.reports += step.reports
        self.written += [one.data for one in step.outgoing]
        if step.changed:
            self.snapshot = self.machine.snapshot()
        assert self.machine.snapshot() == self.snapshot

    def perform(self, action: bytes | tuple[str, ...]) -> Step:
        """Lets the machine do something, and keeps nothing of it."""
        if isinstance(action, bytes):
            return self.machine.feed(action)
        match action:
            case ("prompt",):
                return self.machine.prompt(f"d{self.deliveries}", "hello")
            case ("cancel",):
                return self.machine.cancel()
            case (_, wire_id, option):
                return self.machine.answer(wire_id, option or None)
            case _:
                raise AssertionError(action)

    def act(self, action: bytes | tuple[str, ...]) -> None:
        """Lets the machine do something, and keeps it. A prompt waits for a ready session."""
        if isinstance(action, bytes):
            self.journal += action
        elif action == ("prompt",):
            if json.loads(self.machine.snapshot()).get("phase") != "ready":
                return
            self.deliveries += 1
        self.keep(self.perform(action))

    def crash(self) -> None:
        """Dies, and goes on with what was durable."""
        self.machine = AcpMachine(SETTINGS, snapshot=self.snapshot)
        self.keep(self.machine.feed(self.journal[self.offset :]))

    def said(self) -> tuple[list[Any], list[bytes]]:
        """Everything that was reported and written, without what a restart may change.

        Pieces may cut a run of noise in two, and a restart forgets the details of running tool calls.
        """
        found: list[Any] = []
        for report in self.reports:
            body = report.body
            if isinstance(body, Noise) and found and isinstance(found[-1], Noise):
                found[-1] = msgspec.structs.replace(found[-1], lines=found[-1].lines + body.lines)
            elif isinstance(body, Noise):
                found.append(body)
            elif isinstance(body, PermissionRequested):
                found.append(msgspec.structs.replace(body, tool_call=ToolCall(id=body.tool_call.id)))
            else:
                found.append(report)
        return found, self.written


def played(actions: list[Any], *, opens: str) -> Core:
    """A core that did all of it and never crashed."""
    core = Core(opens=opens)
    for action in actions:
        core.act(action)
    return core


def test_the_recordings_are_there() -> None:
    assert len(RECORDINGS) >= 2
    assert len(RECORDED) > 150


@given(ACTIONS, OPENED)
def test_no_bytes_make_the_machine_raise_and_all_that_it_says_can_be_written(
    actions: list[Any], opens: str
) -> None:
    core = played(actions, opens=opens)
    core.keep(core.machine.finish())

    assert core.offset == len(core.journal)
    said = tuple(core.reports)
    assert msgspec.json.decode(msgspec.json.encode(said), type=tuple[Reported, ...]) == said


@given(ACTIONS, OPENED, st.integers(min_value=1, max_value=50))
def test_pieces_do_not_matter(actions: list[Any], opens: str, size_bytes: int) -> None:
    pieces: list[Any] = []
    for action in actions:
        if isinstance(action, bytes):
            pieces += [action[at : at + size_bytes] for at in range(0, len(action), size_bytes)]
        else:
            pieces.append(action)

    assert played(pieces, opens=opens).said() == played(actions, opens=opens).said()


@given(ACTIONS, OPENED, st.data())
def test_a_machine_that_is_restored_anywhere_goes_on_as_the_other_would(
    actions: list[Any], opens: str, data: st.DataObject
) -> None:
    core = Core(opens=opens)
    for action in actions:
        core.act(action)
        if data.draw(st.booleans()):
            core.crash()

    assert core.said() == played(actions, opens=opens).said()


@given(ACTIONS, OPENED)
def test_a_step_that_was_rolled_back_can_be_done_again(actions: list[Any], opens: str) -> None:
    core = Core(opens=opens)
    for action in actions:
        if isinstance(action, bytes):
            core.perform(action)
            core.machine.rollback(core.snapshot)
            core.keep(core.machine.feed(core.journal[core.offset :]))
        core.act(action)

    assert core.said() == played(actions, opens=opens).said()
