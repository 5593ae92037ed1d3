"""From `initialize` to a session whose posture is applied, and every way in which it fails."""

from __future__ import annotations

from typing import Any

import pytest

from inspan.model.content import CommandsUpdated, ConfigUpdated, MessageChunk, ModeUpdated
from inspan.model.conversation import OfferedOption, OptionsOffered, SettingAnswered
from inspan.model.errors import UsageError
from inspan.model.manifest import AcpSettings
from inspan.model.reports import Connected, ConnectFailed, SessionFailed, SessionReady
from inspan.model.session import OpenedHow, ResumeOutcome
from support.acp_peer import SESSION, AcpPeer, chunk, update

MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask"}, {"id": "edits"}]}
MODE_OPTION = {
    "id": "mode",
    "category": "mode",
    "type": "select",
    "currentValue": "build",
    "options": [{"name": "All", "group": "g", "options": [{"value": "build"}, {"value": "plan"}]}],
}


def failure(bodies: list[Any]) -> SessionFailed:
    """The one failure among reports that hold no ready session."""
    assert not [body for body in bodies if isinstance(body, SessionReady)]
    (found,) = [body for body in bodies if isinstance(body, SessionFailed)]
    return found


def test_the_handshake_says_who_we_are_and_offers_nothing_that_is_not_served() -> None:
    peer = AcpPeer()

    peer.take(peer.machine.start())

    assert peer.call()["id"] == 1
    assert peer.call()["method"] == "initialize"
    assert peer.call()["params"]["clientInfo"]["name"] == "inspan"
    assert peer.call()["params"]["clientCapabilities"] == {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
        "session": {"configOptions": {"boolean": {}}},
    }
    assert peer.outgoing[0].purpose == "handshake"


def test_forms_are_offered_to_the_harness_only_where_somebody_fills_them_in() -> None:
    peer = AcpPeer(answers_questions=True)

    peer.take(peer.machine.start())

    assert peer.call()["params"]["clientCapabilities"]["elicitation"] == {"form": {}}


def test_what_the_process_offers_is_reported_by_name() -> None:
    peer = AcpPeer()
    peer.take(peer.machine.start())

    (connected,) = peer.result(
        {
            "protocolVersion": 1,
            "agentInfo": {"name": "x", "version": "2"},
            "agentCapabilities": {
                "loadSession": True,
                "sessionCapabilities": {"list": {}, "resume": {}, "fork": None, "_meta": {}},
                "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            },
            "authMethods": [{"id": "key", "name": "A key"}, {"name": "no id"}, 7],
        }
    )

    assert isinstance(connected, Connected)
    assert connected.offers == ("load", "list", "resume", "prompt_image", "prompt_embedded_context")
    assert (connected.harness_name, connected.harness_version) == ("x", "2")
    assert [method.id for method in connected.auth_methods] == ["key"]


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ({"protocolVersion": 2}, "protocol_version"),
        ({"protocolVersion": True}, "protocol_fault"),
        ({}, "protocol_fault"),
        (None, "protocol_fault"),
        ([1], "protocol_fault"),
    ],
)
def test_another_version_of_the_protocol_fails_the_connection(result: object, code: str) -> None:
    peer = AcpPeer()
    peer.take(peer.machine.start())

    (failed,) = peer.result(result)

    assert isinstance(failed, ConnectFailed)
    assert failed.error.code == code
    assert len(peer.outgoing) == 1


def test_a_refused_handshake_fails_the_connection() -> None:
    peer = AcpPeer()
    peer.take(peer.machine.start())

    (failed,) = peer.error(-32603, "broken")

    assert isinstance(failed, ConnectFailed)
    assert (failed.error.code, failed.error.message) == ("call_failed", "broken")


@pytest.mark.requirement("H-D14", "H-D2")
def test_the_session_id_is_the_one_that_the_harness_reports() -> None:
    peer = AcpPeer()
    peer.connect()

    assert peer.call()["method"] == "session/new"
    assert peer.call()["params"] == {"cwd": "/w", "mcpServers": []}
    assert peer.result({"sessionId": "theirs"}) == [SessionReady(session_id="theirs", how=OpenedHow.NEW)]


def test_a_fork_that_is_answered_with_the_conversation_itself_is_a_fault_and_not_a_session() -> None:
    peer = AcpPeer(attempt="fork", session_id=SESSION)
    peer.connect(sessionCapabilities={"fork": {}})

    assert failure(peer.result({"sessionId": SESSION})).error.code == "protocol_fault"


def test_a_session_without_an_id_is_a_fault_and_not_a_session() -> None:
    peer = AcpPeer()
    peer.connect()

    assert failure(peer.result({})).error.code == "protocol_fault"


def test_the_sign_in_method_is_called_before_a_session_is_opened() -> None:
    peer = AcpPeer(auth_method="key")
    peer.connect()

    assert (peer.call()["method"], peer.call()["params"]) == ("authenticate", {"methodId": "key"})
    peer.result(None)
    assert peer.call()["method"] == "session/new"


