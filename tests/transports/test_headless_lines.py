"""Lines of plain text: noise, errors that the exit status confirms, and answers that only look like one."""

from __future__ import annotations

import msgspec
import pytest

from inspan.model.content import MessageChunk, Noise
from inspan.model.headless import ExitCode, HeadlessSettings, LineRule
from inspan.model.plan import Attempt
from inspan.model.reports import PromptAnswered, PromptStarted, Reported, SessionFailed
from inspan.model.turn import TurnOutcome
from inspan.transports.headless import HeadlessMachine
from inspan.transports.machine import HarnessEnd
from support.headless_rules import BY_EXIT, TEXT, line, settings

LINES = (
    LineRule(pattern="warning: ", means="noise"),
    LineRule(pattern=r"Error code: (\d{3})\b", means="error"),
    LineRule(pattern="No such session|Error", means="error"),
)
IN_TEXT = msgspec.structs.replace(TEXT, lines=LINES)
IN_RECORDS = msgspec.structs.replace(BY_EXIT, lines=LINES)


def run(
    *lines: bytes, exit_code: int, headless: HeadlessSettings, attempt: Attempt = "fresh"
) -> list[Reported]:
    """All that is said of a run, with a machine that is made anew from its snapshot before the end."""
    how = settings(headless=headless, attempt=attempt)
    machine = HeadlessMachine(how)
    reports = [*machine.start().reports, *machine.prompt("d1", "hello").reports]
    reports += machine.feed(b"".join(lines)).reports
    reports += machine.finish().reports
    machine = HeadlessMachine(how, snapshot=machine.snapshot())
    return [*reports, *machine.end(HarnessEnd(exit_code=exit_code)).reports]


def bodies(reports: list[Reported], kind: type) -> list[object]:
    return [one.body for one in reports if isinstance(one.body, kind)]


def answer_of(reports: list[Reported]) -> PromptAnswered:
    (answer,) = bodies(reports, PromptAnswered)
    assert isinstance(answer, PromptAnswered)
    return answer


@pytest.mark.parametrize("headless", [IN_TEXT, IN_RECORDS])
@pytest.mark.parametrize(
    ("said", "code", "status"),
    [
        (b"Error code: 429 - {'error': ...\n", "limited", 429),
        (b"Error code: 401\n", "auth_required", 401),
        (b"Error: who knows\n", "call_failed", None),
    ],
)
def test_a_line_that_says_an_error_is_the_error_of_a_run_that_failed(
    headless: HeadlessSettings, said: bytes, code: str, status: int | None
) -> None:
    answer = answer_of(run(said, b"Error: and more of it\n", exit_code=1, headless=headless))
    assert answer.outcome is TurnOutcome.FAILED
    assert answer.error is not None
    assert (answer.error.code, answer.error.raw_code) == (code, status)
    assert answer.error.message == said.decode().strip()


def test_a_line_that_looks_like_an_error_is_an_answer_where_the_run_went_well() -> None:
    reports = run(b"Error code: 429 is what they send\n", exit_code=0, headless=IN_TEXT)
    assert answer_of(reports).outcome is TurnOutcome.COMPLETED
    assert bodies(reports, PromptStarted) == [PromptStarted(delivery="d1")]
    assert bodies(reports, MessageChunk) == [
        MessageChunk(role="agent", text="Error code: 429 is what they send\n")
    ]


def test_noise_is_no_part_of_an_answer_and_no_witness() -> None:
    reports = run(b"  warning: no scanner\n", exit_code=0, headless=IN_TEXT)
    assert bodies(reports, MessageChunk) == bodies(reports, PromptStarted) == []
    assert len(bodies(reports, Noise)) == 1
    answer = answer_of(reports)
    assert answer.error is not None
    assert answer.error.code == "harness_exited"


def test_an_error_before_any_work_leaves_the_prompt_of_a_resumed_run_declined() -> None:
    reports = run(b"No such session: x\n", exit_code=1, headless=IN_TEXT, attempt="resume")
    assert answer_of(reports).declined
    assert len(bodies(reports, SessionFailed)) == 1


def test_the_exit_status_says_what_a_line_leaves_open() -> None:
    code = ExitCode(status=75, code="limited", title="Over", remedy="Wait.")
    headless = msgspec.structs.replace(IN_TEXT, exit_codes=(code,))
    answer = answer_of(run(b"Error: odd\n", exit_code=75, headless=headless))
    assert answer.error is not None
    assert (answer.error.code, answer.error.message) == ("limited", "Error: odd")


def test_a_record_is_no_line() -> None:
    reports = run(line("say", words="Error code: 429"), exit_code=1, headless=IN_RECORDS)
    answer = answer_of(reports)
    assert answer.error is not None
    assert answer.error.code == "harness_exited"
