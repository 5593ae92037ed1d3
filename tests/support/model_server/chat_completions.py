"""The OpenAI chat completions format: `POST .../chat/completions`."""

from __future__ import annotations

import json
from collections.abc import Iterator

from support.model_server.asked import Asked, Json, Tool, members, object_at, text_of, without_reminders
from support.model_server.scripts import Answer, Call, Failure
from support.model_server.wire import Frame, Pause, Piece, Silence, fresh_id, now_s, said

__all__ = ["NAME", "failure", "is_for", "read", "stream", "whole"]

NAME: str = "chat_completions"

_USAGE = {
    "prompt_tokens": 1200,
    "completion_tokens": 34,
    "total_tokens": 1234,
    "prompt_tokens_details": {"cached_tokens": 1000},
}


def is_for(path: str) -> bool:
    return path.endswith("/chat/completions")


def read(path: str, body: Json) -> Asked:
    user_texts: list[str] = []
    system_texts: list[str] = []
    has_tool_result = False
    for message in members(body.get("messages")):
        text = text_of(message.get("content"))
        match message.get("role"):
            case "system" | "developer":
                system_texts.append(text)
            case "user" if typed := without_reminders(text):
                user_texts.append(typed)
                has_tool_result = False
            case "tool":
                has_tool_result = True
            case _:
                pass
    return Asked(
        model=str(body.get("model") or "scripted-1"),
        is_stream=bool(body.get("stream")),
        user_texts=tuple(user_texts),
        has_tool_result=has_tool_result,
        tools=tuple(_tool(tool) for tool in members(body.get("tools"))),
        system_text="\n".join(system_texts),
        answer_schema=object_at(body, "response_format", "json_schema").get("schema"),
    )


def whole(asked: Asked, answer: Answer) -> Json:
    message: Json = {"role": "assistant", "content": answer.text}
    if answer.thought:
        message["reasoning_content"] = answer.thought
    if answer.call:
        message["tool_calls"] = [_call(answer.call)]
    choice = {"index": 0, "message": message, "finish_reason": _finish(answer)}
    return {
        "id": fresh_id("chatcmpl-"),
        "object": "chat.completion",
        "created": now_s(),
        "model": asked.model,
        "choices": [choice],
        "usage": _USAGE,
    }


def stream(asked: Asked, answer: Answer) -> Iterator[Piece]:
    head: Json = {
        "id": fresh_id("chatcmpl-"),
        "object": "chat.completion.chunk",
        "created": now_s(),
        "model": asked.model,
    }

    def chunk(delta: Json, finish_reason: str | None = None) -> Frame:
        return Frame(head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})

    yield chunk({"role": "assistant", "content": ""})
    if answer.thought:
        yield chunk({"reasoning_content": answer.thought})
    for word in said(answer):
        yield word if isinstance(word, Pause) else chunk({"content": word})
    if answer.is_endless:
        yield Silence()
        return
    if answer.call:
        yield chunk({"tool_calls": [{"index": 0} | _call(answer.call)]})
    yield chunk({}, _finish(answer))
    yield Frame(head | {"choices": [], "usage": _USAGE})
    yield Frame("[DONE]")


def failure(failure: Failure) -> tuple[int, Json]:
    status, code = {
        Failure.QUOTA: (429, "insufficient_quota"),
        Failure.AUTH: (401, "invalid_api_key"),
        Failure.OVERLOAD: (503, "server_error"),
    }[failure]
    return status, {"error": {"message": failure.value, "type": code, "param": None, "code": code}}


def _tool(tool: Json) -> Tool:
    function: Json = tool.get("function") or tool
    return Tool(name=str(function.get("name")), schema=function.get("parameters") or {})


def _call(call: Call) -> Json:
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return {"id": fresh_id("call_"), "type": "function", "function": function}


def _finish(answer: Answer) -> str:
    return "tool_calls" if answer.call else "stop"
