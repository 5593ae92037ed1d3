"""Isolation: whether a seat's harness has a configuration folder of its own, and which variables it is handed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from inspan.model.errors import UsageError
from inspan.model.installation import FORWARD_AUTH, ConfigFolder
from inspan.model.manifest import Manifest
from inspan.model.seat_config import SeatConfigView
from inspan.model.state import SeatState
from inspan.plugin.programs import expand_home

__all__ = [
    "Surroundings",
    "config_folder_of",
    "config_variable",
    "decide_isolation",
    "forget_config",
    "same_folder",
    "show_config",
    "surround",
    "withheld_auth",
]

_FOLDER = "seats"
"""Where in a home the configuration folders of its seats are."""

_NEEDED = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "TERM",
        "COLORTERM",
        "NO_COLOR",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
        "REQUESTS_CA_BUNDLE",
        "SSH_AUTH_SOCK",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
        "DBUS_SESSION_BUS_ADDRESS",
        "DISPLAY",
        "WAYLAND_DISPLAY",
    ]
)
_NEEDED_BEGINNINGS = ("LC_", "XDG_")
"""What any program of a person needs, and no program is known by."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What a seat's harness finds around it.

    Attributes:
        inherited: The daemon's variables, less those that are not handed over.
        given: Variables of the seat: the operator's, and the one that names its configuration folder.
        withheld: Names of the daemon's variables that are not handed over.
        folder: The seat's own configuration folder; `None` where it has none of its own.
    """

    inherited: dict[str, str]
    given: dict[str, str]
    withheld: tuple[str, ...] = ()
    folder: Path | None = None


_OURS = ("INSPAN_HOME",)
"""Variables of our own that harnesses are not handed, unless their configuration moves by one."""


def config_variable(config: ConfigFolder) -> str:
    """The variable that moves a harness's configuration; empty where nothing does."""
    if config.isolation == "none":
        return ""
    return "HOME" if config.isolation == "home" else config.variable


def decide_isolation(manifest: Manifest, *, wanted: bool | None, given: Iterable[str]) -> bool:
    """Whether a new seat has a configuration folder of its own.

    Where the operator says nothing, it has one only where the manifest requires it, or where the harness would
    write its launch's flags into the operator's settings: in a folder of its own, nobody is signed in.

    Args:
        manifest: The harness.
        wanted: What the operator said.
        given: Names of the variables that the operator set for the seat.

    Raises:
        UsageError: `isolation_unsupported`; `isolation_required`; `invalid_argument` where the operator also set
            the variable.
    """
    config = manifest.config
    variable = config_variable(config)
    if variable and variable in given:
        if wanted:
            raise UsageError(
                f"The seat sets {variable} itself, so it has its configuration where that says.",
                hint=f"Leave out either --isolated or --env {variable}.",
            )
        return False
    if wanted is None:
        return bool(variable) and (config.required or config.writes_launch_flags)
    if wanted and not variable:
        raise UsageError(
            f"Nothing is known to give {manifest.name} a configuration folder of its own"
            f" (isolation: {config.isolation}).",
            code="isolation_unsupported",
            hint=config.note or "Make the seat without --isolated.",
        )
    if not wanted and config.required:
        raise UsageError(
            f"Seats of {manifest.name} never share a configuration folder.",
            code="isolation_required",
            hint=config.note or "Make the seat without --shared-config.",
        )
    return wanted


def config_folder_of(state: SeatState, launches: Path) -> Path | None:
    """The seat's own configuration folder; `None` where it has none. `launches` is the home's folder of launches."""
    return launches.with_name(_FOLDER) / state.config if state.config else None


def surround(
    state: SeatState, manifest: Manifest, *, launches: Path, environ: Mapping[str, str]
) -> Surroundings:
    """What the seat's harness finds around it."""
    folder, variable = config_folder_of(state, launches), config_variable(manifest.config)
    given = dict(state.environment)
    if folder is not None and variable:
        given[variable] = str(folder)
    elif variable in _OURS and variable in environ:
        # Kept from every other harness; to the one whose configuration lies in our home, it says where.
        given.setdefault(variable, environ[variable])
    kept = set(environ) - set(withheld_auth(state, manifest, environ))
    if state.clean_environment:
        kept = {name for name in kept if _is_needed(name, manifest)}
    return Surroundings(
        inherited={name: value for name, value in environ.items() if name in kept},
        given=given,
        withheld=tuple(sorted(set(environ) - kept)),
        folder=folder,
    )


def withheld_auth(state: SeatState, manifest: Manifest, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Variables that sign in and are set, but were neither given to the seat nor allowed to be handed over."""
    if state.forwards_auth or environ.get(FORWARD_AUTH):
        return ()
    return tuple(
        name
        for name in manifest.sign_in.auth_variables
        if environ.get(name) and name not in state.environment
    )


def show_config(
    state: SeatState, manifest: Manifest, *, launches: Path, environ: Mapping[str, str]
) -> SeatConfigView:
    """Where the seat's harness keeps its configuration, for people."""
    config, own = manifest.config, config_folder_of(state, launches)
    around = {**environ, **state.environment}
    named = around.get(config.variable, "") if config.variable else ""
    folder = str(own) if own is not None else named or (config.folder and expand_home(config.folder, around))
    return SeatConfigView(
        isolated=own is not None,
        folder=folder,
        variable=config_variable(config),
        isolation=config.isolation,
        writes_back=config.writes_back,
        shares=state.shares,
        note=config.note,
    )


def forget_config(state: SeatState, others: Iterable[SeatState], launches: Path) -> Path | None:
    """The folder that may go with the seat; `None` where it has none, or where another seat uses it too."""
    used = {other.config for other in others if other.name != state.name and not other.removed}
    return None if state.config in used else config_folder_of(state, launches)


def _is_needed(name: str, manifest: Manifest) -> bool:
    sign_in = manifest.sign_in
    known = (*sign_in.locator_variables, *sign_in.auth_variables, manifest.config.variable)
    return name in _NEEDED or name in known or name.startswith(_NEEDED_BEGINNINGS)


def same_folder(one: str, other: str) -> bool:
    """Whether two paths lead to one folder, whether or not it is there."""
    return os.path.realpath(one) == os.path.realpath(other)
