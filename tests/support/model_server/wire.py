"""What a wire format must offer, and the pieces that its streams are made of."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from support.model_server.asked import Asked, Json
from support.model_server.scripts import Answer, Failure, words_of

__all__ = ["Frame", "Pause", "Piece", "Silence", "WireFormat", "fresh_id", "now_s", "said"]

_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Frame:
    """One server-sent event."""

    data: Json | str
    event: str | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait before the next piece."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Silence:
    """Say nothing more until the client goes away."""


Piece = Frame | Pause | Silence


class WireFormat(Protocol):
    """One provider's way to put requests and answers; fulfilled by a module."""

    NAME: str

    def is_for(self, path: str) -> bool:
        """Whether a POST to `path` (without its query) speaks this format."""
        ...

    def read(self, path: str, body: Json) -> Asked:
        """Read a request."""
        ...

    def whole(self, asked: Asked, answer: Answer) -> Json:
        """Word an answer that is sent at once."""
        ...

    def stream(self, asked: Asked, answer: Answer) -> Iterator[Piece]:
        """Word an answer as server-sent events."""
        ...

    def failure(self, failure: Failure) -> tuple[int, Json]:
        """Word a failure: the HTTP status and its body."""
        ...


def said(answer: Answer) -> Iterator[str | Pause]:
    """Yield the words of an answer, each followed by its pause if the script is a slow one."""
    for word in words_of(answer.text):
        yield word
        if answer.interval_s:
            yield Pause(answer.interval_s)


def fresh_id(prefix: str) -> str:
    """Return an id that no other answer of this process has."""
    return f"{prefix}{next(_NUMBERS):012d}"


def now_s() -> int:
    """Return the Unix time in whole seconds, as the wire formats want it."""
    return int(time.time())
