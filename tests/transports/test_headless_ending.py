"""What an exit says of a turn that no result record ended."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from inspan.model.evidence import Source
from inspan.model.headless import HeadlessSettings
from inspan.model.reports import PromptAnswered, Reported, SessionReady
from inspan.model.session import OpenedHow
from inspan.model.turn import TurnOutcome
from inspan.transports.headless import HeadlessMachine
from inspan.transports.machine import HarnessEnd
from support.headless_rules import BY_EXIT, RULES, TEXT, line, settings


def ended(end: HarnessEnd, *lines: bytes, cancel: bool = False, **how: Any) -> tuple[Reported, ...]:
    """What the end says after some lines."""
    machine = HeadlessMachine(settings(**how))
    machine.start()
    machine.prompt("d1", "hello")
    machine.feed(b"".join(lines))
    machine.finish()
    if cancel:
        machine.cancel()
    reports = machine.end(end).reports
    assert machine.end(end).reports == (), "the end is said once"
    return reports


def answer_of(reports: tuple[Reported, ...]) -> PromptAnswered:
    body = reports[0].body
    assert isinstance(body, PromptAnswered)
    return body


@pytest.mark.requirement("H-B18", "H-N18")
@pytest.mark.parametrize("end", [HarnessEnd(exit_code=1), HarnessEnd(signal=9), HarnessEnd(exit_code=173)])
def test_a_result_record_is_trusted_over_the_exit(end: HarnessEnd) -> None:
    assert ended(end, line("begun"), line("end", how="good")) == ()


def test_an_exit_0_after_work_completes_a_turn_that_nothing_else_ends() -> None:
    (report,) = ended(HarnessEnd(exit_code=0), line("say", words="x"), headless=BY_EXIT)
    assert (report.source, report.rule) == (Source.PROCESS, "headless.exit")
    body = answer_of((report,))
    assert (body.outcome, body.raw_reason, body.error) == (TurnOutcome.COMPLETED, "exit 0", None)


@pytest.mark.parametrize("headless", [RULES, BY_EXIT, TEXT])
def test_an_exit_0_having_done_nothing_is_a_failure_that_says_so(headless: HeadlessSettings) -> None:
    body = answer_of(
        ended(HarnessEnd(exit_code=0, stderr_tail="\x1b[1mno longer\x1b[0m kept\n"), headless=headless)
    )
    assert body.outcome is TurnOutcome.FAILED
    assert body.error is not None
    assert body.error.message == "The harness exited with status 0, having done nothing: no longer kept"
    assert body.error.code == "harness_exited"


@pytest.mark.requirement("H-N55")
@pytest.mark.parametrize(("status", "code"), [(41, "auth_required"), (173, "limited"), (3, "harness_exited")])
def test_an_exit_status_means_what_the_manifest_says(status: int, code: str) -> None:
    body = answer_of(ended(HarnessEnd(exit_code=status, stderr_tail="set a key")))
    assert body.outcome is TurnOutcome.FAILED
    assert body.error is not None
    assert body.error.code == code
    assert body.error.message == f"The harness exited with status {status}: set a key"
    assert body.error.hint


def test_an_error_that_was_said_is_the_reason_and_its_own_code_counts_more_than_the_status() -> None:
    said = line("error", message="no more", status=429)
    body = answer_of(ended(HarnessEnd(exit_code=41), said))
    assert body.error is not None
    assert (body.error.message, body.error.code) == ("no more", "limited")


def test_an_error_that_was_said_fails_the_turn_even_with_an_exit_0() -> None:
    body = answer_of(ended(HarnessEnd(exit_code=0), line("say", words="x"), line("error", message="no")))
    assert (body.outcome, body.raw_reason) == (TurnOutcome.FAILED, "exit 0")


def test_a_signal_says_nothing_of_the_turn() -> None:
    assert ended(HarnessEnd(signal=9), line("say", words="x")) == ()


@pytest.mark.parametrize("end", [HarnessEnd(signal=15), HarnessEnd(exit_code=143), HarnessEnd(exit_code=0)])
def test_a_run_that_was_stopped_to_cancel_it_is_cancelled(end: HarnessEnd) -> None:
    body = answer_of(ended(end, line("say", words="x"), cancel=True))
    assert (body.outcome, body.error) == (TurnOutcome.CANCELLED, None)


@pytest.mark.requirement("H-A26")
def test_a_session_may_be_named_on_the_standard_error_alone() -> None:
    end = HarnessEnd(exit_code=0, stderr_tail="noise\nsession_id: abc-1\n")
    session, answer = ended(end, b"words\n", headless=TEXT)
    assert session.body == SessionReady(session_id="abc-1", how=OpenedHow.NEW)
    assert answer.session == "abc-1"


@pytest.mark.requirement("H-A26", "H-D2")
def test_an_id_that_core_chose_counts_once_the_turn_is_done_and_the_harness_named_none() -> None:
    chosen = HeadlessSettings(output="text", chooses_session=True)
    session, _ = ended(HarnessEnd(exit_code=0), b"words\n", headless=chosen, session="u-1")
    assert session.body == SessionReady(session_id="u-1", how=OpenedHow.NEW)
    (only,) = ended(HarnessEnd(exit_code=1), b"words\n", headless=chosen, session="u-1")
    assert answer_of((only,)).outcome is TurnOutcome.FAILED


@pytest.mark.requirement("H-A26", "H-D2")
@pytest.mark.parametrize(
    ("how", "named", "sessions"),
    [("good", (), ["u-1"]), ("good", (line("init", session="own"),), ["own"]), ("bad", (), [])],
)
def test_an_id_that_core_chose_counts_too_where_a_record_says_that_the_turn_is_done(
    how: str, named: tuple[bytes, ...], sessions: list[str]
) -> None:
    chosen = msgspec.structs.replace(RULES, chooses_session=True)
    machine = HeadlessMachine(settings(chosen, session="u-1"))
    machine.start()
    machine.prompt("d1", "hello")
    reports = machine.feed(b"".join((*named, line("end", how=how)))).reports
    assert [one.body.session_id for one in reports if isinstance(one.body, SessionReady)] == sessions
    assert isinstance(reports[-1].body, PromptAnswered)
    assert reports[-1].session == (sessions[0] if sessions else None)


def test_an_end_before_any_prompt_says_nothing() -> None:
    machine = HeadlessMachine(settings())
    machine.start()
    assert machine.end(HarnessEnd(exit_code=1)).reports == ()
