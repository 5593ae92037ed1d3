"""The Anthropic messages format: `POST .../messages`."""

from __future__ import annotations

import json
from collections.abc import Iterator

from support.model_server.asked import Asked, Json, Tool, members, object_at, text_of, without_reminders
from support.model_server.scripts import Answer, Failure
from support.model_server.wire import Frame, Pause, Piece, Silence, fresh_id, said

__all__ = ["NAME", "failure", "is_for", "read", "stream", "whole"]

NAME: str = "messages"

_USAGE = {
    "input_tokens": 200,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 1000,
    "output_tokens": 34,
}


def is_for(path: str) -> bool:
    return path.endswith("/messages")


def read(path: str, body: Json) -> Asked:
    user_texts: list[str] = []
    has_tool_result = False
    for message in members(body.get("messages")):
        if message.get("role") != "user":
            continue
        content = message.get("content")
        # Tool results are user messages here; text in the same message comes after them only if typed.
        if any(part.get("type") == "tool_result" for part in members(content)):
            has_tool_result = True
        if typed := without_reminders(text_of(content)):
            user_texts.append(typed)
            has_tool_result = False
    return Asked(
        model=str(body.get("model") or "scripted-1"),
        is_stream=bool(body.get("stream")),
        user_texts=tuple(user_texts),
        has_tool_result=has_tool_result,
        tools=tuple(
            Tool(name=str(tool.get("name")), schema=tool.get("input_schema") or {})
            for tool in members(body.get("tools"))
        ),
        system_text=text_of(body.get("system")),
        answer_schema=object_at(body, "output_config", "format").get("schema"),
    )


def whole(asked: Asked, answer: Answer) -> Json:
    return _message(asked) | {"content": _blocks(answer), "stop_reason": _stop(answer), "usage": _USAGE}


def stream(asked: Asked, answer: Answer) -> Iterator[Piece]:
    yield _frame("message_start", message=_message(asked))
    yield _frame("ping")
    for index, block in enumerate(_blocks(answer)):
        start, deltas = _opened(block, answer)
        yield _frame("content_block_start", index=index, content_block=start)
        for delta in deltas:
            if isinstance(delta, Pause | Silence):
                yield delta
            else:
                yield _frame("content_block_delta", index=index, delta=delta)
        yield _frame("content_block_stop", index=index)
    yield _frame("message_delta", delta={"stop_reason": _stop(answer), "stop_sequence": None}, usage=_USAGE)
    yield _frame("message_stop")


def failure(failure: Failure) -> tuple[int, Json]:
    status, kind = {
        Failure.QUOTA: (429, "rate_limit_error"),
        Failure.AUTH: (401, "authentication_error"),
        Failure.OVERLOAD: (529, "overloaded_error"),
    }[failure]
    error = {"type": kind, "message": failure.value}
    return status, {"type": "error", "error": error, "request_id": fresh_id("req_")}


def _frame(kind: str, **fields: object) -> Frame:
    return Frame({"type": kind} | fields, kind)


def _message(asked: Asked) -> Json:
    return {
        "id": fresh_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _USAGE | {"output_tokens": 1},
    }


def _blocks(answer: Answer) -> list[Json]:
    blocks: list[Json] = []
    if answer.thought:
        # The signature is opaque to clients; they only send it back.
        blocks.append({"type": "thinking", "thinking": answer.thought, "signature": "c2NyaXB0ZWQ="})
    blocks.append({"type": "text", "text": answer.text})
    if answer.call:
        call = {"id": fresh_id("toolu_"), "name": answer.call.name, "input": answer.call.arguments}
        blocks.append({"type": "tool_use"} | call)
    return blocks


def _opened(block: Json, answer: Answer) -> tuple[Json, Iterator[Json | Pause | Silence]]:
    match block["type"]:
        case "thinking":
            deltas: list[Json | Pause | Silence] = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
            return block | {"thinking": "", "signature": ""}, iter(deltas)
        case "text":
            return block | {"text": ""}, _text_deltas(answer)
        case _:
            encoded = json.dumps(block["input"])
            return block | {"input": {}}, iter([{"type": "input_json_delta", "partial_json": encoded}])


def _text_deltas(answer: Answer) -> Iterator[Json | Pause | Silence]:
    for word in said(answer):
        yield word if isinstance(word, Pause) else {"type": "text_delta", "text": word}
    if answer.is_endless:
        yield Silence()


def _stop(answer: Answer) -> str:
    return "tool_use" if answer.call else "end_turn"
