"""Settings of an open session, lists of sessions, deletion, closing, forks, and calls that are given up."""

from __future__ import annotations

from typing import Any

import pytest

from inspan.model.content import ConfigUpdated, ModeUpdated
from inspan.model.conversation import (
    OFFERED_VALUES_CAP,
    SESSIONS_CAP,
    ListedSession,
    OfferedOption,
    OptionsOffered,
    SessionClosed,
    SessionDeleted,
    SessionsListed,
    SettingAnswered,
)
from inspan.model.manifest import AcpSettings
from inspan.model.reports import SessionFailed, SessionReady, WillRetry
from inspan.model.retrying import RetryNotification
from inspan.model.session import OpenedHow, ResumeOutcome
from inspan.transports.acp import AcpMachine
from inspan.transports.operations import (
    CloseSession,
    Configure,
    DeleteSession,
    GiveUp,
    ListSessions,
    OperatingMachine,
)
from support.acp_peer import SESSION, AcpPeer, update

MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask"}, {"id": "edits"}]}
MODEL = {
    "id": "model",
    "name": "Model",
    "category": "model",
    "type": "select",
    "currentValue": "small",
    "options": [{"value": "small", "name": "S"}, {"value": "large", "name": "L"}],
}


def open_peer(result: dict[str, Any] | None = None, **settings: Any) -> AcpPeer:
    peer = AcpPeer(**settings)
    peer.open(result)
    return peer


def operate(peer: AcpPeer, operation: Any) -> None:
    assert isinstance(peer.machine, OperatingMachine)
    peer.take(peer.machine.operate(operation))


@pytest.mark.requirement("H-N48", "H-C11")
def test_an_accepted_mode_is_not_taken_for_the_mode_in_force() -> None:
    peer = open_peer({"modes": MODES})

    operate(peer, Configure(value="edits"))

    assert peer.call()["params"] == {"sessionId": SESSION, "modeId": "edits"}
    assert peer.result({}) == [SettingAnswered(value="edits")]
    shown = peer.say(update({"sessionUpdate": "current_mode_update", "currentModeId": "edits"}))
    assert shown == [ModeUpdated(current="edits")]


@pytest.mark.requirement("H-A22", "H-A45")
def test_an_option_is_set_by_a_call_and_its_effective_value_is_the_harness_s_own_answer() -> None:
    peer = open_peer({"configOptions": [MODEL]})

    operate(peer, Configure(option="model", value="large"))

    assert peer.call()["method"] == "session/set_config_option"
    assert peer.call()["params"] == {"sessionId": SESSION, "configId": "model", "value": "large"}
    assert peer.result({"configOptions": [{**MODEL, "currentValue": "large"}]}) == [
        ConfigUpdated(values={"model": "large"}),
        SettingAnswered(option="model", value="large"),
    ]


def test_an_open_session_survives_a_setting_that_the_harness_refuses() -> None:
    peer = open_peer({"configOptions": [MODEL]})
    operate(peer, Configure(option="model", value="large"))

    (told,) = peer.error(-32602, "no such model")

    assert isinstance(told, SettingAnswered)
    assert told.error is not None
    assert told.error.message == "no such model"
    peer.prompt()
    assert peer.call()["method"] == "session/prompt"


def test_a_harness_that_keeps_its_own_value_says_so_itself() -> None:
    peer = open_peer({"configOptions": [MODEL]})
    operate(peer, Configure(option="model", value="large"))

    assert peer.result({"configOptions": [MODEL]})[:1] == [ConfigUpdated(values={"model": "small"})]


def test_an_option_of_yes_and_no_is_set_as_such() -> None:
    peer = open_peer()
    operate(peer, Configure(option="fast", value="true", is_boolean=True))

    assert peer.call()["params"] == {
        "sessionId": SESSION, "configId": "fast", "value": True, "type": "boolean",
    }  # fmt: skip


