"""Inboxes: a harness's own way to hand a prompt to a session that runs in its console, as data."""

from __future__ import annotations

from typing import Annotated

import msgspec

__all__ = ["Inbox"]


class Inbox(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The command by which the harness's own program puts a prompt before a session. It is used only on request.

    Its status says whether the prompt was taken. Other users of the machine can see its arguments while it runs.

    Attributes:
        args: The arguments of the harness's program; `{session}` is the session's id, `{prompt}` the prompt.
        timeout_s: After how many seconds it is ended; nobody knows then whether the prompt was taken.
        source: Where the fact comes from.
        verified: Date and version.
    """

    args: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=120)] = 30.0
    source: str = ""
    verified: str = ""

    def __post_init__(self) -> None:
        """Refuse a command that names no prompt or no session."""
        told = " ".join(self.args)
        if "{prompt}" not in told or "{session}" not in told:
            raise ValueError("`args` must name `{session}` and `{prompt}`")
