"""Questions: permission requests asked on the terminal, and answered from it.

A request that another operator answers meanwhile is dropped here without a further word from this person.
"""

from __future__ import annotations

import os
import sys

from inspan.model.errors import InspanError

from .context import Context, at
from .conversation_phrases import field_words
from .fields import Json, record, records, text
from .output import Piece, bold, cut, dim, warn
from .phrases import asked
from .rendering import Renderer

__all__ = ["Questions"]


class Questions:
    """The open requests of a turn; the first of them is the one that is asked.

    Attributes:
        open: Ids of the requests that wait for an answer, the oldest first.
    """

    def __init__(self, context: Context, renderer: Renderer | None, *, can_ask: bool):
        """Begins with none.

        Args:
            context: Where answers go.
            renderer: Shows the question; `None` keeps silent.
            can_ask: Whether a person sits at standard input.
        """
        self._context = context
        self._renderer = renderer
        self._can_ask = can_ask and renderer is not None
        self._requests: dict[str, Json] = {}
        self._forms: dict[str, Json] = {}
        self._typed = b""
        self.answered: list[Json] = []
        self._own: set[str] = set()

    @property
    def open(self) -> list[str]:
        """Ids of the requests and forms that wait for an answer, the oldest first."""
        return [*self._requests, *self._forms]

    def inputs(self) -> list[int]:
        """Descriptors to wait for: standard input while a question stands."""
        return [sys.stdin.fileno()] if self._can_ask and self._requests else []

    def is_asked_here(self, kind: str) -> bool:
        """Whether an event of this kind, once noted, is put to the person at once, which shows it whole."""
        return kind == "permission_opened" and self._can_ask and not self._requests

    def is_answered_here(self, request: str) -> bool:
        """Whether the person at this terminal gave the answer."""
        return request in self._own

    def note(self, kind: str, seat: str, event: Json) -> None:
        """Takes in an event of the turn."""
        request = text(event, "request")
        if kind == "permission_opened":
            self._requests[request] = {**event, "seat": seat}
            if not self._can_ask:
                self._tell(request)
            elif len(self._requests) == 1:
                self._ask()
        elif kind == "question_opened":
            self._forms[request] = event
            self._tell_form(request)
        elif kind == "question_answered":
            self._forms.pop(request, None)
        elif kind == "permission_answered" and self._requests.pop(request, None) is not None:
            self.answered.append(event)
            if self._can_ask and self._requests:
                self._ask()

    def read(self) -> None:
        """Reads what the person typed and answers with it. At the end of input nothing is asked any more."""
        typed = os.read(sys.stdin.fileno(), 4096)
        if not typed:
            self._can_ask = False
            for request in self._requests:
                self._tell(request)
            return
        *lines, self._typed = (self._typed + typed).split(b"\n")
        for line in lines:
            self._answer(line.decode("utf-8", "replace").strip().lower())

    def _ask(self) -> None:
        if self._renderer is None:
            return
        request = next(iter(self._requests.values()))
        self._renderer.line(warn("? "), *asked(record(request, "tool_call")))
        for piece in _details(record(request, "tool_call")):
            self._renderer.line("    ", piece)
        for number, option in enumerate(records(request, "options"), start=1):
            label = cut(text(option, "name") or text(option, "id"), 80)
            self._renderer.line(f"    {number}  ", bold(label), dim(f"  ({text(option, 'kind')})"))
        self._renderer.line("    ", dim("a number, or a to allow once, d to deny; Ctrl-C cancels the turn"))

    def _tell(self, request: str) -> None:
        if self._renderer is not None:
            self._renderer.line(
                dim(f"waits for an answer: `inspan approve {request}` or `inspan deny {request}`")
            )

    def _tell_form(self, request: str) -> None:
        if self._renderer is None:
            return
        for field in records(self._forms[request], "fields"):
            self._renderer.line("    ", *field_words(field))
        how = f"`inspan answer {request} --field NAME=VALUE` or `inspan answer {request} --decline`"
        self._renderer.line(dim(f"waits for an answer: {how}"))

    def _answer(self, word: str) -> None:
        if not self._requests or not word:
            return
        request = next(iter(self._requests))
        body = _decision(word, records(self._requests[request], "options"))
        if body is None:
            self._ask()
            return
        try:
            self._context.call(
                "POST",
                at("permissions", request, "answer"),
                body={**body, "seat": text(self._requests[request], "seat")},
            )
            self._own.add(request)
        except InspanError as error:
            if self._renderer is not None:
                self._renderer.line(warn(error.message), f" {error.hint}")
            if error.code in ("permission_closed", "unknown_permission"):
                self._requests.pop(request, None)


def _decision(word: str, options: list[Json]) -> Json | None:
    if word in ("a", "allow", "y", "yes"):
        return {"decision": "allow"}
    if word in ("d", "deny", "n", "no"):
        return {"decision": "deny"}
    if not word.isdecimal() or not 1 <= int(word) <= len(options):
        return None
    option = options[int(word) - 1]
    decision = "deny" if text(option, "kind").startswith("reject") else "allow"
    return {"decision": decision, "option": text(option, "id")}


def _details(tool_call: Json) -> list[Piece]:
    """The arguments of what is asked, where the title does not say them already."""
    import json

    given = tool_call.get("raw_input")
    if not given:
        return []
    return [dim(cut(json.dumps(given, ensure_ascii=False), 300))]
