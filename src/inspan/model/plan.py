"""Launch plans and probe results: what host and plugins hand to core."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .context_usage import ContextUsage
from .errors import InspanError
from .headless import HeadlessSettings
from .hooks import HookSettings
from .manifest import AcpSettings
from .posture import Posture
from .session import SessionReference
from .session_source import SessionSource
from .stream import StreamSettings
from .terminal import TerminalSettings

__all__ = [
    "Attempt",
    "LaunchPlan",
    "LaunchRequest",
    "PlanFile",
    "ProbeResult",
    "Problem",
    "ProgramFound",
    "RuntimeFound",
    "TransportSettings",
]

Attempt = Literal["fresh", "resume", "fork"]


class LaunchRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is to be launched.

    Attributes:
        seat: The seat's name.
        harness: The harness's id.
        mode: The mode.
        attempt: Fresh, resume or fork.
        workspace: Absolute path of an existing folder.
        posture: What the seat may do unasked.
        reference: The session to resume or fork.
        model: The model that was asked for.
        effort: The effort that was asked for, in the harness's own words.
        axes: What else the launch is told, by the names in the mode's `axes`.
        environment: Variables that the operator set, and the one that names the seat's own configuration folder;
            values are secrets.
        withheld: Names of variables of the daemon that the harness does not inherit.
    """

    seat: str
    harness: str
    mode: str
    attempt: Attempt
    workspace: str
    posture: Posture
    reference: SessionReference | None = None
    model: str | None = None
    effort: str | None = None
    axes: dict[str, tuple[str, ...]] = {}
    environment: dict[str, str] = {}
    withheld: tuple[str, ...] = ()


class PlanFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that must exist before the launch: path inside the launch's own folder, and text."""

    path: str
    text: str


class TransportSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the transport is told of this launch.

    Attributes:
        workspace: The folder that the session is opened in.
        attempt: Fresh, resume or fork.
        session_id: The session to resume or fork, or the id that core chose for a new one.
        session_source: Where the id of a new session comes from; the folder of a store is absolute.
        auth_method: The sign-in method to call before a session is opened.
        session_mode: The session mode to set before any prompt.
        config_options: Session options to set before any prompt.
        acp: Settings of the `acp` transport.
        reads_last_words: A rule of the manifest reads the last message of a turn.
        headless: Settings of the `headless` transport.
        terminal: Settings of the `terminal` transport.
        stream: Settings of the `stream` transport.
        context_usage: Where it is told how full the context is.
        hooks: How the events of the harness's hook system are read.
        listed_in: Names of the folder that the session to resume must be listed in, where the harness lists its
            sessions; none where that is not to be looked up.
        answers_questions: Forms that the harness wants filled in are answered.
        has_approval_signal: It is told when the harness waits for an answer.
        frame_cap_bytes: The largest line that is accepted.
    """

    workspace: str
    attempt: Attempt = "fresh"
    session_id: str | None = None
    session_source: SessionSource = SessionSource()
    auth_method: str | None = None
    session_mode: str | None = None
    config_options: dict[str, str] = {}
    acp: AcpSettings = AcpSettings()
    reads_last_words: bool = False
    headless: HeadlessSettings = HeadlessSettings()
    terminal: TerminalSettings = TerminalSettings()
    stream: StreamSettings = StreamSettings()
    context_usage: ContextUsage = ContextUsage()
    hooks: HookSettings = HookSettings()
    listed_in: tuple[str, ...] = ()
    answers_questions: bool = False
    has_approval_signal: bool = False
    frame_cap_bytes: int = 64 * 1024 * 1024


class LaunchPlan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How core is to start the harness; core carries it out under a holder.

    Attributes:
        program: Absolute path.
        arguments: Without the program.
        cwd: Working directory.
        environment: Variables to set, over those of the daemon.
        merged: Variables whose value in `environment` holds what the operator set for them as well.
        strip: Variables to remove; a trailing `*` matches a prefix.
        files: Files to write before the start.
        transport: Which transport speaks to it.
        settings: What that transport is told.
        handshake_timeout_s: Seconds until an open session.
        cold_start_timeout_s: The same for the first start of this program on this machine; `None` takes the other.
        stop_grace_s: Seconds between the steps of a stop.
    """

    program: str
    arguments: tuple[str, ...]
    cwd: str
    settings: TransportSettings
    environment: dict[str, str] = {}
    merged: tuple[str, ...] = ()
    strip: tuple[str, ...] = ()
    files: tuple[PlanFile, ...] = ()
    transport: str = "acp"
    handshake_timeout_s: float = 60.0
    cold_start_timeout_s: float | None = None
    stop_grace_s: float = 5.0


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that stands in the way: a stable code, the fact, the next step."""

    code: str
    message: str
    hint: str = ""
    is_fatal: bool = True

    @classmethod
    def of(cls, error: InspanError, *, is_fatal: bool = True) -> Problem:
        """An error as something that stands in the way."""
        return cls(code=error.code, message=error.message, hint=error.hint, is_fatal=is_fatal)


class RuntimeFound(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A program that a harness needs beside its own.

    Attributes:
        name: Its name on PATH.
        wanted: The range of versions; empty takes any.
        program: Absolute path; `None` where there is none.
        version: As it answered.
        is_met: Whether it will do: `yes`, `no`, `unknown`.
    """

    name: str
    wanted: str = ""
    program: str | None = None
    version: str | None = None
    is_met: Literal["yes", "no", "unknown"] = "unknown"


class ProgramFound(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The program of some modes of a harness.

    Attributes:
        modes: The modes that start it.
        installed: As in `ProbeResult`.
        program: Absolute path.
        version: As it answered.
        tested: Whether the version lies in the tested range.
    """

    modes: tuple[str, ...]
    installed: Literal["yes", "no", "unknown"]
    program: str | None = None
    version: str | None = None
    tested: Literal["yes", "no", "unknown"] = "unknown"


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an installed program says of itself; no model call.

    Attributes:
        harness: The harness's id.
        installed: Whether the program of the default mode is there: `yes`, `no`, or `unknown` where it is there
            but gave no answer.
        program: Absolute path.
        version: As it answered.
        tested: Whether the version lies in the tested range: `yes`, `no`, `unknown`.
        problems: What stands in the way, what is to be done first coming first.
        signed_in: Whether somebody is signed in: `yes`, `no`, or `unknown` where it cannot be seen.
        signed_in_by: What says so, such as the name of a variable.
        sign_in_hint: How to sign in, where it is not certain that somebody is.
        providers: Ids of the providers of models whose variables are set.
        runtime: What the harness needs beside its own program.
        programs: Each program with its modes, where not all modes start the same.
        detail: What a plugin adds.
    """

    harness: str
    installed: Literal["yes", "no", "unknown"]
    program: str | None = None
    version: str | None = None
    tested: Literal["yes", "no", "unknown"] = "unknown"
    problems: tuple[Problem, ...] = ()
    signed_in: Literal["yes", "no", "unknown"] = "unknown"
    signed_in_by: str = ""
    sign_in_hint: str = ""
    providers: tuple[str, ...] = ()
    runtime: tuple[RuntimeFound, ...] = ()
    programs: tuple[ProgramFound, ...] = ()
    detail: dict[str, Any] = {}
