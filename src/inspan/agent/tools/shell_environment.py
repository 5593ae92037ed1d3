"""The environment of a command: the agent's own without what looks like a secret, or only what was allowed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from .settings import ShellSettings

__all__ = ["command_environment", "is_secret"]

_SECRET_NAME = re.compile(
    r"(?:^|_|-)(?:(?:api|access|secret|private|signing|encryption|master|account|auth|ssh)_?keys?|keys?$|tokens?|secrets?"
    r"|passw(?:or)?ds?|passphrase|pwd$|pass$|pat$|credentials?|creds?|auth|authorization|cookies?|jwt|bearer|dsn|webhook(?:_url)?)"
    r"(?:_|-|$)|(?:apikey|passwd|password|secret|token|credential)",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"://[^/\s:@]*:[^/\s@]+@|-----BEGIN [A-Z ]*PRIVATE KEY|\beyJ[\w-]{10,}\.[\w-]{10,}\."
    r"|\b(?:sk-|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza)[\w-]{12,}"
)
_NO_SECRETS = frozenset(
    {
        "SSH_AUTH_SOCK",
        "PWD",
        "OLDPWD",
        "GPG_TTY",
        "XAUTHORITY",
        "DBUS_SESSION_BUS_ADDRESS",
        "GIT_ASKPASS",
        "SSH_ASKPASS",
    }
)
_OWN_PREFIX = "INSPAN_"
_NEVER = frozenset({"BASH_ENV", "ENV", "PROMPT_COMMAND"})
_QUIET = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "DEBIAN_FRONTEND": "noninteractive",
}


def command_environment(own: Mapping[str, str], settings: ShellSettings) -> dict[str, str]:
    """The variables of a command.

    Without `only`, all of the agent's own but those that look like secrets by name or value and those of Inspan; what
    matches `keep` stays. With `only`, what matches it or `keep`. On top come settings that keep programs from asking
    and colouring, and last `variables`.
    """
    kept = {name: value for name, value in own.items() if _is_kept(name, value, settings)}
    return {**kept, **_QUIET, **settings.variables}


def is_secret(name: str, value: str) -> bool:
    """Whether a variable looks like a secret, by its name or by its value."""
    if name in _NO_SECRETS:
        return False
    return _SECRET_NAME.search(name) is not None or _SECRET_VALUE.search(value) is not None


def _is_kept(name: str, value: str, settings: ShellSettings) -> bool:
    if name in _NEVER:
        return False
    if _matches(name, settings.keep):
        return True
    if settings.only:
        return _matches(name, settings.only)
    return not name.startswith(_OWN_PREFIX) and not is_secret(name, value)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
