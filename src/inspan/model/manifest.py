"""Manifest: the data that describes a harness, readable without running code.

The file is `manifest.toml` in a folder of the harness's id. Unknown keys, wrong types and bad values are
refused with an error that names the file, the key path and what was expected. The JSON Schema is published in
`docs/schema/manifest.schema.json`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from .capability import Capabilities
from .posture import Approvals, Sandbox
from .session import Provenance

__all__ = [
    "MANIFEST_SCHEMA_VERSION",
    "AcpSettings",
    "AuthChoice",
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


class VersionProbe(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How the installed version is asked; no model call.

    Attributes:
        args: Arguments of the probe.
        pattern: Regular expression whose first group is the version.
        timeout_s: Seconds until the probe counts as `unknown`.
        environment: Variables for the probe alone.
    """

    args: tuple[str, ...] = ("--version",)
    pattern: str = r"(\d+(?:\.\d+)+)"
    timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 20.0
    environment: dict[str, str] = {}


class Program(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How the program is found.

    Attributes:
        names: File names looked up on PATH, in order.
        paths: Further absolute paths, `~` allowed, tried after PATH.
        module: A Python module that is run with our own interpreter instead of a program.
        process_names: What the process may be called once it runs; a hint, never an identity.
        version: The probe.
        tested: The range of versions that was tried, such as `>=1.18, <2`.
        install: A command line that a person may run to install it.
        source: Where the facts come from.
        verified: Date and version.
    """

    names: tuple[Text, ...] = ()
    paths: tuple[Text, ...] = ()
    module: str | None = None
    process_names: tuple[Text, ...] = ()
    version: VersionProbe = VersionProbe()
    tested: str = ""
    install: str = ""
    source: str = ""
    verified: str = ""


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
    """

    set: dict[str, str] = {}
    strip: tuple[EnvName, ...] = ()


class LaunchArguments(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One argument set; fresh, resume and fork have their own, since they differ in more than a flag.

    `{session}`, `{workspace}` and `{model}` are replaced; nothing else is: a manifest is no script.
    """

    args: tuple[str, ...] = ()
    model_args: tuple[str, ...] = ()


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
        replay_after_answer: The harness answers a load first and replays the conversation afterwards.
        usage_kind: What the usage in a prompt's result counts.
        model_option: The session option by which a model is chosen, set by a protocol call before any prompt;
            empty where there is none.
        client_fs: Offer `fs/*` to the harness. Not served yet, so only `false` is allowed.
    """

    protocol_version: Annotated[int, msgspec.Meta(ge=1)] = 1
    auth: tuple[AuthChoice, ...] = ()
    resume_methods: tuple[Literal["resume", "load"], ...] = ("resume", "load")
    replay_after_answer: bool = False
    usage_kind: Literal["step", "turn", "cumulative", "unknown"] = "unknown"
    model_option: str = ""
    client_fs: Literal[False] = False


class PostureRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How one posture is expressed in one mode.

    Attributes:
        approvals: The first axis.
        sandbox: The second axis.
        args: Further arguments.
        environment: Further variables.
        session_mode: The session mode to set by a protocol call before any prompt.
        config_options: Session options to set by a protocol call before any prompt.
        source: Where the fact comes from.
        verified: Date and version.
    """

    approvals: Approvals
    sandbox: Sandbox = Sandbox.NONE
    args: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    session_mode: str | None = None
    config_options: dict[str, str] = {}
    source: str = ""
    verified: str = ""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a failure means and how to mend it: matched against the harness's error.

    Attributes:
        raw_code: The harness's own error code.
        message_pattern: Regular expression searched in the harness's message.
        data_pattern: Regular expression searched in the harness's error data, as JSON text.
        code: Our code for it.
        title: The failure in a few words.
        remedy: The next thing to do.
        source: Where the fact comes from.
        verified: Date and version.
    """

    code: Literal["limited", "auth_required", "session_missing", "session_in_use", "call_failed"]
    title: Text
    remedy: Text
    raw_code: int | None = None
    message_pattern: str = ""
    data_pattern: str = ""
    source: str = ""
    verified: str = ""


class ModeManifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One way in which the harness can be driven.

    Attributes:
        transport: Which transport speaks to it.
        launch: Arguments of a fresh launch.
        resume: Arguments of a launch that resumes.
        fork: Arguments of a launch that forks.
        environment: Variables.
        handshake_timeout_s: Seconds from start to an open session.
        stop_grace_s: Seconds between the steps of a stop.
        capabilities: What the mode can do.
        postures: Postures that it can honour; any other is refused before launch.
        acp: Settings of the `acp` transport.
        diagnoses: Known failures.
    """

    transport: Literal["acp", "plugin"]
    launch: LaunchArguments = LaunchArguments()
    resume: LaunchArguments = LaunchArguments()
    fork: LaunchArguments = LaunchArguments()
    environment: Environment = Environment()
    handshake_timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    stop_grace_s: Annotated[float, msgspec.Meta(ge=0)] = 5.0
    capabilities: Capabilities = Capabilities()
    postures: tuple[PostureRule, ...] = ()
    acp: AcpSettings = AcpSettings()
    diagnoses: tuple[Diagnosis, ...] = ()


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
        program: How it is found.
        session: Session identity.
        modes: The ways in which it can be driven.
        default_mode: The mode that is used where none is named.
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
    quirks: tuple[Quirk, ...] = ()
