"""Manifest: the data that describes a harness, readable without running code.

The file is `manifest.toml` in a folder of the harness's id. Unknown keys, wrong types and bad values are
refused with an error that names the file, the key path and what was expected. The JSON Schema is published in
`docs/schema/manifest.schema.json`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from .capability import Capabilities
from .context_usage import ContextUsage
from .demonstration import Demonstration
from .diagnosis import Diagnosis, TurnTextFailure
from .headless import HeadlessSettings
from .hooks import HookSettings
from .installation import BackgroundProcess, ConfigFolder, Program, SignIn, VersionProbe
from .launch_axis import LaunchAxis
from .mcp import McpPlace
from .plugin_permissions import PluginPermissions
from .posture import Approvals, Sandbox
from .resource import GuidanceBudget, ResourcePlace
from .retrying import RetryNotification
from .session import Provenance
from .session_source import SessionSource
from .stream import StreamSettings
from .terminal import TerminalSettings
from .wake import WakeCost

__all__ = [
    "MANIFEST_SCHEMA_VERSION",
    "AcpSettings",
    "AuthChoice",
    "ConfigFolder",
    "Diagnosis",
    "Environment",
    "LaunchArguments",
    "Maintainer",
    "Manifest",
    "ModeManifest",
    "PostureRule",
    "Program",
    "Quirk",
    "SessionIdentity",
    "SignIn",
    "TurnTextFailure",
    "VersionProbe",
]

MANIFEST_SCHEMA_VERSION = 1
"""The version of this shape; a manifest names it as `schema`."""

Id = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
ResumeType = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
EnvName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\*?$")]
Text = Annotated[str, msgspec.Meta(min_length=1)]


class Maintainer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Who keeps the manifest, shown before anybody launches.

    Attributes:
        name: A person or a project.
        tier: `built-in` ships with Inspan and is tested there; `community` is its author's to maintain.
        contact: Where to report a fault.
    """

    name: Text
    tier: Literal["built-in", "community"] = "community"
    contact: str = ""


