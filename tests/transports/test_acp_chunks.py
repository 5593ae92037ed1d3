"""The short way for words of the harness says exactly what the long way says."""

from __future__ import annotations

from typing import Any
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from inspan.model.manifest import AcpSettings
from inspan.transports.acp import machine as machine_module
from support.acp_peer import SESSION, AcpPeer, chunk

KINDS = ["agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "usage_update", "later"]
BLOCKS: st.SearchStrategy[Any] = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=5)}),
    st.sampled_from(
        [{"type": "text", "text": "t", "more": 1}, {"type": "text"}, {"type": "text", "text": None}]
    ),
    st.sampled_from([{"type": "text", "text": 7}, {}, None, {"type": "image", "data": "eA=="}]),
)
UPDATES: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"sessionUpdate": st.sampled_from(KINDS), "content": BLOCKS},
    optional={"messageId": st.sampled_from(["m1", None, 7]), "_meta": st.just({"a": [1]})},
)
PARAMS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"sessionId": st.sampled_from([SESSION, "ses-2"]), "update": UPDATES}
)
METHODS = st.sampled_from(["session/update", "session/update", "session/other"])
MESSAGES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"method": METHODS, "params": PARAMS},
    optional={"jsonrpc": st.just("2.0"), "id": st.sampled_from([1, None, "x"])},
)
PREPARED = st.sampled_from(["opening", "open", "prompted", "loading", "loaded"])


def said(messages: list[dict[str, Any]], *, prepared: str, is_short: bool) -> tuple[object, object, bytes]:
    """What a machine reports and writes of the messages, and the state that it is in then."""
    is_loading = prepared in ("loading", "loaded")
    settings: dict[str, Any] = {"attempt": "resume", "session_id": SESSION} if is_loading else {}
    peer = AcpPeer(acp=AcpSettings(replay_after_answer=True), **settings)
    peer.connect(loadSession=True)
    if prepared not in ("opening", "loading"):
        peer.result({"sessionId": SESSION})
    if prepared == "prompted":
        peer.prompt()
    way = mock.patch.object(machine_module, "is_chunk_taken", return_value=False)
    if is_short:
        peer.say(*messages)
    else:
        with way:
            peer.say(*messages)
    return peer.reports, peer.outgoing, peer.machine.snapshot()


@given(st.lists(MESSAGES, max_size=4), PREPARED)
def test_both_ways_say_the_same(messages: list[dict[str, Any]], prepared: str) -> None:
    assert said(messages, prepared=prepared, is_short=True) == said(
        messages, prepared=prepared, is_short=False
    )


def test_words_of_the_open_session_take_the_short_way() -> None:
    peer = AcpPeer()
    peer.open()
    with mock.patch.object(peer.machine, "_take_line") as long_way:
        peer.say(chunk("said"), chunk("thought", kind="agent_thought_chunk"))

    assert not long_way.called
    assert [report.rule for report in peer.reports[-2:]] == [
        "acp.update.agent_message_chunk",
        "acp.update.agent_thought_chunk",
    ]
