"""What a seat is asked for: to be made, to take a prompt, to have a permission request answered."""

from __future__ import annotations

from typing import Literal

import msgspec

from .posture import Posture
from .seat_config import SharedConfig

__all__ = ["AddSeat", "AnswerPermission", "SendPrompt"]


class AddSeat(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Asks for a new seat; fields as in `events.SeatAdded`. `mode` defaults to the manifest's.

    With `isolated`, the harness has a configuration folder of the seat's own, without, the operator's; where it is
    not given, the manifest decides.
    """

    name: str
    harness: str
    workspace: str
    mode: str | None = None
    posture: Posture | None = None
    environment: dict[str, str] = {}
    model: str | None = None
    effort: str | None = None
    trusts_workspace: bool = False
    guidance: str = ""
    axes: dict[str, tuple[str, ...]] = {}
    isolated: bool | None = None
    shares: tuple[SharedConfig, ...] = ()
    forwards_auth: bool = False
    clean_environment: bool = False


class SendPrompt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Asks for a prompt to be delivered. The same `id` again reads the outcome back and never sends twice.

    `request` names the request that it is an attempt at; the first prompt that names one opens it. `now` types it
    into a console though a turn runs there. `override`, a reason that is recorded first, types it also where the
    console asks something or its state is unknown. `signature` is an operator's, over all of it, as
    `inspan send --sign` makes it; one that does not count refuses the prompt.
    """

    text: str
    id: str | None = None
    request: str | None = None
    now: bool = False
    override: str = ""
    signature: str = ""


class AnswerPermission(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Answers a permission request.

    Attributes:
        decision: `allow` or `deny`; the option is chosen by kind.
        option: The option's id, where a certain one is meant.
        always: Prefer the standing option of that kind.
        seat: The seat that the request is believed to belong to; another one is refused.
        reason: Why, for the audit record.
    """

    decision: Literal["allow", "deny"]
    option: str | None = None
    always: bool = False
    seat: str | None = None
    reason: str = ""
