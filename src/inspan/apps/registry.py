"""The index of the apps on this machine: where each is, and which port it has been given.

The index only points. What an app is called and which port it wants is said by its own manifest.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, cast

from .faults import Rejected
from .files import locked, read_json, write_json
from .folder import Folder, has_manifest, open_folder
from .ports import is_listening, is_port

__all__ = ["HOME_VARIABLE", "RegisteredApp", "Registry", "a2app_home", "now_iso"]

HOME_VARIABLE = "A2APP_HOME"
"""The environment variable that names the folder of the index; a blank one counts as unset."""

_VERSION = 1
_CLAIM_ROUNDS = 64


class RegisteredApp(NamedTuple):
    """One row of the index.

    Attributes:
        id: The app's id when it was registered.
        name: Its name then.
        path: Its folder, absolute; the row's key.
        port: The port that was given to it.
        blueprint: What it was scaffolded from.
        created_at: When it was registered, in ISO 8601.
    """

    id: str
    name: str
    path: Path
    port: int | None = None
    blueprint: str | None = None
    created_at: str | None = None

    def folder(self) -> Folder | None:
        """The app in its folder, or None where there is no app any more."""
        try:
            return open_folder(self.path)
        except Rejected:
            return None


def a2app_home() -> Path:
    """The folder of the index, absolute: `$A2APP_HOME`, else `~/.a2app`. Nothing is made."""
    named = os.environ.get(HOME_VARIABLE, "")
    return Path(os.path.abspath(named)) if named.strip() else Path.home() / ".a2app"


class Registry:
    """The index in one home. Several processes may change it at once.

    Args:
        home: The folder; `a2app_home()` where None.
        warn: Is told of what was found broken and put aside; the default writes to standard error.
    """

    def __init__(self, home: Path | None = None, *, warn: Callable[[str], None] | None = None) -> None:
        self.home = a2app_home() if home is None else home
        self._warn = warn or _warn
        self._file = self.home / "registry.json"

    def list(self) -> list[RegisteredApp]:
        """Every row, by name and path. A file that cannot be understood is renamed aside, and said so.

        Raises:
            Rejected: It cannot be read, or is of a later version, or could not be put aside.
        """
        try:
            return _rows(self._read())
        except _CorruptIndex:
            with self._locked():
                return _rows(self._read_or_put_aside())

    def find(self, ref: str) -> list[RegisteredApp]:
        """The apps that a word names: all with that id, else with exactly that name, else the one at that path."""
        rows = self.list()
        folders = [(row, row.folder()) for row in rows]
        for matches in (
            [row for row, app in folders if ref == (app.id if app else row.id)],
            [row for row, app in folders if ref == (app.name if app else row.name)],
            [row for row in rows if str(row.path) == os.path.abspath(ref)],
        ):
            if matches:
                return matches
        return []

    def twin_on(self, app: Folder, port: int) -> RegisteredApp | None:
        """Another folder's app with the same id that was served on this port and lives: one is a copy of the other.

        Nothing that answers on the port could tell the two apart.
        """
        for row in self.find(app.id):
            twin = row.folder()
            record = twin.serve_record() if twin is not None and twin.path != app.path else None
            if record is not None and record.is_alive and record.port == port:
                return row
        return None

    def register(self, app: Folder, *, blueprint: str | None = None) -> None:
        """Makes the row of the app's folder say what the manifest says. Calling it twice is safe.

        Raises:
            Rejected: The index is locked or cannot be written.
        """
        port = app.manifest.get("port")
        row = RegisteredApp(
            id=app.id,
            name=app.name,
            path=app.path,
            port=cast(int, port) if is_port(port) else None,
            blueprint=blueprint,
        )
        with self._locked():
            value = self._read_or_put_aside()
            if _put(value, row):
                self._write(value)

    def claim_port(
        self,
        app_id: str,
        name: str,
        path: Path,
        *,
        preferred: int | None = None,
        blueprint: str | None = None,
    ) -> int:
        """Registers an app that is being made, together with a port that no other has.

        The first free port is taken, or `preferred` if it is free. Ports are tried outside the lock; that no other
        process claimed the same one in between is checked inside it.

        Raises:
            Rejected: No port is free, or the index is locked or cannot be written.
        """
        for _ in range(_CLAIM_ROUNDS):
            port = self._free_port(preferred)
            with self._locked():
                value = self._read_or_put_aside()
                if port in _claimed(_rows(value), but=path):
                    continue
                _put(value, RegisteredApp(app_id, name, path, port, blueprint))
                self._write(value)
                return port
        raise Rejected("No port could be claimed: others took each one first.", hint="Run this again.")

    def forget(self, paths: Collection[Path]) -> list[RegisteredApp]:
        """Takes rows out of the index, and nothing else; the rows that were there.

        Raises:
            Rejected: The index is locked or cannot be written.
        """
        keys = {str(path) for path in paths}
        with self._locked():
            value = self._read_or_put_aside()
            gone = [row for row in _rows(value) if str(row.path) in keys]
            if gone:
                value["apps"] = [one for one in value["apps"] if one.get("path") not in keys]
                self._write(value)
        return gone

    def prune(self) -> list[RegisteredApp]:
        """Takes out every row whose folder is no app any more; those rows.

        Raises:
            Rejected: The index is locked or cannot be written.
        """
        return self.forget([row.path for row in self.list() if not has_manifest(row.path)])

    def _free_port(self, preferred: int | None) -> int:
        from .ports import free_ports

        taken = _claimed(self.list(), but=None)
        if preferred is not None:
            if preferred not in taken and not is_listening(preferred):
                return preferred
            self._warn(f"port {preferred} is taken; another one is used")
        port = next(free_ports(taken), None)
        if port is None:
            raise Rejected(
                "Every port for apps is taken.", hint="Forget apps that are no more: agent-app list --prune"
            )
        return port

    @contextmanager
    def _locked(self) -> Generator[None]:
        try:
            with locked(self.home / ".registry.lock"):
                yield
        except OSError as error:
            raise Rejected(f"{self.home} cannot be written: {error.strerror or error}.") from error

    def _read(self) -> dict[str, Any]:
        try:
            value = read_json(self._file)
        except FileNotFoundError:
            return {"version": _VERSION, "apps": []}
        except ValueError as error:
            raise _CorruptIndex(str(error)) from error
        except OSError as error:
            raise Rejected(f"{self._file} cannot be read: {error.strerror or error}.") from error
        if not isinstance(value, dict):
            raise _CorruptIndex("it is no JSON object")
        found = cast("dict[str, Any]", value)
        version: object = found.get("version", _VERSION)
        if isinstance(version, int) and not isinstance(version, bool) and version > _VERSION:
            raise Rejected(
                f"{self._file} was written by a later version ({version}).",
                hint="Use the programs that wrote it.",
            )
        apps: object = found.get("apps")
        if not isinstance(apps, list) or not all(map(_is_row, cast("list[object]", apps))):
            raise _CorruptIndex("its `apps` are no rows of an index")
        return found

    def _read_or_put_aside(self) -> dict[str, Any]:
        """Under the lock: the index, or an empty one in place of one that cannot be understood."""
        try:
            return self._read()
        except _CorruptIndex as fault:
            kept = self._file.with_name(f"{self._file.name}.corrupt-{time.time_ns() // 1_000_000}")
            try:
                os.rename(self._file, kept)
            except OSError as error:
                raise Rejected(
                    f"{self._file} is damaged ({fault}) and cannot be renamed: {error.strerror or error}.",
                    hint="Move it away yourself; it was left as it is.",
                ) from error
            self._warn(f"{self._file} was damaged ({fault}); it is kept as {kept.name}")
            rows = _salvaged(kept)
            value: dict[str, Any] = {"version": _VERSION, "apps": rows}
            if rows:
                self._warn(f"{len(rows)} of its rows could still be read and are kept")
                self._write(value)
            return value

    def _write(self, value: dict[str, Any]) -> None:
        value["version"] = _VERSION
        rows = cast("list[dict[str, Any]]", value["apps"])
        value["apps"] = sorted(rows, key=lambda one: (one["name"], one["path"]))
        write_json(self._file, value)


class _CorruptIndex(Exception):
    """The file is there and is no index."""


def now_iso() -> str:
    """The time as the files of apps have it: UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_row(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    row = cast("dict[str, object]", value)
    path = row.get("path")
    return (
        all(isinstance(row.get(key), str) and row[key] for key in ("id", "name"))
        and isinstance(path, str)
        and os.path.isabs(path)
        and "\0" not in path
    )


def _rows(value: dict[str, Any]) -> list[RegisteredApp]:
    rows = [
        RegisteredApp(
            id=one["id"],
            name=one["name"],
            path=Path(one["path"]),
            port=one.get("port") if is_port(one.get("port")) else None,
            blueprint=one["blueprint"] if isinstance(one.get("blueprint"), str) else None,
            created_at=one["createdAt"] if isinstance(one.get("createdAt"), str) else None,
        )
        for one in value["apps"]
    ]
    return sorted(rows, key=lambda row: (row.name, str(row.path)))


def _put(value: dict[str, Any], row: RegisteredApp) -> bool:
    """Brings the row of a path up to date; whether that changed anything."""
    said = {
        "id": row.id,
        "name": row.name,
        "path": str(row.path),
        "port": row.port,
        "blueprint": row.blueprint,
    }
    said = {key: one for key, one in said.items() if one is not None}
    for one in value["apps"]:
        if one["path"] == said["path"]:
            changed = any(one.get(key) != wanted for key, wanted in said.items())
            one.update(said)
            return changed
    value["apps"].append({**said, "createdAt": now_iso()})
    return True


def _claimed(rows: Iterable[RegisteredApp], *, but: Path | None) -> set[int]:
    """Every port that an app was given or asks for itself."""
    ports: set[int] = set()
    for row in rows:
        if row.path == but:
            continue
        if row.port is not None:
            ports.add(row.port)
        if (app := row.folder()) is not None and is_port(app.manifest.get("port")):
            ports.add(app.port)
    return ports


def _salvaged(path: Path) -> list[dict[str, Any]]:
    """The rows of a damaged index that are whole, each path once."""
    try:
        value = read_json(path)
    except (OSError, ValueError):
        return []
    apps: object = cast("dict[str, object]", value).get("apps") if isinstance(value, dict) else None
    if not isinstance(apps, list):
        return []
    good = [cast("dict[str, Any]", one) for one in cast("list[object]", apps) if _is_row(one)]
    return list({one["path"]: one for one in good}.values())


def _warn(line: str) -> None:
    from .programs.screen import printable

    print(f"warning: {printable(line)}", file=sys.stderr)