class SessionIdentity(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Where the session id comes from and what it may be used for.

    Attributes:
        resume_type: The name of this form of reference; a wrapper has its own, so that the base harness never
            resumes a wrapped session.
        id_source: Who makes the id.
        id_pattern: Regular expression that an id must match to be stored; empty accepts any.
    """

    resume_type: ResumeType
    id_source: Provenance = Provenance.REPORTED
    id_pattern: str = ""


class Environment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Variables of the harness's process.

    Attributes:
        set: Set to these values.
        strip: Removed, since they conflict; a trailing `*` matches a prefix.
        generate: Secrets of one launch, such as the password of a server that otherwise takes everybody: set to
            a fresh random value where the operator set none.
        conflicts: Where a variable is set, those that it conflicts with are removed, but for what the operator
            set for the seat itself.
    """

    set: dict[str, str] = {}
    strip: tuple[EnvName, ...] = ()
    generate: tuple[EnvName, ...] = ()
    conflicts: dict[EnvName, tuple[EnvName, ...]] = {}


class LaunchArguments(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One argument set; fresh, resume and fork have their own, since they differ in more than a flag.

    `{session}`, `{workspace}`, `{model}` and `{effort}` are replaced; nothing else is: a manifest is no script.
    A fresh launch has a `{session}` only where core chooses it.

    Attributes:
        args: Arguments.
        model_args: Further arguments where a model was asked for.
        model_environment: Variables where a model was asked for.
        effort_args: Further arguments where an effort was asked for.
        effort_environment: Variables where an effort was asked for.
    """

    args: tuple[str, ...] = ()
    model_args: tuple[str, ...] = ()
    model_environment: dict[str, str] = {}
    effort_args: tuple[str, ...] = ()
    effort_environment: dict[str, str] = {}


class AuthChoice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A sign-in method that is used by itself when a variable is set.

    Attributes:
        method: The method's id on the wire.
        when_env: The variable whose presence selects it; empty means always.
    """

    method: Text
    when_env: str = ""


class AcpSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What the `acp` transport must know.

    Attributes:
        protocol_version: The version of the protocol that is asked for.
        auth: Sign-in methods, the first that fits is used; none means that no sign-in call is made.
        resume_methods: In order of preference; the first that the running harness offers is used.
        fork_loads_first: The harness forks only what this process of it has loaded, so that a load comes before.
        replay_after_answer: The harness answers a load first and replays the conversation afterwards.
        usage_kind: What the usage in a prompt's result counts.
        model_option: The session option by which a model is chosen, set by a protocol call before any prompt;
            empty where there is none.
        effort_option: The session option by which the effort is chosen, likewise.
        retry_notifications: Notifications of the harness's own by which it says that it will try again.
        client_fs: Offer `fs/*` to the harness. Not served yet, so only `false` is allowed.
    """

    protocol_version: Annotated[int, msgspec.Meta(ge=1)] = 1
    auth: tuple[AuthChoice, ...] = ()
    resume_methods: tuple[Literal["resume", "load"], ...] = ("resume", "load")
    fork_loads_first: bool = False
    replay_after_answer: bool = False
    usage_kind: Literal["step", "turn", "cumulative", "unknown"] = "unknown"
    model_option: str = ""
    effort_option: str = ""
    retry_notifications: tuple[RetryNotification, ...] = ()
    client_fs: Literal[False] = False


class PostureRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How one posture is expressed in one mode.

    Attributes:
        approvals: The first axis.
        sandbox: The second axis.
        args: Further arguments.
        environment: Further variables.
        merges: Which of them hold JSON that is merged with what the operator set for them, and how. `rules`: a table
            of rules the last of which wins where several match; those saved come after these. `settings`: tables
            at every depth, where what was saved wins.
        session_mode: The session mode to set by a protocol call before any prompt.
        config_options: Session options to set by a protocol call before any prompt.
        source: Where the fact comes from.
        verified: Date and version.
    """

    approvals: Approvals
    sandbox: Sandbox = Sandbox.NONE
    args: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    merges: dict[EnvName, Literal["rules", "settings"]] = {}
    session_mode: str | None = None
    config_options: dict[str, str] = {}
    source: str = ""
    verified: str = ""


class ModeManifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One way in which the harness can be driven.

    Attributes:
        transport: Which transport speaks to it.
        program: The program of this mode, where it is not the harness's own: an adapter.
        launch: Arguments of a fresh launch.
        resume: Arguments of a launch that resumes.
        fork: Arguments of a launch that forks.
        environment: Variables.
        axes: What else a launch can be told, by its name.
        handshake_timeout_s: Seconds from start to an open session.
        cold_start_timeout_s: The same for the first start of a program's file on this machine, which may fetch or
            build something; where there is none, no start has longer than another.
        stop_grace_s: Seconds between the steps of a stop.
        inactivity_limit_s: Seconds without a word in an open turn after which it is said so; 0 switches that off.
        stuck_after_s: Seconds without a word after an error that did not end its turn, after which the harness is
            restarted on the same conversation; 0 never.
        wake: What it costs to start it again; none where that is not known.
        session_id: Where the id of a new session comes from.
        context_usage: Where it is told how full the context is.
        capabilities: What the mode can do.
        postures: Postures that it can honour; any other is refused before launch.
        acp: Settings of the `acp` transport.
        headless: Settings of the `headless` transport.
        terminal: Settings of the `terminal` transport.
        stream: Settings of the `stream` transport.
        diagnoses: Known failures.
        turn_text_failures: Failures that the harness tells as the last words of a turn that ends well.
    """

    transport: Literal["acp", "stream", "headless", "terminal", "plugin"]
    program: Program | None = None
    launch: LaunchArguments = LaunchArguments()
    resume: LaunchArguments = LaunchArguments()
    fork: LaunchArguments = LaunchArguments()
    axes: dict[Id, LaunchAxis] = {}
    environment: Environment = Environment()
    handshake_timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    cold_start_timeout_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    stop_grace_s: Annotated[float, msgspec.Meta(ge=0)] = 5.0
    inactivity_limit_s: Annotated[float, msgspec.Meta(ge=0)] | None = 600.0
    stuck_after_s: Annotated[float, msgspec.Meta(ge=0)] = 60.0
    wake: WakeCost | None = None
    session_id: SessionSource = SessionSource()
    context_usage: ContextUsage = ContextUsage()
    capabilities: Capabilities = Capabilities()
    postures: tuple[PostureRule, ...] = ()
    acp: AcpSettings = AcpSettings()
    headless: HeadlessSettings = HeadlessSettings()
    terminal: TerminalSettings = TerminalSettings()
    stream: StreamSettings = StreamSettings()
    diagnoses: tuple[Diagnosis, ...] = ()
    turn_text_failures: tuple[TurnTextFailure, ...] = ()


class Quirk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Something that is odd about the harness and good to know."""

    text: Text
    source: str = ""
    verified: str = ""


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A harness.

    Attributes:
        schema: The version of this shape.
        id: The harness's id, equal to the folder's name.
        name: For people.
        extends: The id of a harness whose manifest this one is merged over, field by field.
        wraps: The id of the harness that this one runs elsewhere.
        summary: One line.
        homepage: Where it lives.
        scripted: A scripted stand-in, labelled so wherever it shows.
        maintainer: Who keeps the manifest.
        plugin: A Python file in the folder, with the code that data cannot say; empty for data only.
        permissions: What that code may do beyond answering questions, where it comes from outside.
        program: How it is found.
        sign_in: How one sees whether somebody is signed in.
        config: Where its configuration lies.
        background: Processes of its own that outlive it.
        session: Session identity.
        modes: The ways in which it can be driven.
        default_mode: The mode that is used where none is named.
        takes_over: Whether it can go on with what was sent to another seat and handed over, by the prompt alone:
            `yes`, or `needs_context`, where somebody must say what it is to know.
        guidance: How much it is given as a first turn, where it reads no file of guidance.
        resources: Where it reads guidance, skills and the like in a project.
        hooks: What its own hook system says of its console, and where it is told of ours.
        demonstration: How it can be shown without a key and a network; none where it cannot.
        mcp: Where it is told of MCP servers; none where it takes none.
        quirks: What is odd about it.
    """

    schema: Literal[1]
    id: Id
    name: Text
    maintainer: Maintainer
    program: Program
    session: SessionIdentity
    modes: dict[Id, ModeManifest]
    default_mode: Id
    extends: Id | None = None
    wraps: Id | None = None
    summary: str = ""
    homepage: str = ""
    scripted: bool = False
    plugin: str = ""
    permissions: PluginPermissions = PluginPermissions()
    sign_in: SignIn = SignIn()
    config: ConfigFolder = ConfigFolder()
    background: tuple[BackgroundProcess, ...] = ()
    takes_over: Literal["yes", "needs_context", "unknown"] = "unknown"
    hooks: HookSettings = HookSettings()
    guidance: GuidanceBudget = GuidanceBudget()
    resources: tuple[ResourcePlace, ...] = ()
    demonstration: Demonstration | None = None
    mcp: McpPlace | None = None
    quirks: tuple[Quirk, ...] = ()
