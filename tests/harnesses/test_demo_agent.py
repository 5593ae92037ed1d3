"""The scripted agent keeps the protocol, by the judgement of the protocol's own SDK, and keeps its promises."""

import json
import re
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import acp.schema
import pytest

from support.agent_pipes import AgentPipes, open_agent

COMMAND = (sys.executable, "-P", "-m", "inspan.harnesses.demo.agent")
RESULTS: dict[str, Any] = {
    "initialize": acp.schema.InitializeResponse,
    "session/new": acp.schema.NewSessionResponse,
    "session/load": acp.schema.LoadSessionResponse,
    "session/resume": acp.schema.ResumeSessionResponse,
    "session/list": acp.schema.ListSessionsResponse,
    "session/close": acp.schema.CloseSessionResponse,
    "session/set_mode": acp.schema.SetSessionModeResponse,
    "session/prompt": acp.schema.PromptResponse,
}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


def demo(workspace: Path, state: Path, **environ: str) -> AbstractContextManager[AgentPipes]:
    return open_agent(COMMAND, cwd=workspace, environ={"INSPAN_DEMO_STATE": str(state), **environ})


@contextmanager
def session_of(workspace: Path, state: Path) -> Generator[tuple[AgentPipes, str]]:
    with demo(workspace, state) as agent:
        agent.call("initialize", protocolVersion=1, clientCapabilities={})
        yield agent, new_session(agent, workspace)


def new_session(agent: AgentPipes, workspace: Path) -> str:
    return agent.call("session/new", cwd=str(workspace), mcpServers=[])["result"]["sessionId"]


def ask_of(agent: AgentPipes) -> dict[str, Any]:
    return agent.until(lambda message: message.get("method") == "session/request_permission")


def answer(agent: AgentPipes, asked: dict[str, Any], kind: str | None) -> None:
    options = {option["kind"]: option["optionId"] for option in asked["params"]["options"]}
    outcome = {"outcome": "selected", "optionId": options[kind]} if kind else {"outcome": "cancelled"}
    agent.send(id=asked["id"], result={"outcome": outcome})


def prompts(state: Path) -> list[str]:
    return [json.loads(line)["text"] for line in (state / "prompts.jsonl").read_text().splitlines()]


