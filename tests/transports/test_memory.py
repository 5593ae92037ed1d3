"""The scripted transport says what it is fed, writes what it is told, and survives a restart."""

from __future__ import annotations

import json

import pytest

from inspan.model.content import MessageChunk, Noise, ProtocolFault
from inspan.model.errors import UsageError
from inspan.model.evidence import Source
from inspan.model.permission import ToolCall
from inspan.model.plan import TransportSettings
from inspan.model.reports import PermissionRequested, PromptAnswered, Reported, SessionReady
from inspan.model.session import OpenedHow
from inspan.model.turn import TurnOutcome
from inspan.transports import TRANSPORTS, open_machine
from inspan.transports.memory import MemoryMachine, encode_reports

SETTINGS = TransportSettings(workspace="/w")


def reported(body: object) -> Reported:
    """A report of the protocol."""
    return Reported(body=body, source=Source.PROTOCOL, rule="test", session="s")  # pyright: ignore[reportArgumentType]


def test_every_transport_can_be_opened_by_its_name() -> None:
    for name in TRANSPORTS:
        machine = open_machine(name, SETTINGS)
        again = open_machine(name, SETTINGS, machine.snapshot())
        assert again.snapshot() == machine.snapshot()


def test_an_unknown_transport_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="carrier-pigeon"):
        open_machine("carrier-pigeon", SETTINGS)


def test_the_memory_transport_says_what_it_is_fed_in_any_pieces() -> None:
    said = (
        reported(SessionReady(session_id="s", how=OpenedHow.NEW)),
        reported(MessageChunk(role="agent", text="hi")),
    )
    data = encode_reports(*said)
    machine = MemoryMachine(SETTINGS)

    first, second = machine.feed(data[:10]), machine.feed(data[10:])

    assert (first.reports, first.consumed) == ((), 0)
    assert (second.reports, second.consumed) == (said, len(data))


def test_what_the_memory_transport_cannot_read_is_noise_and_a_cut_line_is_a_fault() -> None:
    machine = MemoryMachine(SETTINGS)

    (noise,) = machine.feed(b"hello\n[").reports
    (fault,) = machine.finish().reports

    assert noise.body == Noise(lines=1, sample="hello")
    assert isinstance(fault.body, ProtocolFault)


def test_the_memory_transport_writes_prompts_cancels_and_answers_once() -> None:
    machine = MemoryMachine(SETTINGS)
    asked = PermissionRequested(wire_id="7", tool_call=ToolCall(id="t"), options=())

    steps = [machine.start(), machine.cancel(), machine.prompt("d1", "do it"), machine.cancel()]
    machine.feed(encode_reports(reported(asked)))
    restored = MemoryMachine(SETTINGS, snapshot=machine.snapshot())
    steps += [restored.answer("7", "y"), restored.answer("7", "y")]
    done = PromptAnswered(delivery="d1", outcome=TurnOutcome.COMPLETED, raw_reason="end_turn")
    restored.feed(encode_reports(reported(done)))
    steps.append(restored.cancel())

    assert [json.loads(one.data) for step in steps for one in step.outgoing] == [
        {"op": "start", "attempt": "fresh", "session": None},
        {"op": "prompt", "delivery": "d1", "text": "do it"},
        {"op": "cancel"},
        {"op": "answer", "request": "7", "option": "y"},
    ]
    assert machine.prompts == [("d1", "do it")]


def test_the_memory_transport_goes_back_to_a_snapshot() -> None:
    machine = MemoryMachine(SETTINGS)
    before = machine.snapshot()
    machine.prompt("d1", "x")
    machine.feed(b"half")

    machine.rollback(before)

    assert machine.snapshot() == before
    assert not machine.finish().reports
