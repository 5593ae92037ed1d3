"""Output that is one JSON object over many lines: read once it is whole, and never taken for more than it is."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from inspan.model.content import MessageChunk, Noise, ProtocolFault
from inspan.model.headless import HeadlessSettings, LineRule
from inspan.model.records import EndRule, RecordRule, TextRule, UsageRule
from inspan.model.reports import PromptAnswered, Reported, SessionReady
from inspan.model.turn import TurnOutcome
from inspan.transports.headless import HeadlessMachine
from inspan.transports.machine import HarnessEnd
from support.headless_rules import settings

DOCUMENT = HeadlessSettings(
    output="document",
    lines=(LineRule(pattern="Error: ", means="error"),),
    records=(
        RecordRule(session="meta.session"),
        RecordRule(each="payloads", text=TextRule(path="text")),
        RecordRule(usage=UsageRule(kind="turn", input="usage.in", output="usage.out")),
        RecordRule(when={"ok": True}, ends=EndRule(otherwise=TurnOutcome.COMPLETED)),
    ),
)
OUTPUT: dict[str, Any] = {
    "ok": True,
    "payloads": [{"text": "one"}, {"text": "two"}],
    "meta": {"session": "s-1"},
    "usage": {"in": 3, "out": 4},
}
TEXT = json.dumps(OUTPUT, indent=2).encode() + b"\n"


def run(*pieces: bytes, exit_code: int = 0, restarts: bool = False) -> list[Reported]:
    """All that is said of a run; `restarts` makes the machine anew after each piece, and feeds what was not used."""
    how = settings(headless=DOCUMENT)
    machine = HeadlessMachine(how)
    reports = [*machine.start().reports, *machine.prompt("d1", "hello").reports]
    unused = b""
    for piece in pieces:
        unused += piece
        step = machine.feed(piece if not restarts else unused)
        reports += step.reports
        unused = unused[step.consumed :]
        if restarts:
            machine = HeadlessMachine(how, snapshot=machine.snapshot())
    if restarts:
        machine.feed(unused)
    reports += machine.finish().reports
    return [*reports, *machine.end(HarnessEnd(exit_code=exit_code)).reports]


def of(kind: type[Any], reports: list[Reported]) -> list[Any]:
    return [one.body for one in reports if isinstance(one.body, kind)]


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(
    "output",
    [TEXT, TEXT.rstrip(), json.dumps(OUTPUT).encode(), b"a banner\n" + TEXT, TEXT + b"goodbye\n"],
    ids=["lines", "no newline", "one line", "after a banner", "before a farewell"],
)
def test_an_object_over_many_lines_is_one_record_in_whatever_pieces_it_comes(
    output: bytes, restarts: bool
) -> None:
    half = len(output) // 2

    reports = run(output[:half], output[half:], restarts=restarts)

    (answer,) = of(PromptAnswered, reports)
    assert (answer.outcome, answer.usage.input_tokens, answer.usage.output_tokens) == ("completed", 3, 4)
    assert [one.text for one in of(MessageChunk, reports)] == ["one", "two"]
    assert [one.session_id for one in of(SessionReady, reports)] == ["s-1"]
    assert of(ProtocolFault, reports) == []
    assert len(of(Noise, reports)) == (b"banner" in output or b"goodbye" in output)


def test_an_object_that_was_cut_is_a_fault_and_no_success() -> None:
    reports = run(TEXT[:-20])

    (answer,) = of(PromptAnswered, reports)
    assert (answer.outcome, answer.error.code) == ("failed", "harness_exited")
    assert [one.code for one in of(ProtocolFault, reports)] == ["truncated"]
    assert of(MessageChunk, reports) == []


def test_words_instead_of_the_object_are_the_error_where_the_exit_says_that_it_failed() -> None:
    reports = run(b"Error: no such model\n", exit_code=1)

    (answer,) = of(PromptAnswered, reports)
    assert (answer.outcome, answer.error.message) == ("failed", "Error: no such model")


def test_an_output_over_the_cap_is_dropped_and_said_once() -> None:
    reports = run(b"{\n", b" " * 3000, b"}\n")

    assert [(one.code, one.fatal) for one in of(ProtocolFault, reports)] == [("frame_too_large", True)]


def test_an_object_that_nests_too_deep_is_a_fault() -> None:
    how = msgspec.structs.replace(settings(headless=DOCUMENT), frame_cap_bytes=100_000)
    machine = HeadlessMachine(how)
    machine.start()
    machine.prompt("d1", "hello")

    machine.feed(b'{"a":' * 900 + b"1" + b"}" * 900)

    assert [one.code for one in of(ProtocolFault, list(machine.finish().reports))] == ["bad_message"]
