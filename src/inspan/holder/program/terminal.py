"""What an owner may ask of a harness's terminal: keys, answers, its size, its foreground."""

from __future__ import annotations

import binascii

from .clients import Refusal, integer
from .processes import read_process, read_program
from .ptys import foreground_group, set_window_size
from .sizes import MAX_SIDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .clients import Client
    from .input import Input
    from .output import Output
    from .sizes import Sizes

__all__ = ["MAX_ANSWER_BYTES", "MAX_KEY_BYTES", "Terminal"]

MAX_KEY_BYTES = 256 * 1024  # of keys that wait for a harness that does not read
MAX_ANSWER_BYTES = 320 * 1024  # of keys and answers: a paste does not keep an answer out


class Terminal:
    """The terminal of one launch.

    Attributes:
        answered: The offset of the output up to which the terminal's queries were answered. It is only in
            memory: it outlives every owner, and where it is lost, so is the program that asked.
    """

    def __init__(self, harness_pid: int, sizes: Sizes, source: Input, output: Output) -> None:
        self.answered = 0
        self.sizes = sizes
        self._harness_pid = harness_pid
        self._input = source
        self._output = output

    def state(self) -> dict[str, Any]:
        """What `welcome` and `status` tell."""
        columns, rows = self.sizes.current
        return {"terminal": {"columns": columns, "rows": rows}, "answered_offset": self.answered}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out an owner's request; raises Refusal."""
        match request.get("type"):
            case "keys":
                self._input.type_keys(_bytes(request), MAX_KEY_BYTES)
                return {}
            case "answer":
                return {"taken": self._answer(integer(request, "offset", 0), _bytes(request))}
            case "resize":
                self._resize(*(_side(request, name) for name in ("columns", "rows")))
                return {}
            case _:
                return self._foreground()

    def is_harness_in_front(self) -> bool:
        """Whether what is typed now is read by the harness, and by nothing that it or a person started before it."""
        return self._output.handle >= 0 and foreground_group(self._output.handle) == self._harness_pid

    def cut(self, cursor: int, limit: int) -> int:
        """Where the piece of output that begins at `cursor` must end, at the latest at `limit`.

        A piece is of one size, and either wholly answered or not at all.
        """
        if cursor < self.answered:
            limit = min(limit, self.answered)
        change = self.sizes.next_change(cursor)
        return limit if change is None else min(limit, change)

    def size_to_tell(self, client: Client) -> dict[str, Any] | None:
        """The notice that `client` must get before the byte at its cursor, or None."""
        size = self.sizes.at(client.cursor or 0)
        if client.cursor is None or client.size == size:
            return None
        client.size = size
        return {"type": "resized", "offset": client.cursor, "columns": size[0], "rows": size[1]}

    def _answer(self, offset: int, data: bytes) -> bool:
        if offset > self._output.journal.end:
            raise Refusal("offset_ahead", "nothing was written there yet", end=self._output.journal.end)
        if offset <= self.answered:
            return False
        self.answered = offset
        try:
            self._input.type_keys(data, MAX_ANSWER_BYTES)
        except Refusal:  # who does not read its answers does not get them, now or later
            return False
        return True

    def _resize(self, columns: int, rows: int) -> None:
        self._output.take()  # what was written for the size before
        if self._output.handle < 0:
            raise Refusal("harness_ended", "the harness has ended")
        if (columns, rows) != self.sizes.current:
            journal = self._output.journal
            self.sizes.note(journal.end + len(journal.pending), columns, rows)
            set_window_size(self._output.handle, columns, rows)

    def _foreground(self) -> dict[str, Any]:
        group = foreground_group(self._output.handle) if self._output.handle >= 0 else None
        leader = read_process(group) if group is not None else None
        if leader is None or leader.is_gone:
            leader = None
        name, argv0 = read_program(leader.pid) if leader is not None else ("", "")
        return {
            "group": group,
            "leader": None if leader is None else {"pid": leader.pid, "start_time": leader.start_time},
            "name": name,
            "argv0": argv0,
            "is_harness": group == self._harness_pid,
        }


def _bytes(request: dict[str, Any]) -> bytes:
    try:
        return binascii.a2b_base64(request["data"], strict_mode=True)
    except (KeyError, TypeError, ValueError):
        raise Refusal("request_invalid", "data must be base64") from None


def _side(request: dict[str, Any], name: str) -> int:
    value = integer(request, name, 0)
    if not 0 < value <= MAX_SIDE:
        raise Refusal("size_invalid", f"{name} must be from 1 to {MAX_SIDE}")
    return value
