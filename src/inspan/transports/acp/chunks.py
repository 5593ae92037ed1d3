"""The short way for a piece of the harness's words, which is nearly all that a harness says.

One decoding of the whole line instead of envelope, update and block one after the other. What is taken here
is reported as `incoming.on_update` would report it; a test compares the two.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from inspan.model.content import MessageChunk

from .exchange import Exchange
from .turns import witness
from .wire import ABSENT, UNREADABLE, Block

__all__ = ["is_chunk_taken"]


class _Said(msgspec.Struct, tag="agent_message_chunk", tag_field="sessionUpdate", gc=False):
    content: Block
    messageId: str | None = None  # noqa: N815


class _Thought(msgspec.Struct, tag="agent_thought_chunk", tag_field="sessionUpdate", gc=False):
    content: Block
    messageId: str | None = None  # noqa: N815


class _Params(msgspec.Struct, gc=False):
    sessionId: str  # noqa: N815
    update: _Said | _Thought


class _Line(msgspec.Struct, gc=False):
    method: Literal["session/update"]
    params: _Params
    id: msgspec.Raw = ABSENT


_decode = msgspec.json.Decoder(_Line).decode


def is_chunk_taken(exchange: Exchange, line: bytes) -> bool:
    """Takes a line if it is a piece of plain text in the open session, and no replay is about.

    Nothing of it is kept but its text, so that it cannot nest too deeply.
    """
    try:
        message = _decode(line)
    except UNREADABLE:
        return False
    state, session, update = exchange.state, message.params.sessionId, message.params.update
    block = update.content
    if (
        message.id is not ABSENT
        or session != state.session
        or state.replay != "no"
        or block.type != "text"
        or block.text is None
    ):
        return False
    if type(update) is _Said:
        role, rule = "agent", "acp.update.agent_message_chunk"
    else:
        role, rule = "thought", "acp.update.agent_thought_chunk"
    if state.unwitnessed is not None:
        witness(exchange, rule)
    content = MessageChunk(role=role, text=block.text, message_id=update.messageId)
    exchange.report(content, rule, session=session)
    return True
