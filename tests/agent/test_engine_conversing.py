"""Our conversation in the library's words: what every provider takes, whatever was cut, cancelled or summed up."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import exceptions
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.messages import TextPart as TheirText
from pydantic_ai.messages import ThinkingPart as TheirThinking
from pydantic_ai.messages import ToolCallPart as TheirCall

from inspan.agent.conversation import (
    AssistantMessage,
    AssistantPart,
    CallPart,
    CallResult,
    Message,
    Summary,
    TextPart,
    ThinkingPart,
    ToolMessage,
    UserMessage,
)
from inspan.agent.engine.pydantic_ai.conversing import call_of, state_of, to_library
from inspan.agent.engine.pydantic_ai.failing import failure_of
from inspan.agent.models.failure import FailureKind
from inspan.agent.values import ImageContent, TextContent, ToolCall, ToolResult

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SECRET = "sk-very-secret"
PICTURE = ImageContent(media_type="image/png", data="aGVsbG8=")


def _user(text: str) -> UserMessage:
    return UserMessage(at=NOW, content=(TextContent(text=text),))


def _assistant(*parts: AssistantPart, is_partial: bool = False) -> AssistantMessage:
    return AssistantMessage(at=NOW, model="openai:m", parts=parts, is_partial=is_partial)


def _call(call_id: str) -> CallPart:
    return CallPart(call=ToolCall(id=call_id, tool="look", arguments={"a": 1}))


def _results(*results: tuple[str, ToolResult]) -> ToolMessage:
    return ToolMessage(
        at=NOW, results=tuple(CallResult(call_id=one, tool="look", result=result) for one, result in results)
    )


def _kinds(messages: list[ModelMessage]) -> list[str]:
    return [message.kind for message in messages]


def test_a_turn_with_calls_becomes_requests_and_responses_with_its_instructions_on_the_newest() -> None:
    sent = to_library(
        [
            _user("go"),
            _assistant(TextPart(text="I look"), _call("c1"), _call("c2")),
            _results(("c1", ToolResult.of_text("found")), ("c2", ToolResult.error("nothing"))),
            _user("and now?"),
        ],
        "Be brief.",
    )
    assert _kinds(sent) == ["request", "response", "request"]
    newest = sent[-1]
    assert isinstance(newest, ModelRequest)
    assert newest.instructions == "Be brief."
    first, second, prompt = newest.parts
    assert isinstance(first, ToolReturnPart)
    assert isinstance(second, ToolReturnPart)
    assert (first.tool_call_id, first.content, first.outcome) == ("c1", "found", "success")
    assert (second.tool_call_id, second.content, second.outcome) == ("c2", "nothing", "failed")
    assert isinstance(prompt, UserPromptPart)


def test_what_was_cut_is_sent_as_its_text_alone_and_nothing_if_it_has_none() -> None:
    cut = _assistant(ThinkingPart(text="hm"), TextPart(text="half"), is_partial=True)
    empty = _assistant(ThinkingPart(text="hm"), TextPart(text=" "), is_partial=True)
    sent = to_library([_user("one"), cut, _user("two"), empty, _user("three")], "")
    assert _kinds(sent) == ["request", "response", "request"]
    response = sent[1]
    assert isinstance(response, ModelResponse)
    assert [type(part) for part in response.parts] == [TheirText]
    assert len(sent[2].parts) == 2


def test_a_summary_stands_at_the_beginning_as_the_persons_words() -> None:
    sent = to_library([Summary(at=NOW, text="so far"), _assistant(TextPart(text="on"))], "")
    assert _kinds(sent) == ["request", "response"]
    part = sent[0].parts[0]
    assert isinstance(part, UserPromptPart)
    assert "so far" in str(part.content)


def test_pictures_go_out_in_prompts_and_in_results() -> None:
    prompt = UserMessage(at=NOW, content=(TextContent(text="see"), PICTURE))
    shown = ToolResult(content=(TextContent(text="there"), PICTURE))
    sent = to_library([prompt, _assistant(_call("c")), _results(("c", shown))], "")
    for message, content in ((sent[0], "see"), (sent[2], "there")):
        part = message.parts[0]
        assert isinstance(part, (UserPromptPart, ToolReturnPart))
        text, picture = cast(list[object], part.content)
        assert text == content
        assert isinstance(picture, BinaryContent)
        assert picture.data == b"hello"


@pytest.mark.parametrize(
    "part",
    [
        TheirThinking(content="hm", signature="abc", provider_name="anthropic", id="t1"),
        TheirText(content="so", id="msg_1", provider_name="openai"),
        TheirCall(
            tool_name="look",
            args='{"a": 1}',
            tool_call_id="c",
            provider_name="google",
            provider_details={"thought_signature": "xyz"},
        ),
    ],
)
def test_what_a_provider_wants_back_goes_back_to_it_as_it_was(
    part: TheirThinking | TheirText | TheirCall,
) -> None:
    state = state_of(part)
    ours: AssistantPart
    match part:
        case TheirThinking():
            ours = ThinkingPart(text=part.content, provider_state=state)
        case TheirText():
            ours = TextPart(text=part.content, provider_state=state)
        case TheirCall():
            ours = CallPart(call=call_of(part), provider_state=state)
    response = to_library([_user("go"), _assistant(ours)], "")[1]
    assert isinstance(response, ModelResponse)
    back = response.parts[0]
    assert response.provider_name == part.provider_name
    assert state_of(back) == state  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_state_that_another_version_wrote_is_left_out() -> None:
    strange = ThinkingPart(text="hm", provider_state={"signature": {"deep": True}, "id": 7})
    response = to_library([_user("go"), _assistant(strange)], "")[1]
    assert isinstance(response.parts[0], TheirThinking)
    assert response.parts[0].signature is None


@pytest.mark.parametrize(
    ("given_by_model", "arguments", "is_malformed"),
    [
        ('{"a": 1}', {"a": 1}, False),
        ({"a": 1}, {"a": 1}, False),
        ("", {}, False),
        (None, {}, False),
        ('{"a": ', {}, True),
        ("[1]", {}, True),
        ('"text"', {}, True),
        ("[" * 100_000, {}, True),
    ],
)
def test_arguments_that_are_no_object_are_kept_as_what_they_were(
    given_by_model: str | dict[str, object] | None, arguments: dict[str, object], is_malformed: bool
) -> None:
    call = call_of(TheirCall(tool_name="look", args=given_by_model, tool_call_id="c"))
    assert call.arguments == arguments
    assert bool(call.malformed) is is_malformed
    assert len(call.malformed) <= 2_000


def test_a_tools_name_that_a_model_made_up_is_sent_as_providers_take_it() -> None:
    call = CallPart(call=ToolCall(id="c", tool="functions.look now\u2026" + "x" * 100, arguments={}))
    result = CallResult(call_id="c", tool=call.call.tool, result=ToolResult.error("There is none."))
    sent = to_library([_user("go"), _assistant(call), ToolMessage(at=NOW, results=(result,))], "")
    called, returned = sent[1].parts[0], sent[2].parts[0]
    assert isinstance(called, TheirCall)
    assert isinstance(returned, ToolReturnPart)
    assert called.tool_name == returned.tool_name
    assert re.fullmatch(r"functions_look_now_x+", called.tool_name)
    assert len(called.tool_name) == 64


_MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(_user, st.text(max_size=5)),
    st.builds(lambda: Summary(at=NOW, text="so far")),
    st.builds(
        _assistant,
        st.sampled_from([TextPart(text="a"), TextPart(text=""), ThinkingPart(text="b")]),
        is_partial=st.booleans(),
    ),
)


@given(st.lists(_MESSAGES, max_size=12))
def test_no_two_requests_follow_one_another(messages: list[Message]) -> None:
    kinds = _kinds(to_library(messages, "x"))
    assert all(pair != ("request", "request") for pair in pairwise(kinds))


def _all_errors() -> list[tuple[Exception, FailureKind]]:
    named: list[tuple[type[exceptions.ModelAPIError], FailureKind]] = [
        (exceptions.ModelQuotaExceededError, FailureKind.QUOTA),
        (exceptions.ModelRateLimitError, FailureKind.RATE),
        (exceptions.ModelContextWindowExceededError, FailureKind.CONTEXT),
        (exceptions.ModelAuthenticationError, FailureKind.AUTH),
        (exceptions.ModelNotFoundError, FailureKind.UNKNOWN_MODEL),
        (exceptions.ModelOverloadedError, FailureKind.UNAVAILABLE),
        (exceptions.ModelServerError, FailureKind.UNAVAILABLE),
        (exceptions.ModelConnectionError, FailureKind.CONNECTION),
        (exceptions.ModelTimeoutError, FailureKind.CONNECTION),
        (exceptions.ModelRequestRejectedError, FailureKind.REJECTED),
    ]
    found: list[tuple[Exception, FailureKind]] = [
        (kind("m", SECRET, body={"key": SECRET}, retry_after=3.0), means) for kind, means in named
    ]
    return [
        *found,
        (exceptions.ModelHTTPError(503, "m", SECRET), FailureKind.UNAVAILABLE),
        (exceptions.ModelHTTPError(418, "m", SECRET), FailureKind.REJECTED),
        (exceptions.ContentFilterError(SECRET), FailureKind.CONTENT),
        (exceptions.UnexpectedModelBehavior(SECRET), FailureKind.GARBAGE),
        (exceptions.UserError(SECRET), FailureKind.RAISED),
        (ValueError(SECRET), FailureKind.RAISED),
    ]


def test_every_failure_of_the_library_is_told_apart_and_none_of_its_words_is_told() -> None:
    for error, kind in _all_errors():
        failure = failure_of(error)
        assert failure.kind is kind, error
        assert SECRET not in failure.message
        assert failure.message.endswith(".")
    assert failure_of(_all_errors()[1][0]).retry_after_s == 3.0
