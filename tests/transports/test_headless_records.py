"""What the records of a one-shot run mean, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from inspan.model.content import (
    ConfigUpdated,
    MessageChunk,
    Noise,
    PermissionDenied,
    ProtocolFault,
    ToolCallUpdated,
    UnknownUpdate,
)
from inspan.model.errors import UsageError
from inspan.model.evidence import Source
from inspan.model.reports import (
    PromptAnswered,
    PromptReady,
    PromptStarted,
    SessionFailed,
    SessionReady,
    WillRetry,
)
from inspan.model.session import OpenedHow, ResumeOutcome
from inspan.model.turn import CallError, TurnOutcome, Usage, UsageKind
from inspan.transports.headless import HeadlessMachine
from inspan.transports.machine import Step
from support.headless_rules import TEXT, line, settings

TOOL = {"type": "tool", "id": "c1", "name": "Shell", "input": {"command": "ls -l"}}


def begun(*lines: bytes, **how: Any) -> HeadlessMachine:
    """A machine with its prompt, that has heard some lines."""
    machine = HeadlessMachine(settings(**how))
    machine.start()
    machine.prompt("d1", "hello")
    machine.feed(b"".join(lines))
    return machine


def bodies(step: Step) -> list[Any]:
    return [one.body for one in step.reports]


def said(*lines: bytes, **how: Any) -> list[Any]:
    """What the last of the lines says."""
    return bodies(begun(*lines[:-1], **how).feed(lines[-1]))


def test_it_takes_its_prompt_at_once_and_once() -> None:
    machine = HeadlessMachine(settings())
    (ready,) = machine.start().reports
    assert (ready.body, ready.source) == (PromptReady(), Source.PROCESS)
    (outgoing,) = machine.prompt("d1", "-- hello\n").outgoing
    assert (outgoing.data, outgoing.purpose, outgoing.delivery) == (b"-- hello\n", "prompt", "d1")
    with pytest.raises(UsageError, match="its prompt already"):
        machine.prompt("d2", "again")


def test_no_prompt_is_taken_before_the_process_runs() -> None:
    with pytest.raises(UsageError):
        HeadlessMachine(settings()).prompt("d1", "hello")


@pytest.mark.requirement("H-A26", "H-D2")
def test_the_session_is_the_first_that_a_record_names() -> None:
    machine = begun()
    assert bodies(machine.feed(line("init", session="s1"))) == [
        SessionReady(session_id="s1", how=OpenedHow.NEW)
    ]
    assert bodies(machine.feed(line("late", session="s2"))) == []
    (report,) = machine.feed(line("think", words="hm")).reports[-1:]
    assert report.session == "s1"


def test_a_resume_that_answers_under_another_id_says_so() -> None:
    reports = said(line("init", session="s2"), attempt="resume", session="s1")
    assert isinstance(reports[0], ProtocolFault)
    assert (reports[0].code, reports[0].fatal) == ("session_changed", False)
    assert reports[1] == SessionReady(session_id="s2", how=OpenedHow.RESUMED)


def test_what_is_in_force_is_said_as_the_harness_says_it() -> None:
    assert said(line("init", model="model-1")) == [ConfigUpdated(values={"model": "model-1"})]


def test_words_are_said_and_witness_the_turn_once() -> None:
    machine = begun()
    assert bodies(machine.feed(line("say", words="Hel", message="m"))) == [
        PromptStarted(delivery="d1"),
        MessageChunk(role="agent", text="Hel", message_id="m"),
    ]
    assert bodies(machine.feed(line("say", words="lo", message="m"))) == [
        MessageChunk(role="agent", text="lo", message_id="m")
    ]
    assert bodies(machine.feed(line("think", words="hm"))) == [MessageChunk(role="thought", text="hm")]


def test_a_message_that_comes_whole_after_its_pieces_is_said_once() -> None:
    whole = line("said", words="Hello", message="m")
    assert said(line("say", words="Hello", message="m"), whole) == []
    assert said(line("say", words="other", message="n"), whole) == [
        MessageChunk(role="agent", text="Hello", message_id="m")
    ]


def test_a_prompt_is_witnessed_by_the_record_that_says_so() -> None:
    assert said(line("begun")) == [PromptStarted(delivery="d1")]
    assert said(line("begun"), line("begun")) == []


def test_blocks_are_read_each_by_its_kind_and_a_condition_may_exclude_them() -> None:
    content = [{"type": "text", "text": "I look."}, TOOL, "stray", {"type": "else"}]
    assert said(line("begun"), line("blocks", message="m", content=content)) == [
        ToolCallUpdated(
            id="c1", title="Shell: ls -l", kind="execute", status="pending", raw_input=TOOL["input"]
        ),
        MessageChunk(role="agent", text="I look.", message_id="m"),
    ]
    assert said(line("begun"), line("blocks", is_error=True, content=content[:1])) == []


@pytest.mark.parametrize(("failed", "status"), [(True, "failed"), (False, "completed"), (None, "completed")])
def test_a_tool_call_ends_under_its_id(failed: bool | None, status: str) -> None:
    reports = said(line("blocks", content=[TOOL]), line("result_of", id="c1", failed=failed, output="x"))
    assert reports == [ToolCallUpdated(id="c1", status=status, raw_output="x")]


@pytest.mark.requirement("H-F3")
def test_a_denial_names_the_exact_rule_its_file_and_that_others_share_it() -> None:
    reports = said(line("blocks", content=[TOOL]), line("denied", id="c1", why="nobody there"))
    assert reports == [
        PermissionDenied(
            tool="Shell",
            title="Shell: ls -l",
            call="c1",
            reason="nobody there",
            rule="Shell(ls -l)",
            settings="~/.made-up/settings.json",
            is_shared=True,
        )
    ]


def test_a_denial_that_is_told_twice_is_said_once() -> None:
    denied = line("denied", id="c1")
    assert said(line("blocks", content=[TOOL]), denied, denied) == []


def test_a_denial_of_an_unknown_call_invents_nothing() -> None:
    (report,) = said(line("begun"), line("denied", id="c9"))
    assert (report.tool, report.title, report.rule) == ("", "", "")


def test_a_wait_for_another_attempt_is_said_with_its_length() -> None:
    retry = line("retry", ms=60000, attempt=1, of=10, why="429")
    assert said(line("begun"), retry) == [WillRetry(delay_s=60.0, reason="429", attempt=1, limit=10)]


def test_a_wait_of_absurd_length_is_bounded() -> None:
    (report,) = said(line("begun"), line("retry", ms=10**18))
    assert report.delay_s == 86400.0


@pytest.mark.requirement("H-B18")
def test_a_result_record_ends_the_turn() -> None:
    (answer,) = said(line("begun"), line("end", how="good", reason="done"))
    assert answer == PromptAnswered(
        delivery="d1", outcome=TurnOutcome.COMPLETED, raw_reason="done", model_wrote=False
    )


@pytest.mark.parametrize(
    ("how", "outcome"),
    [
        ("stopped", TurnOutcome.CANCELLED),
        ("no", TurnOutcome.REFUSED),
        ("bad", TurnOutcome.FAILED),
        ("new", TurnOutcome.COMPLETED),
    ],
)
def test_the_outcome_is_mapped_as_the_manifest_says(how: str, outcome: TurnOutcome) -> None:
    (answer,) = said(line("begun"), line("end", how=how))
    assert (answer.outcome, answer.raw_reason) == (outcome, how)


def test_a_success_that_says_that_it_is_an_error_is_an_error() -> None:
    (answer,) = said(line("begun"), line("end", how="good", is_error=True, message="no", status=429))
    assert answer.outcome is TurnOutcome.FAILED
    assert (answer.error.code, answer.error.message, answer.error.raw_code) == ("limited", "no", 429)


@pytest.mark.parametrize(
    ("status", "code"),
    [(401, "auth_required"), ("403", "auth_required"), (429, "limited"), (500, "call_failed")],
)
def test_an_error_is_classified_by_its_status_first(status: int | str, code: str) -> None:
    (answer,) = said(line("error", message="x", status=status, data={"a": 1}), line("end", how="new"))
    assert answer.outcome is TurnOutcome.FAILED
    assert (answer.error.code, answer.error.raw) == (code, {"a": 1})


def test_an_error_that_the_harness_got_over_does_not_end_the_turn_badly() -> None:
    (answer,) = said(line("begun"), line("error", message="x"), line("recovered"), line("end", how="new"))
    assert (answer.outcome, answer.error) == (TurnOutcome.COMPLETED, None)


def test_an_outcome_that_is_said_plainly_counts_more_than_an_error_before_it() -> None:
    (answer,) = said(line("begun"), line("error", message="x"), line("end", how="good"))
    assert (answer.outcome, answer.error) == (TurnOutcome.COMPLETED, None)


def test_a_failure_keeps_the_error_that_was_said_before_where_it_carries_none() -> None:
    (answer,) = said(line("begun"), line("error", detail={"deep": True}), line("end", how="bad"))
    assert answer.error == CallError(code="call_failed", message='{"deep":true}')


def test_a_turn_ends_once() -> None:
    assert said(line("end", how="good"), line("end", how="bad")) == []


def test_tokens_of_steps_are_added_up_and_others_are_taken_as_they_are() -> None:
    (answer,) = said(line("step", **{"in": 1, "out": 2}), line("step", **{"in": 10}), line("end", how="good"))
    assert answer.usage == Usage(kind=UsageKind.TURN, input_tokens=11, output_tokens=2)
    (answer,) = said(
        line("total", **{"in": 1, "out": 2}), line("total", **{"in": 10, "out": 4}), line("end", how="good")
    )
    assert answer.usage == Usage(kind=UsageKind.CUMULATIVE, input_tokens=10, output_tokens=4)


@pytest.mark.requirement("H-N25")
def test_a_resume_that_fails_before_its_session_is_named_is_declined_and_opens_nothing() -> None:
    end = line("end", how="bad", message="no such conversation")
    answer, failed = said(end, attempt="resume", session="s1")
    assert (answer.declined, answer.error.message) == (True, "no such conversation")
    assert (failed.outcome, failed.error) == (ResumeOutcome.FAILED, answer.error)
    assert isinstance(failed, SessionFailed)


def test_an_error_that_follows_a_cancel_is_the_cancel() -> None:
    machine = begun(line("say", words="slow"))
    assert machine.cancel().changed
    (answer,) = bodies(machine.feed(line("end", how="bad", message="killed")))
    assert (answer.outcome, answer.error, answer.raw_reason) == (TurnOutcome.CANCELLED, None, "bad")


def test_what_no_rule_knows_is_kept_as_it_came() -> None:
    assert said(line("begun"), line("brand-new", a=[1])) == [
        UnknownUpdate(kind="brand-new", raw={"type": "brand-new", "a": [1]})
    ]
    assert said(line("begun"), line("chatter", a=1)) == []


def test_lines_that_are_no_records_are_noise_and_harm_nothing() -> None:
    assert said(b"a banner\n[1,2]\n\n") == [Noise(lines=2, sample="a banner")]


def test_damaged_text_in_a_record_is_mended() -> None:
    reports = said(line("begun"), b'{"type":"say","words":"a\xffb\\ud800"}\n')
    assert reports == [MessageChunk(role="agent", text="a\ufffdb\ufffd")]


def test_a_line_over_the_cap_ends_the_run() -> None:
    (fault,) = said(b"x" * 2001 + b"\n")
    assert (fault.code, fault.fatal) == ("frame_too_large", True)


def test_a_record_that_nests_too_deep_is_a_fault() -> None:
    (fault,) = said(b'{"a":' * 300 + b"1" + b"}" * 300 + b"\n")
    assert (fault.code, fault.fatal) == ("bad_message", False)


def test_a_last_line_without_its_end_is_read_and_a_cut_one_is_said() -> None:
    machine = begun(line("begun"), line("end", how="good")[:-1])
    (answer,) = bodies(machine.finish())
    assert answer.outcome is TurnOutcome.COMPLETED
    machine = begun(line("begun"), line("end", how="good")[:-4])
    (fault,) = bodies(machine.finish())
    assert fault.code == "truncated"


def test_text_is_the_answer_itself() -> None:
    machine = begun(headless=TEXT)
    assert bodies(machine.feed(b"Hello\n\n  th")) == [
        PromptStarted(delivery="d1"),
        MessageChunk(role="agent", text="Hello\n"),
        MessageChunk(role="agent", text="\n"),
    ]
    assert bodies(machine.finish()) == [MessageChunk(role="agent", text="  th")]
