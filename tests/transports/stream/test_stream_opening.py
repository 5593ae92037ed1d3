"""From the first byte to an open session, in each dialect."""

from __future__ import annotations

import pytest

from inspan.model.content import ConfigUpdated, Noise
from inspan.model.errors import UsageError
from inspan.model.reports import Connected, ConnectFailed, SessionFailed, SessionReady
from inspan.model.session import OpenedHow, ResumeOutcome
from inspan.transports.machine import HarnessEnd
from support.stream_ground import DIALECTS
from support.stream_talker import OPENING, SESSION, Talker, opened

OTHER = "99999999-2222-4333-8444-555555555555"
every_dialect = pytest.mark.parametrize("dialect", sorted(DIALECTS))


@every_dialect
def test_a_fresh_session_is_connected_then_ready(dialect: str) -> None:
    talker = Talker(dialect)
    assert talker.start() == []
    said = talker.feed(*OPENING[dialect])
    assert [type(one) for one in said if not isinstance(one, ConfigUpdated)] == [Connected, SessionReady]
    assert said[-1] == SessionReady(session_id=SESSION, how=OpenedHow.NEW)


def test_each_call_waits_for_the_answer_before_it_and_a_notification_for_none() -> None:
    talker = Talker("rpc", options={"approval_policy": "on-request", "sandbox": "read-only"})
    talker.start()
    assert [one["method"] for one in talker.written] == ["initialize"]
    assert talker.written[0]["params"]["clientInfo"]["name"] == "inspan"
    talker.feed(OPENING["rpc"][0])
    assert [one["method"] for one in talker.written[1:]] == ["initialized", "thread/start"]
    assert "id" not in talker.written[1]
    assert talker.written[2] == {
        "id": 3,
        "method": "thread/start",
        "params": {"cwd": "/w", "approvalPolicy": "on-request", "sandbox": "read-only"},
    }


@every_dialect
def test_no_prompt_is_taken_before_the_session_is_open(dialect: str) -> None:
    talker = Talker(dialect)
    talker.start()
    with pytest.raises(UsageError) as refused:
        talker.machine.prompt("d1", "hello")
    assert refused.value.code == "seat_not_running"
    assert talker.cancel() == []


@every_dialect
def test_a_banner_before_the_first_answer_is_noise(dialect: str) -> None:
    talker = Talker(dialect)
    talker.start()
    said = talker.feed(b"Welcome!\nto this\n\n", *OPENING[dialect])
    assert said[0] == Noise(lines=2, sample="Welcome!")
    assert isinstance(said[-1], SessionReady)


@pytest.mark.requirement("H-C11")
def test_a_posture_that_is_not_in_force_ends_the_start() -> None:
    talker = Talker("rpc", options={"approval_policy": "on-request", "sandbox": "read-only"})
    talker.start()
    result = {"thread": {"id": SESSION}, "approvalPolicy": "never", "sandbox": {"type": "readOnly"}}
    said = talker.feed(OPENING["rpc"][0], {"id": 3, "result": result})
    failed = said[-1]
    assert isinstance(failed, SessionFailed)
    assert failed.error.code == "posture_unsupported"
    with pytest.raises(UsageError):
        talker.machine.prompt("d1", "hello")


def test_the_same_value_in_another_spelling_is_in_force() -> None:
    talker = Talker("rpc", options={"sandbox": "danger-full-access"})
    talker.start()
    result = {"thread": {"id": SESSION}, "sandbox": {"type": "dangerFullAccess"}}
    said = talker.feed(OPENING["rpc"][0], {"id": 3, "result": result})
    assert isinstance(said[-1], SessionReady)
    assert ConfigUpdated(values={"sandbox": "dangerFullAccess"}) in said


def test_a_refused_handshake_fails_the_connection() -> None:
    talker = Talker("rpc")
    talker.start()
    (failed,) = talker.feed({"id": 1, "error": {"code": -32000, "message": "no"}})
    assert isinstance(failed, ConnectFailed)
    assert (failed.error.message, failed.error.raw_code) == ("no", -32000)