def test_a_refused_sign_in_says_that_a_person_must_sign_in() -> None:
    peer = AcpPeer(auth_method="key")
    peer.connect()

    failed = failure(peer.error(-32603, "bad key"))

    assert (failed.outcome, failed.error.code) == (ResumeOutcome.FAILED, "auth_required")


def test_a_new_session_that_wants_a_sign_in_says_so() -> None:
    peer = AcpPeer()
    peer.connect()

    failed = failure(peer.error(-32000, "Authentication required", {"authMethods": []}))

    assert (failed.outcome, failed.error.code) == (ResumeOutcome.FAILED, "auth_required")
    assert failed.error.raw == {"authMethods": []}
    with pytest.raises(UsageError):
        peer.machine.prompt("d1", "hello")


@pytest.mark.parametrize(
    ("offers", "wanted", "method", "how"),
    [
        (
            {"loadSession": True, "sessionCapabilities": {"resume": {}}},
            ("resume", "load"),
            "session/resume",
            "resumed",
        ),
        (
            {"loadSession": True, "sessionCapabilities": {"resume": {}}},
            ("load", "resume"),
            "session/load",
            "loaded",
        ),
        ({"loadSession": True}, ("resume", "load"), "session/load", "loaded"),
    ],
)
def test_a_resume_uses_the_first_method_that_the_process_offers(
    offers: dict[str, Any], wanted: tuple[Any, ...], method: str, how: str
) -> None:
    peer = AcpPeer(attempt="resume", session_id=SESSION, acp=AcpSettings(resume_methods=wanted))
    peer.connect(**offers)

    assert peer.call()["method"] == method
    assert peer.call()["params"] == {"sessionId": SESSION, "cwd": "/w", "mcpServers": []}
    assert peer.result({}) == [SessionReady(session_id=SESSION, how=OpenedHow(how))]


def test_a_resume_that_the_process_does_not_offer_is_refused_and_never_a_fresh_start() -> None:
    peer = AcpPeer(attempt="resume", session_id=SESSION)

    failed = failure(peer.connect()[1:])

    assert (failed.outcome, failed.error.code) == (ResumeOutcome.REFUSED, "unsupported_capability")
    assert [one["method"] for one in peer.written()] == ["initialize"]


def test_a_fork_is_a_session_of_its_own() -> None:
    peer = AcpPeer(attempt="fork", session_id=SESSION)
    peer.connect(sessionCapabilities={"fork": {}})

    assert peer.call()["method"] == "session/fork"
    assert peer.result({"sessionId": "new"}) == [SessionReady(session_id="new", how=OpenedHow.FORKED)]


def forking_what_it_has_loaded() -> AcpPeer:
    peer = AcpPeer(attempt="fork", session_id=SESSION, acp=AcpSettings(fork_loads_first=True))
    peer.connect(loadSession=True, sessionCapabilities={"fork": {}})
    assert peer.call()["method"] == "session/load"
    return peer


def test_a_harness_that_forks_only_what_it_has_loaded_loads_it_first_and_the_fork_is_the_session() -> None:
    peer = forking_what_it_has_loaded()
    (told,) = peer.say(chunk("before"))
    assert isinstance(told, MessageChunk)
    assert told.replay

    assert peer.result({"modes": MODES}) == []

    assert peer.call()["method"] == "session/fork"
    assert peer.call()["params"]["sessionId"] == SESSION
    assert peer.result({"sessionId": "new"}) == [SessionReady(session_id="new", how=OpenedHow.FORKED)]


def test_what_was_loaded_to_be_forked_is_closed_where_the_harness_offers_that() -> None:
    peer = AcpPeer(attempt="fork", session_id=SESSION, acp=AcpSettings(fork_loads_first=True))
    peer.connect(loadSession=True, sessionCapabilities={"fork": {}, "close": {}})
    peer.result({})

    assert peer.result({"sessionId": "new"}) == [SessionReady(session_id="new", how=OpenedHow.FORKED)]

    closing = peer.call()
    assert (closing["method"], closing["params"]) == ("session/close", {"sessionId": SESSION})
    assert peer.result({}) == []
    peer.prompt()
    assert peer.call()["params"]["sessionId"] == "new"


def test_a_load_that_fails_before_a_fork_is_the_failure_of_the_fork() -> None:
    peer = forking_what_it_has_loaded()

    failed = failure(peer.error(-32602, "Session not found"))

    assert failed.outcome is ResumeOutcome.MISSING
    assert [one["method"] for one in peer.written()] == ["initialize", "session/load"]


@pytest.mark.parametrize(
    ("code", "outcome", "ours"),
    [
        (-32002, ResumeOutcome.MISSING, "session_missing"),
        (-32602, ResumeOutcome.MISSING, "session_missing"),
        (-32601, ResumeOutcome.REFUSED, "unsupported_capability"),
        (-32603, ResumeOutcome.FAILED, "session_failed"),
        (-32000, ResumeOutcome.FAILED, "auth_required"),
    ],
)
def test_a_session_is_missing_only_where_the_code_says_so(
    code: int, outcome: ResumeOutcome, ours: str
) -> None:
    peer = AcpPeer(attempt="resume", session_id=SESSION)
    peer.connect(loadSession=True)

    failed = failure(peer.error(code, "Session not found"))

    assert (failed.outcome, failed.error.code, failed.error.raw_code) == (outcome, ours, code)


