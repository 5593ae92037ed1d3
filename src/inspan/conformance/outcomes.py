"""Outcomes of a recording: what its turns, sessions and permission requests come to by a manifest's rules.

They are small enough to be read by a person and to be kept beside the recording: `expected.json` in the folder of
the recordings holds them by the file's name.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from inspan.model.content import Noise, PermissionDenied, ProtocolFault, UnknownMessage, UnknownUpdate
from inspan.model.errors import ManifestError
from inspan.model.manifest import ModeManifest
from inspan.model.plan import TransportSettings
from inspan.model.reports import ConnectFailed, PromptAnswered, SessionFailed, SessionReady
from inspan.model.turn import CallError, TurnOutcome
from inspan.plugin.diagnosing import diagnose
from inspan.plugin.faults import tell_fault
from inspan.plugin.last_words import read_last_words

from .headless_replay import replay_headless
from .replay import Replay, ReplayedTurn, replay_recording
from .stream_replay import replay_stream

__all__ = [
    "EXPECTED_FILE",
    "ExpectedDenial",
    "ExpectedPermission",
    "ExpectedTurn",
    "Failure",
    "Outcomes",
    "find_outcomes",
    "find_recordings",
    "read_expected",
    "replay_in_mode",
    "write_expected",
]

EXPECTED_FILE = "expected.json"
"""The name of the file that holds what is expected of the recordings beside it."""


class Failure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A connection or a session that came to nothing: `code` is ours, `outcome` that of a resume."""

    phase: str
    code: str
    outcome: str = ""


class ExpectedTurn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a turn ended; `code` is ours for its error, and empty where it has none."""

    phase: str
    outcome: str
    code: str = ""
    usage: str = ""


class ExpectedPermission(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A permission request: the kinds of its options in their order, and the kind of the recorded answer."""

    phase: str
    offers: tuple[str, ...]
    answer: str = ""


