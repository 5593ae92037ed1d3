"""Installation: how a harness's program is found, what it needs, who is signed in, and where its configuration lies."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

__all__ = [
    "FORWARD_AUTH",
    "BackgroundProcess",
    "ConfigFolder",
    "ConfigSeed",
    "Program",
    "Provider",
    "SeedKind",
    "SignIn",
    "VersionProbe",
]

EnvName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Text = Annotated[str, msgspec.Meta(min_length=1)]
FORWARD_AUTH = "INSPAN_FORWARD_AUTH"
"""A variable of the daemon by which the operator hands the variables that sign in to every seat."""

SeedKind = Literal["onboarding", "settings", "sign_in"]
"""What a seed is: `onboarding` belongs to nobody, `settings` and `sign_in` are the operator's own."""


class VersionProbe(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How the installed version is asked; no model call.

    Attributes:
        args: Arguments of the probe; none where the program has no way to say its version.
        pattern: Regular expression whose first group is the version.
        timeout_s: Seconds until the probe counts as `unknown`.
        environment: Variables for the probe alone.
        package: The npm package that the program belongs to. Where it is given, the version is read from the
            package's own `package.json` beside the program, and nothing is run.
    """

    args: tuple[str, ...] = ("--version",)
    pattern: str = r"(\d+(?:\.\d+)+)"
    timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 20.0
    environment: dict[str, str] = {}
    package: str = ""


class Provider(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A provider of models that the harness can use.

    Attributes:
        id: The harness's own id of it.
        name: For people.
        environment: Variables any of which signs in to it; secrets.
        locators: Variables that say where it is, no secrets.
        source: Where the fact comes from.
        verified: Date and version.
    """

    id: Text
    name: Text
    environment: tuple[EnvName, ...] = ()
    locators: tuple[EnvName, ...] = ()
    source: str = ""
    verified: str = ""


class SignIn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How one sees, without a model call, whether somebody is signed in. Nothing that holds a secret is read.

    Attributes:
        environment: Variables any of which signs in by itself; only whether they are set is looked at. They are
            handed to a seat's harness where its operator said so.
        locators: Variables that say where the provider is, no secrets: always handed over.
        providers: The providers of models that it can use; their variables count as those above.
        markers: Files that a sign-in leaves, absolute or with `~`; only whether they are there is looked at.
        args: Arguments by which the program says whether somebody is signed in; none where it cannot.
        signed_in: Regular expression that its answer then holds; empty takes exit status 0 for a yes.
        signed_out: Regular expression that its answer holds where nobody is.
        hint: How to sign in, for people.
        source: Where the facts come from.
        verified: Date and version.
    """

    environment: tuple[EnvName, ...] = ()
    locators: tuple[EnvName, ...] = ()
    providers: tuple[Provider, ...] = ()
    markers: tuple[Text, ...] = ()
    args: tuple[str, ...] = ()
    signed_in: str = ""
    signed_out: str = ""
    hint: str = ""
    source: str = ""
    verified: str = ""

    @property
    def auth_variables(self) -> tuple[str, ...]:
        """All variables that sign in, the harness's own first."""
        return _each((self.environment, *(one.environment for one in self.providers)))

    @property
    def locator_variables(self) -> tuple[str, ...]:
        """All variables that say where a provider is."""
        return _each((self.locators, *(one.locators for one in self.providers)))


class ConfigSeed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A file that a seat's own configuration folder begins with; what is there already stays as it is.

    Attributes:
        path: Where, in the folder.
        kind: What it is. Only `onboarding` is written unasked, and holds nothing of the operator's.
        text: What is written.
        from_file: The file of the operator's that it is taken from instead: in the operator's own configuration
            folder, or absolute, or with `~`.
        how: Whether that file is copied, or linked to, so that a token that is renewed is renewed for both.
        source: Where the fact comes from.
        verified: Date and version.
    """

    path: Text
    kind: SeedKind = "onboarding"
    text: str = ""
    from_file: str = ""
    how: Literal["copy", "link"] = "copy"
    source: str = ""
    verified: str = ""


class ConfigFolder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where the harness keeps its configuration, and how well two seats can be kept apart.

    Attributes:
        folder: The folder where nothing says otherwise, `~` allowed.
        variable: The variable that names another folder; empty where there is none. Where only another home does
            it, that is HOME.
        isolation: How far that keeps seats apart: `whole`, `partial` (something is still read or written
            elsewhere), `home` (only another HOME does it), `none`, or `unknown`.
        writes_back: Whether the harness writes into its configuration by itself.
        writes_launch_flags: It writes there what it was launched with, so that a seat would rewrite the operator's
            own settings: seats have a folder of their own unless the operator says otherwise.
        required: Seats never share it: each has a folder of its own, which can be written.
        seed: What a folder of a seat's own begins with.
        note: What is still shared.
        source: Where the facts come from.
        verified: Date and version.
    """

    folder: str = ""
    variable: str = ""
    isolation: Literal["whole", "partial", "home", "none", "unknown"] = "unknown"
    writes_back: Literal["yes", "no", "unknown"] = "unknown"
    writes_launch_flags: bool = False
    required: bool = False
    seed: tuple[ConfigSeed, ...] = ()
    note: str = ""
    source: str = ""
    verified: str = ""


class BackgroundProcess(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A process of the harness's own that outlives it, such as a daemon or a hub.

    It is known by the mark of its launch in its environment, and by this pattern among what bears that mark. What
    does not bear the mark is never touched, whatever it is called.

    Attributes:
        name: What it is, for people.
        pattern: Regular expression, searched in its command line.
        at_end: What becomes of it once its launch is over: `stop` stops it with its process group.
        off: How it is switched off, for people; empty where that is not known.
        source: Where the fact comes from.
        verified: Date and version.
    """

    name: Text
    pattern: Text
    at_end: Literal["stop", "leave"] = "stop"
    off: str = ""
    source: str = ""
    verified: str = ""


class Program(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How the program is found, and what it needs.

    Attributes:
        names: File names looked up on PATH, in order.
        paths: Further absolute paths, `~` allowed, tried after PATH.
        module: A Python module that is run with our own interpreter instead of a program.
        process_names: What the process may be called once it runs; a hint, never an identity.
        version: The probe.
        tested: The range of versions that was tried, such as `>=1.18, <2`.
        requires: Programs that must be on PATH as well, each with a range of versions, such as
            `{ node = ">=22" }`; an empty range takes any version.
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
    requires: dict[Text, str] = {}
    install: str = ""
    source: str = ""
    verified: str = ""


def _each(names: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for some in names for name in some))
