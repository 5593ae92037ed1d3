"""A machine that follows a conversation which somebody else holds: it reads along and writes nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from inspan.model.plan import TransportSettings

from .exchange import Exchange, Purpose
from .loose import mapping_in, text_in
from .machine import AcpMachine
from .state import AcpState, CallKind, OpenCall

__all__ = ["AcpFollower"]

_KINDS: dict[str, CallKind] = {
    "initialize": "initialize",
    "authenticate": "authenticate",
    "session/new": "new",
    "session/load": "load",
    "session/resume": "resume",
    "session/fork": "fork",
    "session/set_mode": "set_mode",
    "session/set_config_option": "set_config",
    "session/prompt": "prompt",
}


class AcpFollower(AcpMachine):
    """An `AcpMachine` whose calls are those of a recorded client.

    It is told what that client wrote (`observe`) and fed what the harness answered (`feed`), in the order in
    which both happened, and says of the harness what it would say of its own conversation. A session counts as
    ready as soon as it is open, since nobody knows what the client still means to set.
    """

    def __init__(self, settings: TransportSettings) -> None:
        own = msgspec.structs.replace(
            settings,
            attempt="fresh",
            auth_method=None,
            session_mode=None,
            config_options={},
            listed_in=(),
            answers_questions=True,
        )
        super().__init__(own)
        self._exchange = _SilentExchange(own, AcpState())

    def observe(self, message: dict[str, Any], *, delivery: str) -> None:
        """Takes a message that the client wrote; `delivery` is the id that it gets if it is a prompt."""
        state = self._exchange.state
        if "id" not in message:
            return
        key = msgspec.json.encode(message["id"]).decode()
        method = message.get("method")
        if not isinstance(method, str):
            state.permissions = tuple(one for one in state.permissions if one != key)
            chosen = mapping_in(mapping_in(message, "result"), "outcome")
            self._exchange.note_answer(text_in(chosen, "optionId") or None)
            state.questions = tuple(one for one in state.questions if one != key)
            return
        params = mapping_in(message, "params")
        kind = _KINDS.get(method, "other")
        value = params.get("modeId", params.get("value"))
        call = OpenCall(
            kind=kind,
            delivery=delivery if kind == "prompt" else None,
            session=text_in(params, "sessionId") or None,
            option=text_in(params, "configId") or None,
            value=str(value).lower()
            if isinstance(value, bool)
            else text_in({"value": value}, "value") or None,
        )
        self._exchange.open_call(key, call)


class _SilentExchange(Exchange):
    def call(self, call: OpenCall, method: str, params: dict[str, Any], *, purpose: Purpose) -> None:
        """The client makes its calls itself."""

    def write(
        self, data: bytes, *, purpose: Purpose, delivery: str | None = None, request: str | None = None
    ) -> None:
        """Nothing is written."""