def test_the_mode_is_set_before_the_session_counts_as_ready() -> None:
    peer = AcpPeer(session_mode="edits")

    assert peer.open({"modes": MODES}) == [ModeUpdated(current="ask", available=("ask", "edits"))]
    assert (peer.call()["method"], peer.call()["params"]) == (
        "session/set_mode",
        {"sessionId": SESSION, "modeId": "edits"},
    )
    with pytest.raises(UsageError):
        peer.machine.prompt("d1", "hello")
    assert peer.result({}) == [
        SettingAnswered(value="edits"),
        SessionReady(session_id=SESSION, how=OpenedHow.NEW),
    ]


def test_a_mode_that_is_in_force_is_not_set_again() -> None:
    peer = AcpPeer(session_mode="ask")

    assert SessionReady(session_id=SESSION, how=OpenedHow.NEW) in peer.open({"modes": MODES})


def test_a_mode_that_is_told_as_an_option_is_set_as_an_option() -> None:
    peer = AcpPeer(session_mode="plan")

    told = peer.open({"configOptions": [MODE_OPTION]})

    assert told == [
        ModeUpdated(current="build", available=("build", "plan")),
        OptionsOffered(options=(OfferedOption(id="mode", category="mode", values=("build", "plan")),)),
        ConfigUpdated(values={"mode": "build"}),
    ]
    assert (peer.call()["method"], peer.call()["params"]) == (
        "session/set_config_option",
        {"sessionId": SESSION, "configId": "mode", "value": "plan"},
    )
    assert peer.result({"configOptions": [{**MODE_OPTION, "currentValue": "plan"}]}) == [
        ConfigUpdated(values={"mode": "plan"}),
        ModeUpdated(current="plan"),
        SettingAnswered(value="plan"),
        SessionReady(session_id=SESSION, how=OpenedHow.NEW),
    ]


def test_a_mode_that_cannot_be_set_fails_the_session_instead_of_weakening_the_posture() -> None:
    peer = AcpPeer(session_mode="edits")
    peer.open({"modes": MODES})

    assert failure(peer.error(-32603)).outcome == ResumeOutcome.FAILED


def test_a_mode_that_the_session_does_not_have_fails_it_without_a_call() -> None:
    peer = AcpPeer(session_mode="yolo")

    assert failure(peer.open({"modes": MODES})).error.code == "posture_unsupported"
    assert peer.call()["method"] == "session/new"


def test_an_option_that_the_harness_keeps_as_it_was_fails_the_session() -> None:
    peer = AcpPeer(session_mode="plan")
    peer.open({"configOptions": [MODE_OPTION]})

    assert failure(peer.result({"configOptions": [MODE_OPTION]})).error.code == "posture_unsupported"


def test_a_mode_that_changes_by_itself_while_the_session_is_set_up_fails_it() -> None:
    peer = AcpPeer(session_mode="edits", config_options={"speed": "fast"})
    peer.open({"modes": MODES})
    peer.result({})
    peer.say(update({"sessionUpdate": "current_mode_update", "currentModeId": "ask"}))

    assert failure(peer.result({})).error.code == "posture_unsupported"


def test_options_are_set_one_after_another_and_those_in_force_are_left() -> None:
    peer = AcpPeer(config_options={"a": "1", "b": "true", "c": "x"})
    options = [
        {"id": "a", "type": "select", "currentValue": "1"},
        {"id": "b", "type": "boolean", "currentValue": False},
    ]

    peer.open({"configOptions": options})
    assert peer.call()["params"] == {
        "sessionId": SESSION, "configId": "b", "value": True, "type": "boolean",
    }  # fmt: skip
    assert peer.result({"configOptions": [options[0], {**options[1], "currentValue": True}]}) == [
        ConfigUpdated(values={"a": "1", "b": True}),
        SettingAnswered(option="b", value="true"),
    ]
    assert peer.call()["params"] == {"sessionId": SESSION, "configId": "c", "value": "x"}
    assert peer.result({}) == [
        SettingAnswered(option="c", value="x"),
        SessionReady(session_id=SESSION, how=OpenedHow.NEW),
    ]


def test_updates_of_a_session_that_is_not_named_yet_are_its_own() -> None:
    peer = AcpPeer()
    peer.connect()

    commands = {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "plan"}]}

    assert peer.say(update(commands)) == [CommandsUpdated(names=("plan",))]


@pytest.mark.requirement("L14")
def test_what_a_load_tells_again_before_its_answer_is_marked_as_replay() -> None:
    peer = AcpPeer(attempt="resume", session_id=SESSION)
    peer.connect(loadSession=True)

    told = peer.say(chunk("hello", kind="user_message_chunk"), chunk("hi"))
    peer.result({})
    peer.prompt()

    assert told == [
        MessageChunk(role="user", text="hello", replay=True),
        MessageChunk(role="agent", text="hi", replay=True),
    ]
    assert peer.say(chunk("live"))[-1] == MessageChunk(role="agent", text="live")