def test_what_a_session_offers_is_bounded_and_said_once() -> None:
    many = {**MODEL, "options": [{"value": f"m{number}"} for number in range(OFFERED_VALUES_CAP + 7)]}
    peer = AcpPeer()

    told = peer.open({"configOptions": [many, {"id": "fast", "type": "boolean", "currentValue": False}]})

    (offered,) = [one for one in told if isinstance(one, OptionsOffered)]
    assert (len(offered.options[0].values), offered.options[0].omitted) == (OFFERED_VALUES_CAP, 7)
    assert offered.options[1] == OfferedOption(id="fast", kind="boolean")
    again = update(
        {
            "sessionUpdate": "config_option_update",
            "configOptions": [many, {"id": "fast", "type": "boolean", "currentValue": True}],
        }
    )
    assert [type(one) for one in peer.say(again)] == [ConfigUpdated]
    changed = update({"sessionUpdate": "config_option_update", "configOptions": [MODEL]})
    assert [type(one) for one in peer.say(changed)] == [OptionsOffered, ConfigUpdated]


@pytest.mark.requirement("H-B31")
def test_sessions_are_listed_a_page_at_a_time() -> None:
    peer = open_peer()

    operate(peer, ListSessions(request="r-1", workspace="/w"))

    assert (peer.call()["method"], peer.call()["params"]) == ("session/list", {"cwd": "/w"})
    page = {
        "sessions": [
            {"sessionId": "a", "cwd": "/w", "title": "First", "updatedAt": "2026-11-30T00:00:00Z"},
            {"sessionId": "b", "cwd": "/v", "title": None, "updatedAt": 5},
            {"cwd": "/no/id"},
            7,
        ],
        "nextCursor": "c-1",
    }
    assert peer.result(page) == [
        SessionsListed(
            request="r-1",
            sessions=(
                ListedSession(id="a", workspace="/w", title="First", updated_at="2026-11-30T00:00:00Z"),
                ListedSession(id="b", workspace="/v", updated_at="5"),
            ),
            cursor="c-1",
        )
    ]
    operate(peer, ListSessions(request="r-2", cursor="c-1"))
    assert peer.call()["params"] == {"cursor": "c-1"}
    assert peer.result({"sessions": []}) == [SessionsListed(request="r-2")]


def test_a_page_over_the_cap_says_how_much_it_leaves_out() -> None:
    peer = open_peer()
    operate(peer, ListSessions(request="r-1"))

    (told,) = peer.result({"sessions": [{"sessionId": str(n), "cwd": "/w"} for n in range(SESSIONS_CAP + 3)]})

    assert isinstance(told, SessionsListed)
    assert (len(told.sessions), told.omitted) == (SESSIONS_CAP, 3)


def test_a_refused_list_or_deletion_carries_the_harness_s_error() -> None:
    peer = open_peer()
    operate(peer, ListSessions(request="r-1"))
    (listed,) = peer.error(-32601, "no list")
    operate(peer, DeleteSession(request="r-2", session="a"))
    assert (peer.call()["method"], peer.call()["params"]) == ("session/delete", {"sessionId": "a"})
    (deleted,) = peer.error(-32002, "unknown")

    assert isinstance(listed, SessionsListed)
    assert listed.error is not None
    assert isinstance(deleted, SessionDeleted)
    assert (deleted.request, deleted.session) == ("r-2", "a")
    assert deleted.error is not None


def test_a_call_that_is_given_up_is_cancelled_by_its_id_and_its_late_answer_passed_over() -> None:
    peer = open_peer()
    operate(peer, ListSessions(request="r-1"))
    key = peer.call()["id"]

    operate(peer, GiveUp(request="r-1"))
    operate(peer, GiveUp(request="r-1"))

    cancels = [one for one in peer.written() if one.get("method") == "$/cancel_request"]
    assert [one["params"] for one in cancels] == [{"requestId": key}]
    assert peer.result({"sessions": []}, to="session/list") == []
    assert peer.error(-32800, "cancelled")[0] is not None  # answered twice: a fault, and no list


