"""The OpenAI responses format: `POST .../responses`."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

from support.model_server.arguments import WRITTEN_TEXT
from support.model_server.asked import Asked, Json, Tool, members, object_at, text_of, without_reminders
from support.model_server.chat_completions import failure
from support.model_server.scripts import Answer, Call
from support.model_server.wire import Frame, Pause, Piece, Silence, fresh_id, now_s, said

__all__ = ["NAME", "failure", "is_for", "read", "stream", "whole"]

NAME: str = "responses"

_USAGE = {
    "input_tokens": 1200,
    "input_tokens_details": {"cached_tokens": 1000},
    "output_tokens": 34,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 1234,
}


def is_for(path: str) -> bool:
    return path.endswith("/responses")


def read(path: str, body: Json) -> Asked:
    asked_items = body.get("input")
    user_texts = [asked_items] if isinstance(asked_items, str) else []
    system_texts = [str(body.get("instructions") or "")]
    has_tool_result = False
    for item in members(asked_items):
        kind = str(item.get("type") or "message")
        text = text_of(item.get("content"))
        if kind.endswith("_output"):
            has_tool_result = True
        elif kind == "message" and item.get("role") == "user" and (typed := without_reminders(text)):
            user_texts.append(typed)
            has_tool_result = False
        elif kind == "message" and item.get("role") in ("system", "developer"):
            system_texts.append(text)
    return Asked(
        model=str(body.get("model") or "scripted-1"),
        is_stream=bool(body.get("stream")),
        user_texts=tuple(user_texts),
        has_tool_result=has_tool_result,
        tools=tuple(_tool(tool) for tool in members(body.get("tools"))),
        system_text="\n".join(system_texts),
        answer_schema=object_at(body, "text", "format").get("schema"),
    )


def whole(asked: Asked, answer: Answer) -> Json:
    output = [_message(answer.text)]
    if answer.call:
        output.append(_call(answer.call))
    return _response(asked, status="completed", output=output, usage=_USAGE)


def stream(asked: Asked, answer: Answer) -> Iterator[Piece]:
    numbers = itertools.count()

    def event(kind: str, **fields: object) -> Frame:
        return Frame({"type": kind, "sequence_number": next(numbers)} | fields, kind)

    response = _response(asked, status="in_progress", output=[], usage=None)
    yield event("response.created", response=response)
    yield event("response.in_progress", response=response)
    message = _message(answer.text)
    here = {"item_id": message["id"], "output_index": 0, "content_index": 0}
    empty_part: Json = {"type": "output_text", "text": "", "annotations": []}
    opened: Json = message | {"status": "in_progress", "content": list[Json]()}
    yield event("response.output_item.added", output_index=0, item=opened)
    yield event("response.content_part.added", part=empty_part, **here)
    for word in said(answer):
        if isinstance(word, Pause):
            yield word
        else:
            yield event("response.output_text.delta", delta=word, logprobs=[], **here)
    if answer.is_endless:
        yield Silence()
        return
    yield event("response.output_text.done", text=answer.text, logprobs=[], **here)
    yield event("response.content_part.done", part=message["content"][0], **here)
    yield event("response.output_item.done", output_index=0, item=message)
    output = [message]
    if answer.call:
        call = _call(answer.call)
        output.append(call)
        emptied = {"input": ""} if answer.call.is_freeform else {"arguments": ""}
        yield event(
            "response.output_item.added", output_index=1, item=call | {"status": "in_progress"} | emptied
        )
        if not answer.call.is_freeform:
            where = {"item_id": call["id"], "output_index": 1}
            yield event("response.function_call_arguments.delta", delta=call["arguments"], **where)
            yield event("response.function_call_arguments.done", arguments=call["arguments"], **where)
        yield event("response.output_item.done", output_index=1, item=call)
    done = response | {"status": "completed", "output": output, "usage": _USAGE}
    yield event("response.completed", response=done)


def _response(asked: Asked, *, status: str, output: list[Json], usage: Json | None) -> Json:
    return {
        "id": fresh_id("resp_"),
        "object": "response",
        "created_at": now_s(),
        "model": asked.model,
        "status": status,
        "output": output,
        "usage": usage,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "temperature": 1,
        "top_p": 1,
    }


def _message(text: str) -> Json:
    part: Json = {"type": "output_text", "text": text, "annotations": []}
    return {
        "type": "message",
        "id": fresh_id("msg_"),
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def _call(call: Call) -> Json:
    head = {"call_id": fresh_id("call_"), "name": call.name, "status": "completed"}
    if call.is_freeform:
        path = call.arguments.get("path", "scripted.txt")
        patch = f"*** Begin Patch\n*** Add File: {path}\n+{WRITTEN_TEXT}*** End Patch\n"
        return {"type": "custom_tool_call", "id": fresh_id("ctc_"), "input": patch} | head
    return {"type": "function_call", "id": fresh_id("fc_"), "arguments": json.dumps(call.arguments)} | head


def _tool(tool: Json) -> Tool:
    return Tool(
        name=str(tool.get("name") or tool.get("type")),
        schema=tool.get("parameters") or {},
        is_freeform=tool.get("type") == "custom",
    )
