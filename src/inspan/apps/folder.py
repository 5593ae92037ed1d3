"""An app's folder, read leniently and quickly: only what a program needs in order to find and address the app.

Whether the app is *right* is said by `inspan.apps.model`; here an app of another version still has a name and a port.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple, cast

from .faults import Rejected
from .files import read_json
from .ports import FIRST_PORT, is_port
from .processes import is_same_process

__all__ = ["AppRecord", "Folder", "has_manifest", "is_of_another", "mark_of", "open_folder", "read_record"]

JsonObject = dict[str, Any]


class AppRecord(NamedTuple):
    """What is written down of a process that serves an app.

    Attributes:
        pid: The process.
        birth: When it was born (`processes.birth_of`); empty in a record of the original programs.
        port: The port that it was told to serve on.
        is_healthy: Whether it has answered.
        raw: All of the record.
    """

    pid: int
    birth: str
    port: int
    is_healthy: bool
    raw: JsonObject

    @property
    def is_alive(self) -> bool:
        """Whether that very process lives."""
        return is_same_process(self.pid, self.birth)


class Folder(NamedTuple):
    """A folder that holds an app.

    Attributes:
        path: The folder, absolute.
        manifest: All of `manifest.json`.
    """

    path: Path
    manifest: JsonObject

    @property
    def id(self) -> str:
        """The app's id."""
        return str(self.manifest["id"])

    @property
    def name(self) -> str:
        """The app's name; its id where it has none."""
        name = self.manifest.get("name")
        return name if isinstance(name, str) and name else self.id

    @property
    def port(self) -> int:
        """The port that the app serves on: the manifest's, else the first for apps."""
        port = self.manifest.get("port")
        return cast(int, port) if is_port(port) else FIRST_PORT

    @property
    def is_multi_user(self) -> bool:
        """Whether each caller acts as a user of the app."""
        return self.manifest.get("authMode") == "multi-user"

    @property
    def state(self) -> Path:
        """Where the programs keep what they know of the app; never under version control."""
        return self.path / ".a2app"

    def pipeline(self, step: str) -> str:
        """One command of the pipeline (`install`, `build`, `start`) or the path `health`; empty where absent."""
        pipeline = self.manifest.get("pipeline")
        value: object = cast(JsonObject, pipeline).get(step) if isinstance(pipeline, dict) else None
        return value if isinstance(value, str) else ""

    def token(self) -> str | None:
        """The agent's credential, or None where the app has none.

        Raises:
            Rejected: The file cannot be read.
        """
        try:
            with open(self.path / ".agent-token", encoding="ascii") as file:
                return file.read(4096).strip() or None
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise Rejected(f"The app's .agent-token cannot be read ({type(error).__name__}).") from None

    def serve_record(self) -> AppRecord | None:
        """Who was last started to serve the app, dead or alive."""
        return read_record(self.state / "serve.json")

    def dev_record(self) -> AppRecord | None:
        """Who was last started to try a change of the app, dead or alive."""
        return read_record(self.state / "dev.json")

    def is_served_here(self) -> bool:
        """Whether a process that was started from this very folder, and from no copy of it, serves the app now."""
        return any(one is not None and one.is_alive for one in (self.serve_record(), self.dev_record()))

    def port_in_use(self) -> int:
        """The port to operate the app on: that of a change that is being tried, else the port it is served on."""
        trial = self.dev_record()
        if trial is not None and trial.is_healthy and trial.is_alive:
            return trial.port
        served = self.serve_record()
        return served.port if served is not None and served.is_alive else self.port


def has_manifest(path: Path) -> bool:
    """Whether the folder is an app: the manifest's presence makes it one. False for a path that cannot exist."""
    try:
        return (path / "manifest.json").is_file()
    except (OSError, ValueError):
        return False


def open_folder(path: str | os.PathLike[str]) -> Folder:
    """Reads the app in a folder.

    Raises:
        Rejected: There is no manifest, or not one that names an app.
    """
    folder = Path(os.path.abspath(os.fspath(path)))
    try:
        manifest = read_json(folder / "manifest.json")
    except (FileNotFoundError, NotADirectoryError):
        raise Rejected(f"{folder} holds no app: it has no manifest.json.") from None
    except (OSError, ValueError) as error:
        raise Rejected(f"{folder / 'manifest.json'} cannot be read: {error}.") from error
    if not isinstance(manifest, dict):
        raise Rejected(f"{folder / 'manifest.json'} is no JSON object.")
    found = cast(JsonObject, manifest)
    if not isinstance(found.get("id"), str) or not found["id"]:
        raise Rejected(f"{folder / 'manifest.json'} has no `id`.")
    return Folder(folder, found)


def mark_of(folder: Path) -> str:
    """What tells a folder from a copy of it, and not from itself under another name."""
    found = os.stat(folder)
    return f"{found.st_dev:x}:{found.st_ino:x}"


def is_of_another(record: JsonObject, path: Path) -> bool:
    """Whether what stands in a file of an app's `.a2app` was written for another folder, of which this is a copy."""
    written: object = record.get("folder")
    return isinstance(written, str) and written != mark_of(path.parent.parent)


def read_record(path: Path) -> AppRecord | None:
    """The record of a process in an app's `.a2app`; None where there is none or it says nothing that can be used.

    One that came along when the app was copied speaks of the other app's process, and does not count.
    """
    try:
        value = read_json(path)
    except (OSError, ValueError):
        return None
    raw = cast(JsonObject, value) if isinstance(value, dict) else {}
    pid, port, birth = raw.get("pid"), raw.get("port"), raw.get("birth")
    if not isinstance(pid, int) or isinstance(pid, bool) or pid < 1 or not is_port(port):
        return None
    if is_of_another(raw, path):
        return None
    return AppRecord(
        pid=pid,
        birth=birth if isinstance(birth, str) else "",
        port=cast(int, port),
        is_healthy=raw.get("healthy") is True,
        raw=raw,
    )