def test_everything_that_it_says_is_valid_by_the_protocols_own_models(workspace: Path, state: Path) -> None:
    asked_methods: dict[int, str] = {}
    with demo(workspace, state) as agent:

        def call(method: str, **params: Any) -> dict[str, Any]:
            key = agent.request(method, **params)
            asked_methods[key] = method
            return agent.answer_to(key)

        call("initialize", protocolVersion=1, clientCapabilities={})
        session = call("session/new", cwd=str(workspace), mcpServers=[])["result"]["sessionId"]
        call("session/set_mode", sessionId=session, modeId="yolo")
        for text in (
            "hello",
            "think",
            "plan",
            "permission",
            "big 3",
            "slow 2 interval=0",
            "refuse",
            "overrun",
        ):
            call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])
        call("session/set_mode", sessionId=session, modeId="default")
        key = agent.prompt(session, "permission")
        asked_methods[key] = "session/prompt"
        answer(agent, ask_of(agent), "allow_once")
        agent.answer_to(key)
        call("session/list")
        call("session/close", sessionId=session)
        call("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
        call("session/resume", sessionId=session, cwd=str(workspace), mcpServers=[])

    kinds = {update["sessionUpdate"] for update in agent.updates()}
    assert kinds >= {
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
        "plan",
        "tool_call",
        "tool_call_update",
        "current_mode_update",
        "usage_update",
    }
    checked = 0
    for message in agent.messages:
        assert message["jsonrpc"] == "2.0"
        if message.get("method") == "session/update":
            acp.schema.SessionNotification.model_validate(message["params"])
        elif message.get("method") == "session/request_permission":
            acp.schema.RequestPermissionRequest.model_validate(message["params"])
        else:
            RESULTS[asked_methods[message["id"]]].model_validate(message["result"])
            checked += 1
    assert checked == len(asked_methods)


def test_it_says_that_it_is_scripted_in_its_handshake_and_at_the_start_of_every_answer(
    workspace: Path, state: Path
) -> None:
    with demo(workspace, state) as agent:
        info = agent.call("initialize", protocolVersion=1)["result"]["agentInfo"]
        session = new_session(agent, workspace)
        for text in ("hello", "slow 1", "hello"):
            agent.messages.clear()
            agent.answer_to(agent.prompt(session, text))
            assert agent.said().startswith("[scripted] ")

    assert "scripted" in info["title"]


def test_a_plain_prompt_is_said_back_and_counted_once(workspace: Path, state: Path) -> None:
    with session_of(workspace, state) as (agent, session):
        result = agent.answer_to(agent.prompt(session, "good morning"))["result"]

        assert result["stopReason"] == "end_turn"
        assert agent.said() == "[scripted] You said: good morning"
        assert prompts(state) == ["good morning"]


@pytest.mark.parametrize(
    ("kind", "words", "is_written", "status"),
    [
        ("allow_once", "You allowed", True, "completed"),
        ("allow_always", "You allowed", True, "completed"),
        ("reject_once", "You did not allow", False, "failed"),
    ],
)
def test_a_permission_is_asked_and_obeyed_and_the_turn_goes_on(
    workspace: Path, state: Path, kind: str, words: str, is_written: bool, status: str
) -> None:
    with session_of(workspace, state) as (agent, session):
        key = agent.prompt(session, "permission please")
        asked = ask_of(agent)
        assert not (workspace / "inspan-demo.txt").exists()
        answer(agent, asked, kind)
        result = agent.answer_to(key)["result"]

        assert result["stopReason"] == "end_turn"
        assert words in agent.said()
        assert (workspace / "inspan-demo.txt").exists() is is_written
        call = asked["params"]["toolCall"]["toolCallId"]
        assert [update["toolCallId"] for update in agent.updates("tool_call")] == [call]
        assert [update["status"] for update in agent.updates("tool_call_update")] == [status]


def test_a_standing_answer_is_remembered_and_a_single_one_is_not(workspace: Path, state: Path) -> None:
    with session_of(workspace, state) as (agent, session):
        key = agent.prompt(session, "ask twice")
        answer(agent, ask_of(agent), "allow_once")
        answer(agent, ask_of(agent), "allow_always")
        agent.answer_to(key)
        agent.messages.clear()
        agent.answer_to(agent.prompt(session, "ask twice"))

        assert not any(message.get("method") == "session/request_permission" for message in agent.messages)


def test_the_mode_yolo_asks_nothing_and_an_unknown_mode_is_refused(workspace: Path, state: Path) -> None:
    with session_of(workspace, state) as (agent, session):
        assert agent.call("session/set_mode", sessionId=session, modeId="best")["error"]["code"] == -32602
        assert "result" in agent.call("session/set_mode", sessionId=session, modeId="yolo")
        agent.answer_to(agent.prompt(session, "permission"))

        assert (workspace / "inspan-demo.txt").exists()
        assert [update["currentModeId"] for update in agent.updates("current_mode_update")] == ["yolo"]


@pytest.mark.parametrize("answers_first", [True, False])
def test_a_cancel_while_a_permission_is_pending_ends_the_turn(
    workspace: Path, state: Path, answers_first: bool
) -> None:
    with session_of(workspace, state) as (agent, session):
        key = agent.prompt(session, "permission")
        asked = ask_of(agent)
        if answers_first:
            answer(agent, asked, None)
        agent.send(method="session/cancel", params={"sessionId": session})
        assert agent.answer_to(key)["result"]["stopReason"] == "cancelled"
        if not answers_first:
            answer(agent, asked, "allow_once")
        agent.answer_to(agent.prompt(session, "hello"))

        assert not (workspace / "inspan-demo.txt").exists()


@pytest.mark.parametrize("text", ["hang", "slow 100000 interval=0.01", "slow 5 interval=600"])
def test_a_running_turn_is_cancelled(workspace: Path, state: Path, text: str) -> None:
    with session_of(workspace, state) as (agent, session):
        key = agent.prompt(session, text)
        agent.until(lambda message: message.get("method") == "session/update")
        agent.send(method="session/cancel", params={"sessionId": session})

        assert agent.answer_to(key)["result"]["stopReason"] == "cancelled"
        assert agent.answer_to(agent.prompt(session, "hello"))["result"]["stopReason"] == "end_turn"


def test_slow_numbers_every_line(workspace: Path, state: Path) -> None:
    with session_of(workspace, state) as (agent, session):
        agent.answer_to(agent.prompt(session, "slow 40 interval=0.001"))

        assert re.findall(r"line (\d+) of 40\n", agent.said()) == [str(n) for n in range(1, 41)]


def test_a_second_prompt_while_one_runs_is_an_error_and_changes_nothing(workspace: Path, state: Path) -> None:
    with session_of(workspace, state) as (agent, session):
        first = agent.prompt(session, "permission")
        asked = ask_of(agent)
        assert agent.answer_to(agent.prompt(session, "hello"))["error"]["code"] == -32603
        answer(agent, asked, "allow_once")

        assert agent.answer_to(first)["result"]["stopReason"] == "end_turn"
        assert prompts(state) == ["permission", "hello"]


@pytest.mark.parametrize(("text", "code"), [("quota please", 429), ("signin", -32000)])
def test_a_scripted_failure_is_an_error_and_the_session_goes_on(
    workspace: Path, state: Path, text: str, code: int
) -> None:
    with session_of(workspace, state) as (agent, session):
        assert agent.answer_to(agent.prompt(session, text))["error"]["code"] == code
        assert agent.answer_to(agent.prompt(session, "hello"))["result"]["stopReason"] == "end_turn"


@pytest.mark.parametrize(("text", "reason"), [("refuse", "refusal"), ("overrun", "max_tokens")])
def test_a_turn_ends_with_the_reason_that_was_asked_for(
    workspace: Path, state: Path, text: str, reason: str
) -> None:
    with session_of(workspace, state) as (agent, session):
        assert agent.answer_to(agent.prompt(session, text))["result"]["stopReason"] == reason


def test_a_crash_in_mid_turn_leaves_its_last_words(workspace: Path, state: Path) -> None:
    with session_of(workspace, state) as (agent, session):
        agent.prompt(session, "crash now")
        while agent.receive() is not None:
            pass

        assert agent.process.wait(timeout=20) == 3
        assert agent.process.stderr is not None
        assert b"crashing" in agent.process.stderr.read()
        assert "about to crash" in agent.said()


def test_noise_and_big_pieces_do_not_hurt_the_messages(workspace: Path, state: Path) -> None:
    with session_of(workspace, state) as (agent, session):
        agent.answer_to(agent.prompt(session, "noise"))
        assert len([line for line in agent.noise if line.strip()]) == 2
        agent.messages.clear()
        agent.answer_to(agent.prompt(session, "big 2048"))
        assert len(agent.said()) == len("[scripted] ") + 2048 * 1024


def test_a_conversation_survives_kill_9_in_mid_turn(workspace: Path, state: Path) -> None:
    with session_of(workspace, state) as (agent, session):
        agent.answer_to(agent.prompt(session, "the word is heron"))
        agent.prompt(session, "slow 1000 interval=0.01")
        agent.until(lambda message: "line 3 of" in str(message))
        agent.process.kill()
        agent.process.wait()

    with demo(workspace, state) as agent:
        agent.call("initialize", protocolVersion=1)
        listed = agent.call("session/list", cwd=str(workspace))["result"]["sessions"]
        assert [one["sessionId"] for one in listed] == [session]
        assert agent.call("session/list", cwd="/elsewhere")["result"]["sessions"] == []

        assert "result" in agent.call("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
        told = "".join(update["content"]["text"] for update in agent.updates() if "content" in update)
        assert told.startswith("the word is heron[scripted] You said: the word is heronslow 1000")
        assert "line 3 of 1000" in told
        assert agent.answer_to(agent.prompt(session, "hello"))["result"]["stopReason"] == "end_turn"

    with demo(workspace, state) as agent:
        agent.call("initialize", protocolVersion=1)
        assert "result" in agent.call("session/resume", sessionId=session, cwd=str(workspace), mcpServers=[])
        assert agent.updates() == []
        assert agent.answer_to(agent.prompt(session, "hello"))["result"]["stopReason"] == "end_turn"

    assert prompts(state) == ["the word is heron", "slow 1000 interval=0.01", "hello", "hello"]


def test_half_a_line_in_a_session_file_costs_that_line_alone(workspace: Path, state: Path) -> None:
    with session_of(workspace, state) as (agent, session):
        agent.answer_to(agent.prompt(session, "hello"))
    [file] = (state / "sessions").iterdir()
    with file.open("a") as handle:
        handle.write('{"sessionUpdate": "agent_mess')

    with demo(workspace, state) as agent:
        agent.call("initialize", protocolVersion=1)
        agent.call("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
        assert agent.said() == "[scripted] You said: hello"
        agent.answer_to(agent.prompt(session, "again"))

    assert all(json.loads(line) for line in file.read_text().splitlines())


@pytest.mark.parametrize("session", ["demo-" + "0" * 32, "../../etc/passwd", ""])
def test_an_unknown_session_is_never_opened(workspace: Path, state: Path, session: str) -> None:
    with demo(workspace, state) as agent:
        agent.call("initialize", protocolVersion=1)
        for method in ("session/load", "session/resume"):
            answered = agent.call(method, sessionId=session, cwd=str(workspace), mcpServers=[])
            assert answered["error"]["code"] == -32002
        assert agent.answer_to(agent.prompt(session, "hello"))["error"]["code"] == -32602


def test_what_is_no_request_is_answered_or_passed_over(workspace: Path, state: Path) -> None:
    with session_of(workspace, state) as (agent, session):
        assert agent.call("session/fork", sessionId=session)["error"]["code"] == -32601
        assert agent.call("session/new", mcpServers=[])["error"]["code"] == -32602
        assert agent.call("session/new", cwd="here", mcpServers=[])["error"]["code"] == -32602
        agent.send_raw(b"this is no JSON\n")
        assert agent.until(lambda message: "error" in message)["error"]["code"] == -32700
        agent.send(method="some/notification", params={})
        assert agent.answer_to(agent.prompt(session, "hello"))["result"]["stopReason"] == "end_turn"


def test_the_end_of_input_ends_it(workspace: Path, state: Path) -> None:
    with session_of(workspace, state) as (agent, session):
        agent.prompt(session, "hang")
        agent.until(lambda message: message.get("method") == "session/update")
        assert agent.process.stdin is not None
        agent.process.stdin.close()

        assert agent.process.wait(timeout=20) == 0


@pytest.mark.parametrize(
    ("fault", "key", "value"),
    [("protocol_2", "protocolVersion", 2), ("nameless", "agentInfo", None)],
)
def test_a_start_that_goes_wrong_can_be_asked_for(
    workspace: Path, state: Path, fault: str, key: str, value: object
) -> None:
    with demo(workspace, state, INSPAN_DEMO_FAULT=fault) as agent:
        assert agent.call("initialize", protocolVersion=1)["result"].get(key) == value


def test_it_can_be_signed_out_or_end_at_once(workspace: Path, state: Path) -> None:
    with demo(workspace, state, INSPAN_DEMO_FAULT="signed_out") as agent:
        agent.call("initialize", protocolVersion=1)
        assert agent.call("session/new", cwd=str(workspace), mcpServers=[])["error"]["code"] == -32000
    with demo(workspace, state, INSPAN_DEMO_FAULT="exit") as agent:
        assert agent.process.wait(timeout=20) == 4


def test_without_a_named_folder_it_keeps_its_state_in_the_xdg_state_folder(
    workspace: Path, throwaway_home: Path
) -> None:
    with open_agent(COMMAND, cwd=workspace) as agent:
        agent.call("initialize", protocolVersion=1)
        new_session(agent, workspace)

    assert len(list((throwaway_home / "state" / "inspan-demo" / "sessions").iterdir())) == 1
