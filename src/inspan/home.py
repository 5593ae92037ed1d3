"""The home: the one folder in which a daemon and its log live, and where everything in it stands.

Both the daemon and the command line read this module, so it uses the standard library alone; the library that
knows where the platform keeps such folders is loaded only when `INSPAN_HOME` does not say it.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import NamedTuple

from inspan.model.errors import HostError, UsageError

__all__ = ["API_VERSION", "HOME_VARIABLE", "SOCKET_PATH_LIMIT", "Home", "locate_home", "prepare_home"]

API_VERSION = 1
"""The version of the HTTP interface. Daemon and client must agree on it."""

HOME_VARIABLE = "INSPAN_HOME"
"""The environment variable that names the home."""

SOCKET_PATH_LIMIT = 103 if sys.platform == "darwin" else 107
"""The most bytes in a Unix socket's path: `sun_path` less its closing zero."""

_LONGEST_LAUNCH = "l_" + "0" * 19
"""As long as every id that `model.ids.new_id` makes with a prefix of one letter."""


class Home(NamedTuple):
    """A home and its layout. Naming a place here does not make it.

    Attributes:
        path: The folder, absolute.
    """

    path: Path

    @property
    def socket(self) -> Path:
        """The daemon's Unix socket, there while it serves."""
        return self.path / "daemon.sock"

    @property
    def lock(self) -> Path:
        """The file whose lock the daemon holds for life; it contains the daemon's pid."""
        return self.path / "daemon.lock"

    @property
    def record(self) -> Path:
        """What the daemon says of itself once it serves: pid, start, socket, version of the interface."""
        return self.path / "daemon.json"

    @property
    def log_file(self) -> Path:
        """The daemon's own log, for people; older ones end in `.1`, `.2`, `.3`."""
        return self.path / "daemon.log"

    @property
    def token(self) -> Path:
        """The token for TCP, there once the daemon was asked to listen on it."""
        return self.path / "daemon.token"

    @property
    def database(self) -> Path:
        """The log of events and its projections."""
        return self.path / "log.db"

    @property
    def launches(self) -> Path:
        """One folder a launch, with its holder's journal and socket."""
        return self.path / "launches"

    @property
    def harnesses(self) -> Path:
        """The operator's own manifests, one folder a harness."""
        return self.path / "harnesses"

    @property
    def trust(self) -> Path:
        """Which code from outside the operator trusts."""
        return self.path / "trust.json"

    def launch_folder(self, launch: str) -> Path:
        """The folder of one launch."""
        return self.launches / launch

    def launch_socket(self, launch: str) -> Path:
        """The socket of one launch's holder."""
        return self.launches / launch / "holder.sock"


def locate_home(path: str | os.PathLike[str] | None = None) -> Home:
    """The home at `path`, else at `$INSPAN_HOME`, else where the platform keeps a person's data.

    Nothing is read or made. The path becomes absolute; `~` stands for the person's own folder.
    """
    named = os.fspath(path) if path is not None else os.environ.get(HOME_VARIABLE, "")
    if not named:
        from platformdirs import user_data_path

        return Home(user_data_path("inspan", appauthor=False))
    return Home(Path(os.path.abspath(os.path.expanduser(named))))


def prepare_home(home: Home) -> Home:
    """Makes the home where it is missing, and refuses one that is not safe to use. Calling it twice is safe.

    The folder ends with the mode 0700. One that others can only read is closed to them if it is empty or
    holds what a home holds; any other folder is left as it is, since it may be somebody's for another reason.

    Returns:
        The same home.

    Raises:
        HostError: `home_insecure`, `home_read_only` or `socket_path_too_long`.
        UsageError: `invalid_argument`: the path is not a folder.
    """
    _check_socket_paths(home)
    try:
        home.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_owner(home)
        home.launches.mkdir(mode=0o700, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(
            f"{error.filename or home.path} is not a folder.",
            hint=f"Name another home in {HOME_VARIABLE}.",
            detail={"home": str(home.path)},
        ) from error
    except OSError as error:
        raise _not_writable(home, error.strerror or type(error).__name__) from error
    if not os.access(home.path, os.W_OK | os.X_OK):
        raise _not_writable(home, "no write permission, or a read-only disk")
    return home


def _check_owner(home: Home) -> None:
    found = home.path.stat()
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid != os.geteuid():
        raise _insecure(home, "belongs to another user", f"Name a folder of your own in {HOME_VARIABLE}.")
    if mode & 0o022:
        raise _insecure(home, f"can be written by others (mode {mode:04o})", f"Run `chmod 700 {home.path}`.")
    if mode & 0o077 == 0:
        return
    names = {entry.name for entry in os.scandir(home.path)}
    if names and not names & _own_names(home):
        raise _insecure(
            home,
            f"is open to others (mode {mode:04o}) and holds other things than a home",
            f"Run `chmod 700 {home.path}`, or name an empty folder in {HOME_VARIABLE}.",
        )
    home.path.chmod(0o700)


def _own_names(home: Home) -> set[str]:
    return {
        one.name
        for one in (
            home.lock,
            home.record,
            home.log_file,
            home.database,
            home.launches,
            home.harnesses,
            home.trust,
        )
    } | {
        "plugins.json"
    }  # the list of the agent's runtime plugins, which a person writes before anything else is there


def _check_socket_paths(home: Home) -> None:
    longest = max(home.socket, home.launch_socket(_LONGEST_LAUNCH), key=lambda path: len(os.fsencode(path)))
    length = len(os.fsencode(longest))
    if length > SOCKET_PATH_LIMIT:
        room = SOCKET_PATH_LIMIT - (length - len(os.fsencode(home.path)))
        raise HostError(
            f"The home {home.path} is too long a path: a Unix socket in it would have {length} bytes, and the"
            f" system's limit is {SOCKET_PATH_LIMIT}.",
            code="socket_path_too_long",
            hint=f"Name a home of at most {room} bytes in {HOME_VARIABLE}.",
            detail={
                "home": str(home.path),
                "length_bytes": length,
                "limit_bytes": SOCKET_PATH_LIMIT,
                "home_limit_bytes": room,
            },
        )


def _insecure(home: Home, fact: str, hint: str) -> HostError:
    return HostError(
        f"The home {home.path} {fact}.", code="home_insecure", hint=hint, detail={"home": str(home.path)}
    )


def _not_writable(home: Home, reason: str) -> HostError:
    return HostError(
        f"The home {home.path} cannot be written: {reason}.",
        code="home_read_only",
        hint=f"Make it writable, or name another home in {HOME_VARIABLE}.",
        detail={"home": str(home.path)},
    )