def test_a_session_is_closed_once_and_only_where_that_is_offered() -> None:
    peer = open_peer()
    operate(peer, CloseSession())
    assert peer.call()["method"] == "session/new"

    peer = AcpPeer()
    peer.connect(sessionCapabilities={"close": {}})
    peer.result({"sessionId": SESSION})
    operate(peer, CloseSession())
    operate(peer, CloseSession())

    assert [one["params"] for one in peer.written() if one["method"] == "session/close"] == [
        {"sessionId": SESSION}
    ]
    assert peer.result({}) == [SessionClosed()]


LISTS: dict[str, Any] = {"loadSession": True, "sessionCapabilities": {"list": {}, "resume": {}}}


def chosen(**changes: Any) -> AcpPeer:
    peer = AcpPeer(attempt="resume", session_id="s-9", listed_in=("/w", "/private/w"), **changes)
    peer.connect(**LISTS)
    return peer


@pytest.mark.requirement("H-N25", "H-D13")
def test_a_chosen_session_of_another_workspace_is_refused_before_it_is_touched() -> None:
    peer = chosen()
    assert peer.call()["method"] == "session/list"

    (failed,) = peer.result({"sessions": [{"sessionId": "s-9", "cwd": "/elsewhere"}]})

    assert isinstance(failed, SessionFailed)
    assert (failed.outcome, failed.error.code) == (ResumeOutcome.REFUSED, "session_of_other_workspace")
    assert peer.call()["method"] == "session/list"


@pytest.mark.parametrize("folder", ["/w", "/w/", "/private/w"])
def test_a_chosen_session_of_the_same_workspace_is_resumed(folder: str) -> None:
    peer = chosen()
    peer.result({"sessions": [{"sessionId": "x", "cwd": "/w"}], "nextCursor": "more"})
    assert peer.call()["params"] == {"cursor": "more"}

    peer.result({"sessions": [{"sessionId": "s-9", "cwd": folder}]})

    assert (peer.call()["method"], peer.call()["params"]["sessionId"]) == ("session/resume", "s-9")
    assert peer.result({}) == [SessionReady(session_id="s-9", how=OpenedHow.RESUMED)]


def test_a_chosen_session_that_is_not_listed_is_left_to_the_harness_to_know() -> None:
    peer = chosen()
    peer.result({"sessions": []})
    (failed,) = peer.error(-32002, "unknown session")

    assert isinstance(failed, SessionFailed)
    assert failed.outcome is ResumeOutcome.MISSING

    peer = chosen()
    peer.error(-32603, "the list is broken")
    assert peer.call()["method"] == "session/resume"


def test_a_list_without_end_is_not_read_for_ever() -> None:
    peer = chosen()
    for number in range(200):
        if peer.call()["method"] != "session/list":
            break
        peer.result({"sessions": [], "nextCursor": str(number)})

    assert peer.call()["method"] == "session/resume"


def test_a_restored_machine_goes_on_with_an_operation() -> None:
    peer = open_peer()
    operate(peer, ListSessions(request="r-1"))
    restored = AcpPeer()
    restored.machine = AcpMachine(peer.settings, snapshot=peer.machine.snapshot())

    told = restored.say({"jsonrpc": "2.0", "id": peer.call()["id"], "result": {"sessions": []}})

    assert told == [SessionsListed(request="r-1")]


def test_a_notification_that_announces_a_retry_is_read_by_the_manifest_s_data() -> None:
    rule = RetryNotification(
        method="_x/again",
        reason=("category", "info.detail"),
        delay_ms="info.wait",
        attempt="n",
        max_attempts="of",
    )
    peer = open_peer(acp=AcpSettings(retry_notifications=(rule,)))
    params = {
        "sessionId": SESSION,
        "category": "rate_limited",
        "info": {"detail": "HTTP 429", "wait": 1500},
        "n": 2,
        "of": 7,
    }

    assert peer.say({"jsonrpc": "2.0", "method": "_x/again", "params": params}) == [
        WillRetry(delay_s=1.5, reason="rate_limited: HTTP 429", attempt=2, limit=7)
    ]
    assert peer.say({"jsonrpc": "2.0", "method": "_x/again", "params": {"info": 3, "n": "x"}}) == [
        WillRetry()
    ]
