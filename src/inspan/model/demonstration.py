"""How a harness can be shown without a key and without a network, as its manifest says it."""

from __future__ import annotations

from typing import Annotated

import msgspec

__all__ = ["Demonstration"]

Text = Annotated[str, msgspec.Meta(min_length=1)]


class Demonstration(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """What `inspan demo` sends. The harness has to answer by a script: no model, no network.

    Attributes:
        environment: Variables of the seat.
        needs: Python modules that have to be installed.
        ask: A prompt at which the harness asks for one permission.
        slow: A prompt at which it says `line 1 of N` to `line N of N`, a line each, slowly. `{count}` stands for N,
            `{lines}` for `slow_line` once a line.
        slow_line: What of the prompt makes one line; `{n}` and `{count}` stand for its numbers.
    """

    environment: dict[str, str] = {}
    needs: tuple[Text, ...] = ()
    ask: Text
    slow: Text
    slow_line: str = ""

    def slow_prompt(self, count: int) -> str:
        """The prompt for so many lines."""
        lines = "".join(
            self.slow_line.replace("{n}", str(number)).replace("{count}", str(count))
            for number in range(1, count + 1)
        )
        return self.slow.replace("{lines}", lines).replace("{count}", str(count))
