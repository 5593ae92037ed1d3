"""The Gemini format: `POST .../models/MODEL:generateContent` and `:streamGenerateContent`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from support.model_server.asked import Asked, Json, Tool, members, object_at, text_of, without_reminders
from support.model_server.scripts import Answer, Failure
from support.model_server.wire import Frame, Pause, Piece, Silence, fresh_id, said

__all__ = ["NAME", "failure", "is_for", "read", "stream", "whole"]

NAME: str = "generate_content"

_PATH = re.compile(r"/models/([^/:]+):(stream)?[gG]enerateContent$")
_USAGE = {
    "promptTokenCount": 1200,
    "candidatesTokenCount": 34,
    "totalTokenCount": 1234,
    "cachedContentTokenCount": 1000,
}
_QUOTA_DETAILS = [
    {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [
            {
                "quotaMetric": "generativelanguage.googleapis.com/generate_requests_per_day",
                "quotaId": "GenerateRequestsPerDayPerProjectPerModel",
            }
        ],
    }
]


def is_for(path: str) -> bool:
    return _PATH.search(path) is not None


def read(path: str, body: Json) -> Asked:
    user_texts: list[str] = []
    has_tool_result = False
    for content in members(body.get("contents")):
        if content.get("role") == "model":
            continue
        parts = content.get("parts")
        if any("functionResponse" in part for part in members(parts)):
            has_tool_result = True
        if typed := without_reminders(text_of(parts)):
            user_texts.append(typed)
            has_tool_result = False
    settings: Json = body.get("generationConfig") or {}
    found = _PATH.search(path)
    return Asked(
        model=found.group(1) if found else "scripted-1",
        is_stream=bool(found and found.group(2)),
        user_texts=tuple(user_texts),
        has_tool_result=has_tool_result,
        tools=tuple(
            Tool(
                name=str(declared.get("name")),
                schema=declared.get("parametersJsonSchema")
                or declared.get("parameters_json_schema")
                or declared.get("parameters")
                or {},
            )
            for group in members(body.get("tools"))
            for declared in members(group.get("functionDeclarations"))
        ),
        system_text=text_of(object_at(body, "systemInstruction").get("parts")),
        answer_schema=settings.get("responseJsonSchema") or settings.get("responseSchema"),
    )


def whole(asked: Asked, answer: Answer) -> Json:
    parts: list[Json] = [{"text": answer.text}]
    if answer.thought:
        parts.insert(0, {"text": answer.thought, "thought": True})
    if answer.call:
        parts.append(_call_part(answer))
    return _response(asked, fresh_id("scripted-"), parts, is_last=True)


def stream(asked: Asked, answer: Answer) -> Iterator[Piece]:
    number = fresh_id(
        "scripted-"
    )  # one for the whole stream: a client takes another one for a resumed answer
    if answer.thought:
        yield Frame(_response(asked, number, [{"text": answer.thought, "thought": True}]))
    for word in said(answer):
        yield word if isinstance(word, Pause) else Frame(_response(asked, number, [{"text": word}]))
    if answer.is_endless:
        yield Silence()
        return
    if answer.call:
        yield Frame(_response(asked, number, [_call_part(answer)]))
    yield Frame(_response(asked, number, [{"text": ""}], is_last=True))


def failure(failure: Failure) -> tuple[int, Json]:
    status, name = {
        Failure.QUOTA: (429, "RESOURCE_EXHAUSTED"),
        Failure.AUTH: (401, "UNAUTHENTICATED"),
        Failure.OVERLOAD: (503, "UNAVAILABLE"),
    }[failure]
    details = _QUOTA_DETAILS if failure is Failure.QUOTA else []
    return status, {"error": {"code": status, "message": failure.value, "status": name, "details": details}}


def _call_part(answer: Answer) -> Json:
    assert answer.call is not None
    return {"functionCall": {"name": answer.call.name, "args": answer.call.arguments}}


def _response(asked: Asked, number: str, parts: list[Json], *, is_last: bool = False) -> Json:
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
    response: Json = {
        "candidates": [candidate],
        "modelVersion": asked.model,
        "responseId": number,
    }
    if is_last:
        candidate["finishReason"] = "STOP"
        response["usageMetadata"] = _USAGE
    return response