class ExpectedDenial(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool call that the harness denied by itself, and the rule that would have allowed it."""

    phase: str
    tool: str
    rule: str = ""


class Outcomes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a recording comes to.

    Attributes:
        launches: How many processes it holds.
        sessions: How many sessions were opened, each counted once.
        opened: How they were opened, in order.
        turns: All prompts.
        permissions: All permission requests.
        denials: All tool calls that were denied without a request.
        failures: Connections and sessions that came to nothing.
        unknown_updates: Updates that the transport does not know.
        unknown_messages: Messages of the harness's own.
        noise_lines: Lines that were no messages.
        faults: What broke the protocol.
    """

    launches: int
    sessions: int
    opened: tuple[str, ...] = ()
    turns: tuple[ExpectedTurn, ...] = ()
    permissions: tuple[ExpectedPermission, ...] = ()
    denials: tuple[ExpectedDenial, ...] = ()
    failures: tuple[Failure, ...] = ()
    unknown_updates: int = 0
    unknown_messages: int = 0
    noise_lines: int = 0
    faults: int = 0


def find_recordings(folder: Path, name: str, mode: ModeManifest) -> dict[str, Path]:
    """The recordings of a mode in the folder of a harness's recordings, by the name that is expected something of.

    Conversations are `MODE*.jsonl`, those in records of a harness's own `MODE/NAME.jsonl`; one-shot runs are
    `MODE/NAME.out`.
    """
    match mode.transport:
        case "acp":
            return {file.name: file for file in sorted(folder.glob(f"{name}*.jsonl"))}
        case "stream":
            return {f"{name}/{file.name}": file for file in sorted((folder / name).glob("*.jsonl"))}
        case "headless":
            return {f"{name}/{file.name}": file for file in sorted((folder / name).glob("*.out"))}
        case _:
            return {}


def replay_in_mode(recording: Path, mode: ModeManifest) -> Replay:
    """Plays a recording with the settings of one mode.

    Raises:
        ManifestError: `recording_invalid`.
    """
    if mode.transport == "headless":
        return replay_headless(recording, mode)
    if mode.transport == "stream":
        return replay_stream(recording, mode)
    settings = TransportSettings(workspace="/", acp=mode.acp, reads_last_words=bool(mode.turn_text_failures))
    return replay_recording(recording, settings)


def find_outcomes(replay: Replay, mode: ModeManifest) -> Outcomes:
    """What `replay` comes to, with errors as the mode's diagnoses read them."""
    bodies = [(one.phase, one.report.body) for one in replay.reports]
    failures: list[Failure] = []
    for phase, body in bodies:
        if isinstance(body, ConnectFailed | SessionFailed):
            outcome = body.outcome.value if isinstance(body, SessionFailed) else ""
            code = diagnose(body.error, mode.diagnoses).code
            failures.append(Failure(phase=phase, code=code, outcome=outcome))
    return Outcomes(
        launches=replay.launches,
        sessions=len(replay.sessions),
        opened=tuple(body.how.value for _, body in bodies if isinstance(body, SessionReady)),
        turns=tuple(_expect(turn, mode) for turn in replay.turns),
        permissions=tuple(
            ExpectedPermission(
                phase=asked.phase,
                offers=tuple(option.kind.value for option in asked.options),
                answer=next((o.kind.value for o in asked.options if o.id == asked.answer), "")
                if asked.answer
                else ("cancelled" if asked.is_answered else ""),
            )
            for asked in replay.permissions
        ),
        denials=tuple(
            ExpectedDenial(phase=phase, tool=body.tool, rule=body.rule)
            for phase, body in bodies
            if isinstance(body, PermissionDenied)
        ),
        failures=tuple(failures),
        unknown_updates=sum(isinstance(body, UnknownUpdate) for _, body in bodies),
        unknown_messages=sum(isinstance(body, UnknownMessage) for _, body in bodies),
        noise_lines=sum(body.lines for _, body in bodies if isinstance(body, Noise)),
        faults=sum(isinstance(body, ProtocolFault) for _, body in bodies),
    )


def read_expected(folder: Path) -> dict[str, Outcomes]:
    """What is expected of the recordings in `folder`, by the file's name; empty where nothing is.

    Raises:
        ManifestError: `recording_invalid`.
    """
    file = folder / EXPECTED_FILE
    if not file.is_file():
        return {}
    text = b""
    try:
        text = file.read_bytes()
        return msgspec.json.decode(text, type=dict[str, Outcomes])
    except (OSError, msgspec.DecodeError) as error:
        why = error if isinstance(error, OSError) else tell_fault(text, dict[str, Outcomes], error)
        raise ManifestError(
            f"{file} cannot be read: {why}.",
            code="recording_invalid",
            hint="Write it anew from the recordings, and look at what changes.",
            detail={"file": str(file)},
        ) from error


def write_expected(folder: Path, outcomes: dict[str, Outcomes]) -> None:
    """Keeps what the recordings in `folder` come to, for people to check and for later replays to hold to."""
    text = msgspec.json.format(msgspec.json.encode(outcomes), indent=1).decode()
    (folder / EXPECTED_FILE).write_text(text + "\n", encoding="utf-8")


def _expect(turn: ReplayedTurn, mode: ModeManifest) -> ExpectedTurn:
    error: CallError | None = turn.error and diagnose(turn.error, mode.diagnoses)
    outcome = turn.outcome
    answered = PromptAnswered(
        delivery=turn.delivery,
        outcome=turn.outcome,
        raw_reason=turn.raw_reason,
        last_words=turn.last_words,
        model_wrote=turn.model_wrote,
    )
    read = read_last_words(answered, mode.turn_text_failures)
    if read is not None and read.is_certain:
        error, outcome = read.error, TurnOutcome.FAILED
    if error and error.code == "limited":
        outcome = TurnOutcome.LIMITED
    return ExpectedTurn(
        phase=turn.phase,
        outcome=outcome.value,
        code=error.code if error else "",
        usage=turn.usage.kind.value if turn.usage else "",
    )
