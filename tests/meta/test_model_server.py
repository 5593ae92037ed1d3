"""The scripted model, over HTTP as a client sees it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

_TESTS = Path(__file__).resolve().parents[1]
_SHELL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "timeout": {"type": "number"}},
    "required": ["command"],
}
_WRITE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"filePath": {"type": "string"}, "content": {"type": "string"}},
    "required": ["filePath", "content"],
}


class _Server:
    def __init__(self, port: int, log: Path) -> None:
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30)
        self._log = log

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines()]


@contextmanager
def _running(log: Path) -> Generator[_Server]:
    process = subprocess.Popen(
        [sys.executable, "-m", "support.model_server", "--port", "0", "--log", str(log), "--stop-with-stdin"],
        env={"PYTHONPATH": str(_TESTS), "PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        server = _Server(int(process.stdout.readline()), log)
        try:
            with server.client:
                yield server
        finally:
            process.stdin.close()
            assert process.wait(timeout=10) == 0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[_Server]:
    with _running(tmp_path / "model.jsonl") as running:
        yield running


def _chat_tools() -> list[dict[str, Any]]:
    schemas = {"bash": _SHELL_SCHEMA, "write": _WRITE_SCHEMA}
    return [
        {"type": "function", "function": {"name": name, "parameters": schema}}
        for name, schema in schemas.items()
    ]


def _chat(server: _Server, *messages: tuple[str, str], **more: Any) -> dict[str, Any]:
    body = {"model": "m", "messages": [{"role": role, "content": text} for role, text in messages]}
    response = server.client.post("/v1/chat/completions", json=body | more)
    assert response.status_code == 200
    return cast(dict[str, Any], response.json()["choices"][0]["message"])


def _wait(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _events(response: httpx.Response) -> list[Any]:
    datas = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    return [data if data == "[DONE]" else json.loads(data) for data in datas]


def test_a_message_without_a_marker_gets_the_plain_answer(server: _Server) -> None:
    assert "PLAIN-ANSWER" in _chat(server, ("user", "good morning"))["content"]


def test_the_last_marker_of_merged_messages_wins_and_plain_resets(server: _Server) -> None:
    assert "THINK-ANSWER" in _chat(server, ("user", "QUOTA please\nTHINK please"))["content"]
    assert "PLAIN-ANSWER" in _chat(server, ("user", "QUOTA please\nPLAIN please"))["content"]


def test_markers_of_earlier_messages_do_not_count(server: _Server) -> None:
    assert "PLAIN-ANSWER" in _chat(server, ("user", "QUOTA please"), ("user", "good morning"))["content"]


def test_a_reminder_block_does_not_hide_what_was_typed(server: _Server) -> None:
    reminder = "<system-reminder>QUOTA is a word</system-reminder>"
    assert "THINK-ANSWER" in _chat(server, ("user", "THINK please"), ("user", reminder))["content"]


def test_recall_repeats_the_earlier_user_messages(server: _Server) -> None:
    answer = _chat(server, ("user", "blue"), ("assistant", "ok"), ("user", "RECALL please"))
    assert answer["content"] == "I was told: blue"


def test_a_slow_stream_has_the_asked_number_of_words_and_ends_with_usage(server: _Server) -> None:
    asked = {"messages": [{"role": "user", "content": "SLOW [words=3] [interval=0.01]"}], "stream": True}
    events = _events(server.client.post("/v1/chat/completions", json=asked))
    assert events[-1] == "[DONE]"
    assert events[-2]["usage"]["total_tokens"] == 1234
    deltas = [event["choices"][0]["delta"] for event in events[:-1] if event["choices"]]
    spoken = "".join(delta.get("content", "") for delta in deltas)
    assert spoken == "slow-0 slow-1 slow-2 SLOW-END"


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("TOOLSHELL [cmd=echo two > two.txt]", "bash", {"command": "echo two > two.txt"}),
        ('TOOLNAMED [tool=ash] [args={"command": "true"}]', "bash", {"command": "true"}),
        ("TOOLWRITE [path=a/b.txt]", "write", {"filePath": "a/b.txt", "content": "scripted content\n"}),
    ],
)
def test_a_tool_call_fits_the_schema_that_was_offered(
    server: _Server, text: str, name: str, arguments: dict[str, str]
) -> None:
    called = _chat(server, ("user", text), tools=_chat_tools())["tool_calls"][0]["function"]
    assert called["name"] == name
    assert json.loads(called["arguments"]) == arguments


def test_after_a_tool_result_the_model_goes_on_with_text(server: _Server) -> None:
    messages = ("user", "TOOLSHELL"), ("assistant", ""), ("tool", "done")
    assert "AFTER-TOOL" in _chat(server, *messages, tools=_chat_tools())["content"]
    last = [line for line in server.lines() if line["kind"] == "request"][-1]
    assert last["has_tool_result"] is True
    assert last["marker"] is None


def test_a_demanded_schema_is_fulfilled_and_logged_as_a_side_request(server: _Server) -> None:
    schema = {"type": "object", "properties": {"safe": {"type": "boolean"}}, "required": ["safe"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    assert json.loads(_chat(server, ("user", "HANG"), response_format=wanted)["content"]) == {"safe": False}
    assert server.lines()[0]["is_side"] is True


def test_a_request_for_a_title_is_a_side_request_whatever_it_quotes(server: _Server) -> None:
    asked = ("system", "You write a title for the conversation."), ("user", "HANG please")
    assert _chat(server, *asked)["content"] == "Scripted title"
    line = server.lines()[0]
    assert (line["is_side"], line["marker"]) == (True, None)


_FAILURES = [("QUOTA", 429, 429), ("AUTHFAIL", 401, 401), ("OVERLOAD", 503, 529)]
_GEMINI = "/v1beta/models/m:generateContent"
_PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages", _GEMINI)


def _body(path: str, text: str) -> dict[str, Any]:
    if path == "/v1/responses":
        return {"input": text}
    if path == _GEMINI:
        return {"contents": [{"role": "user", "parts": [{"text": text}]}]}
    return {"messages": [{"role": "user", "content": text}]}


@pytest.mark.parametrize("path", _PATHS)
@pytest.mark.parametrize(("marker", "status", "status_of_messages"), _FAILURES)
def test_every_format_fails_with_the_status_of_its_provider(
    server: _Server, path: str, marker: str, status: int, status_of_messages: int
) -> None:
    response = server.client.post(path, json=_body(path, f"{marker} please"))
    assert response.status_code == (status_of_messages if path == "/v1/messages" else status)
    assert response.json()["error"]["message"]
    # The answer is on its way before its line is in the log.
    _wait(lambda: [line.get("how") for line in server.lines()] == [None, "refused"])


@pytest.mark.parametrize("path", _PATHS)
def test_every_format_answers_whole_and_streamed(server: _Server, path: str) -> None:
    body = _body(path, "good morning")
    assert "PLAIN-ANSWER" in server.client.post(path, json=body).text
    if path.endswith(":generateContent"):
        path = path.replace(":generateContent", ":streamGenerateContent?alt=sse")
    streamed = server.client.post(path, json=body | {"stream": True})
    assert streamed.headers["content-type"] == "text/event-stream"
    assert len(_events(streamed)) > 5
    assert "PLAIN-ANSWER" in streamed.text


def test_the_other_formats_call_the_shell_tool_too(server: _Server) -> None:
    def answer(path: str, tool: dict[str, Any]) -> dict[str, Any]:
        body = _body(path, "TOOLSHELL [cmd=true]") | {"tools": [tool]}
        return cast(dict[str, Any], server.client.post(path, json=body).json())

    expected = {"command": "true"}
    function = {"type": "function", "name": "shell", "parameters": _SHELL_SCHEMA}
    responded = answer("/v1/responses", function)["output"][1]
    assert json.loads(responded["arguments"]) == expected

    used = answer("/v1/messages", {"name": "Bash", "input_schema": _SHELL_SCHEMA})["content"][1]
    assert (used["name"], used["input"]) == ("Bash", expected)

    declared = {"name": "run_shell_command", "parametersJsonSchema": _SHELL_SCHEMA}
    parts = answer(_GEMINI, {"functionDeclarations": [declared]})["candidates"][0]["content"]["parts"]
    assert parts[1]["functionCall"] == {"name": "run_shell_command", "args": expected}


def test_a_hanging_stream_notices_that_the_client_left(server: _Server) -> None:
    asked = {"messages": [{"role": "user", "content": "HANG please"}], "stream": True}
    with server.client.stream("POST", "/v1/chat/completions", json=asked) as response:
        for line in response.iter_lines():
            if "ends" in line:
                break
    deadline = time.monotonic() + 30
    while not any(line.get("how") == "client_left" for line in server.lines()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_model_lists_and_token_counts_are_answered(server: _Server) -> None:
    assert server.client.head("/v1/models").status_code == 200
    assert server.client.get("/v1/models").json()["data"][0]["id"] == "scripted-1"
    assert server.client.get("/v1beta/models").json()["models"][0]["name"] == "models/scripted-1"
    assert server.client.post("/v1/messages/count_tokens", json={}).json()["input_tokens"] == 1200
    assert server.client.post("/v1/unknown", json={}).status_code == 404
    assert [line["status"] for line in server.lines()] == [200, 200, 200, 404]