def test_a_resume_goes_on_with_the_session_that_was_named() -> None:
    talker = Talker("rpc", attempt="resume", session=SESSION)
    talker.start()
    said = talker.feed(OPENING["rpc"][0])
    assert talker.written[-1]["method"] == "thread/resume"
    assert talker.written[-1]["params"]["threadId"] == SESSION
    said = talker.feed(OPENING["rpc"][1])
    assert said[-1] == SessionReady(session_id=SESSION, how=OpenedHow.RESUMED)


@pytest.mark.parametrize("dialect", ["rpc", "command"])
def test_a_resume_under_another_id_is_no_resume(dialect: str) -> None:
    talker = Talker(dialect, attempt="resume", session=OTHER)
    talker.start()
    failed = talker.feed(*OPENING[dialect])[-1]
    assert isinstance(failed, SessionFailed)
    assert (failed.outcome, failed.error.code) == (ResumeOutcome.FAILED, "protocol_fault")


@pytest.mark.parametrize("dialect", ["rpc", "command"])
def test_a_fork_is_another_session_than_its_parent(dialect: str) -> None:
    talker = Talker(dialect, attempt="fork", session=OTHER)
    talker.start()
    assert talker.feed(*OPENING[dialect])[-1] == SessionReady(session_id=SESSION, how=OpenedHow.FORKED)
    talker = Talker(dialect, attempt="fork", session=SESSION)
    talker.start()
    assert isinstance(talker.feed(*OPENING[dialect])[-1], SessionFailed)


def test_a_session_that_is_gone_fails_with_the_harnesss_words() -> None:
    talker = Talker("rpc", attempt="resume", session=OTHER)
    talker.start()
    error = {"code": -32600, "message": f"no rollout found for thread id {OTHER}"}
    failed = talker.feed(OPENING["rpc"][0], {"id": 3, "error": error})[-1]
    assert isinstance(failed, SessionFailed)
    assert (failed.error.code, failed.error.raw_code) == ("session_failed", -32600)


def test_a_result_before_any_answer_says_why_no_session_is_open() -> None:
    talker = Talker("control", attempt="resume", session=OTHER)
    talker.start()
    result = {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "errors": ["No conversation found"],
    }
    (failed,) = talker.feed(result)
    assert isinstance(failed, SessionFailed)
    assert failed.error.message == "No conversation found"


def test_an_exit_before_any_answer_says_why_a_session_is_not_gone_on_with() -> None:
    talker = Talker("command", attempt="resume", session=OTHER)
    talker.start()
    end = HarnessEnd(exit_code=1, stderr_tail="\x1b[31mNo session found matching 'x'\x1b[0m\n")
    (failed,) = talker.end(end)
    assert isinstance(failed, SessionFailed)
    assert "No session found matching 'x'" in failed.error.message
    assert talker.end(end) == []


@every_dialect
def test_an_exit_says_nothing_of_an_open_session_or_a_fresh_start(dialect: str) -> None:
    end = HarnessEnd(exit_code=1, stderr_tail="bye")
    assert opened(dialect).end(end) == []
    assert Talker(dialect).end(end) == []


@every_dialect
def test_an_answer_to_a_call_that_was_never_made_opens_nothing(dialect: str) -> None:
    talker = Talker(dialect)
    talker.start()
    stranger = {
        "rpc": {"id": 7, "result": {"thread": {"id": OTHER}}},
        "command": {"id": "7", "type": "response", "success": True, "data": {"sessionId": OTHER}},
        "control": {"type": "control_response", "response": {"subtype": "success", "request_id": "7"}},
    }[dialect]
    assert [getattr(one, "code", "") for one in talker.feed(stranger)] == ["unmatched_answer"]
    assert talker.feed(*OPENING[dialect])[-1] == SessionReady(session_id=SESSION, how=OpenedHow.NEW)
