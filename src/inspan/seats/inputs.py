"""What a seat's decider takes: commands from people, and observations from the launch that it runs."""

from __future__ import annotations

from typing import Literal

import msgspec

from inspan.model.posture import Posture
from inspan.model.reports import Reported
from inspan.model.seat_config import SharedConfig
from inspan.model.session import IdentityState, Provenance, SessionReference
from inspan.model.turn import CallError
from inspan.model.typing_recipe import Key

from .request_inputs import RequestCommand
from .session_inputs import AnswerQuestion, SessionCommand

__all__ = [
    "AddSeat",
    "AnswerPermission",
    "CancelTurn",
    "Command",
    "ConsoleFree",
    "HandshakeTimedOut",
    "HolderLost",
    "HolderUp",
    "Input",
    "LaunchPlanned",
    "LaunchRefused",
    "LimitReset",
    "Observation",
    "PermissionsExpired",
    "PressKeys",
    "ProcessExited",
    "QueuePrompt",
    "ReleaseQueue",
    "RemoveSeat",
    "Resumed",
    "SessionLookedUp",
    "StartSeat",
    "StopSeat",
    "TransportReported",
    "TurnFellQuiet",
    "TurnFellStuck",
    "WithdrawDelivery",
    "WriteEnded",
]


class AddSeat(msgspec.Struct, frozen=True, kw_only=True):
    """Makes the seat; it begins with a fork of `forks`, the conversation of the seat `parent`, where that is given.

    A seat that is isolated gets a configuration folder of its own, or that of its parent, which is `config`.
    """

    harness: str
    mode: str
    workspace: str
    posture: Posture
    environment: dict[str, str] = {}
    model: str | None = None
    effort: str | None = None
    trusts_workspace: bool = False
    guidance: str = ""
    axes: dict[str, tuple[str, ...]] = {}
    is_isolated: bool = False
    config: str = ""
    shares: tuple[SharedConfig, ...] = ()
    forwards_auth: bool = False
    clean_environment: bool = False
    forks: SessionReference | None = None
    parent: str = ""


class RemoveSeat(msgspec.Struct, frozen=True, kw_only=True):
    """Removes the seat."""


class StartSeat(msgspec.Struct, frozen=True, kw_only=True):
    """Starts the harness.

    Attributes:
        fresh: The operator's decision to begin a new conversation.
        session: The operator's choice of a conversation that the harness keeps.
    """

    fresh: bool = False
    session: str | None = None


class StopSeat(msgspec.Struct, frozen=True, kw_only=True):
    """Stops the harness."""


class QueuePrompt(msgspec.Struct, frozen=True, kw_only=True):
    """Accepts a prompt, perhaps an attempt at a request; the caller made sure that the id is new.

    For `is_urgent`, `override` and `sender` see `events.DeliveryQueued`; `signer` is whose signature it came with.
    """

    delivery: str
    text: str
    request: str = ""
    is_urgent: bool = False
    override: str = ""
    sender: str = ""
    signer: str = ""


class ReleaseQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Lets prompts go on that were held since they would have failed as the one before."""


class WithdrawDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """Takes a prompt out of the queue."""

    delivery: str


class PressKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Has keys pressed in the console, for a reason."""

    keys: tuple[Key, ...]
    reason: str


class CancelTurn(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the end of the turn that runs."""


class AnswerPermission(msgspec.Struct, frozen=True, kw_only=True):
    """Answers an open request."""

    request: str
    decision: Literal["allow", "deny"]
    option: str | None = None
    always: bool = False
    reason: str = ""


class LaunchPlanned(msgspec.Struct, frozen=True, kw_only=True):
    """The plan stands; the intent to start a holder is recorded next."""

    launch: str
    nonce: str
    directory: str
    program: str
    arguments: tuple[str, ...]
    transport: str


class LaunchRefused(msgspec.Struct, frozen=True, kw_only=True):
    """The launch came to nothing before a process ran.

    `never_started` says that an intent was recorded and it is certain that no process came of it.
    """

    launch: str
    error: CallError
    never_started: bool = False


class HolderUp(msgspec.Struct, frozen=True, kw_only=True):
    """The harness's process runs."""

    launch: str
    pid: int
    holder_pid: int


class TransportReported(msgspec.Struct, frozen=True, kw_only=True):
    """The transport reports."""

    launch: str
    reported: Reported


class WriteEnded(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the write of a prompt.

    `done`: written whole. `clean`: not a byte went out. `cut`: some bytes went out, not all. What a console is
    typed is no prompt yet: only the keys that `submit` it send it.
    """

    launch: str
    delivery: str
    result: Literal["done", "clean", "cut"]
    purpose: str = "prompt"


class ProcessExited(msgspec.Struct, frozen=True, kw_only=True):
    """The process ended, and everything that it wrote was reported before.

    `meaning` is what its last words mean by its manifest, where it ended before it could take a prompt.
    """

    launch: str
    exit_code: int | None = None
    signal: int | None = None
    stderr_tail: str = ""
    meaning: CallError | None = None


class HolderLost(msgspec.Struct, frozen=True, kw_only=True):
    """The holder is proven dead, no exit was recorded, and its journal was reported to the end."""

    launch: str
    stderr_tail: str = ""


class SessionLookedUp(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of the session that a launch made, where nothing said its id meanwhile."""

    launch: str
    identity: IdentityState
    provenance: Provenance
    session_id: str | None = None
    why: str = ""


class HandshakeTimedOut(msgspec.Struct, frozen=True, kw_only=True):
    """No session was open in time; `is_cold` says that it was the program's first start on this machine."""

    launch: str
    timeout_s: float
    is_cold: bool = False


class PermissionsExpired(msgspec.Struct, frozen=True, kw_only=True):
    """Time went by: requests whose time is over are to be settled."""


class TurnFellQuiet(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing was heard of the open turn for longer than its mode's limit."""

    turn: str
    limit_s: float


class TurnFellStuck(msgspec.Struct, frozen=True, kw_only=True):
    """An error was seen in the open turn, and nothing was heard for `after_s` seconds since."""

    turn: str
    after_s: float


class LimitReset(msgspec.Struct, frozen=True, kw_only=True):
    """Time went by: the limit that prompts are held for may have ended."""


class ConsoleFree(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing stands in the way of typing into the console."""

    launch: str


class Resumed(msgspec.Struct, frozen=True, kw_only=True):
    """The daemon came back and the launch is attached again: work that was decided on goes on."""


Command = (
    AddSeat
    | RemoveSeat
    | StartSeat
    | StopSeat
    | QueuePrompt
    | WithdrawDelivery
    | CancelTurn
    | PressKeys
    | ReleaseQueue
    | AnswerPermission
    | AnswerQuestion
    | SessionCommand
    | RequestCommand
)
Observation = (
    LaunchPlanned
    | LaunchRefused
    | HolderUp
    | TransportReported
    | WriteEnded
    | SessionLookedUp
    | ProcessExited
    | HolderLost
    | HandshakeTimedOut
    | PermissionsExpired
    | TurnFellQuiet
    | TurnFellStuck
    | LimitReset
    | ConsoleFree
    | Resumed
)
Input = Command | Observation
