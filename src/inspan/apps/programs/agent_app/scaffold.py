"""`agent-app DIR scaffold`: a new app that runs as it is."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from inspan.apps.client import JsonObject
from inspan.apps.faults import Misused, Rejected
from inspan.apps.files import write_json
from inspan.apps.folder import has_manifest
from inspan.apps.ownership import write_canon
from inspan.apps.ports import is_port
from inspan.apps.programs.screen import note, print_json, printable
from inspan.apps.programs.words import Words, command_line
from inspan.apps.registry import Registry

from .pointers import pointer_names
from .unfinished import MARKER, clear_unfinished

__all__ = ["BLUEPRINTS", "DEFAULT_BLUEPRINT", "USAGE", "scaffold"]

USAGE = "agent-app DIR scaffold [--blueprint NAME] [--name NAME] [--port PORT] [--force]"

BLUEPRINTS = {"python": "one Python file, records in SQLite, a page that needs no build"}
"""What an app can be made from, and what it then is."""

DEFAULT_BLUEPRINT = "python"

_FOLDER = Path(__file__).resolve().parents[2] / "blueprints"
_TEMPLATE = ".template"  # so that no tool takes a template for the file that it becomes
_SYSTEM_FILES = ("serve.py",)
_AGENT_APP_VERSION = "0.1.0"
_LONGEST_NAME = 120


def scaffold(place: str, words: Words, registry: Registry) -> int:
    """Makes the app, its id, its credential and its row in the index; or nothing at all. Gives the exit status.

    Raises:
        Misused: The folder is not empty, or a flag is wrong.
        Rejected: There is an app already, or something cannot be written.
    """
    blueprint = (words.one("blueprint") or DEFAULT_BLUEPRINT).removeprefix("blueprint-")
    name = words.one("name")
    port = _port(words.one("port"))
    is_forced = words.switch("force")
    words.done(places=0, usage=USAGE)
    if blueprint not in BLUEPRINTS:
        known = ", ".join(BLUEPRINTS)
        raise Misused(
            f"There is no blueprint {printable(blueprint, longest=80)!r}; there are: {known}.", hint=USAGE
        )
    folder = _folder(place, is_forced=is_forced)
    title = _title(name if name is not None else folder.name)
    made = _Made(folder)
    try:
        made.folder_itself()
        value = _make(made, blueprint, title, port, registry)
    except BaseException as error:
        made.undo(registry)
        if isinstance(error, FileExistsError):
            raise Rejected(
                f"{error.filename} is there already, and the app would need one of its own.",
                hint="Scaffold into an empty folder, then put your file in the place of the one that is made there.",
            ) from error
        if isinstance(error, OSError):
            raise Rejected(f"{folder} cannot be written: {error.strerror or error}.") from error
        raise
    print_json(value)
    note(f"  next: {command_line('agent-app', place, 'serve')}")
    return 0


class _Made:
    """What was made so far, so that it can be taken away again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._paths: list[Path] = []
        self.is_claimed = False

    def folder_itself(self) -> None:
        missing = [one for one in (self.folder, *self.folder.parents) if not one.exists()]
        self.folder.mkdir(parents=True, exist_ok=True)
        self._paths.extend(reversed(missing))

    def file(self, name: str, text: str, *, mode: int = 0o644) -> None:
        path = self.folder / name
        for one in reversed(list(Path(name).parents)[:-1]):
            if not (self.folder / one).exists():
                (self.folder / one).mkdir()
                self._paths.append(self.folder / one)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        self._paths.append(path)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)

    def note(self, path: Path) -> None:
        self._paths.append(path)

    def undo(self, registry: Registry) -> None:
        for path in reversed(self._paths):
            try:
                if path.is_dir() and not path.is_symlink():
                    path.rmdir()
                else:
                    path.unlink(missing_ok=True)
            except OSError:
                continue  # somebody put something of their own into it
        if self.is_claimed:
            registry.forget([self.folder])


def _make(made: _Made, blueprint: str, title: str, port: int | None, registry: Registry) -> JsonObject:
    folder = made.folder
    app_id = secrets.token_hex(6)
    claimed = registry.claim_port(app_id, title, folder, preferred=port, blueprint=blueprint)
    made.is_claimed = True
    texts = _texts(folder, blueprint, {"name": title, "id": app_id, "port": str(claimed)})
    state = folder / ".a2app"
    if not state.exists():
        state.mkdir(mode=0o700)
        made.note(state)
    # First, so that what a scaffold that is killed leaves behind can be told from what is somebody's own.
    made.note(state / MARKER)
    write_json(state / MARKER, texts)
    for name, text in texts.items():
        made.file(name, text, mode=0o600 if name == ".agent-token" else 0o644)
    made.note(state / "system-hashes.json")
    write_canon(folder, [one for one in _SYSTEM_FILES if (folder / one).is_file()])
    version = _library_version()
    manifest: JsonObject = {
        "id": app_id,
        "name": title,
        "agentAppVersion": _AGENT_APP_VERSION,
        "adapterVersion": version,
        "appVersion": "0.1.0",
        "authMode": "none",
        "port": claimed,
        "pipeline": {
            "install": "",
            "build": '"${A2APP_PYTHON:-python3}" serve.py --check',
            "start": 'exec "${A2APP_PYTHON:-python3}" serve.py',
            "health": "/api/_a2app",
        },
    }
    # Last, since its presence is what makes the folder an app.
    made.note(folder / "manifest.json")
    write_json(folder / "manifest.json", manifest, mode=0o644)
    (state / MARKER).unlink(missing_ok=True)
    return {"ok": True, "id": app_id, "dir": str(folder), "port": claimed, "adapterVersion": version}


def _texts(folder: Path, blueprint: str, fill: Mapping[str, str]) -> dict[str, str]:
    """Every file that is going to be made, by its name; a pointer only where there is none."""
    source = _FOLDER / blueprint
    texts = {
        path.relative_to(source).as_posix().removesuffix(_TEMPLATE).replace("dot-", "."): _filled(
            path.read_text(encoding="utf-8"), fill
        )
        for path in sorted(source.rglob(f"*{_TEMPLATE}"))
    }
    texts |= {name: _POINTER for name in pointer_names() if not os.path.lexists(folder / name)}
    return texts | {".agent-token": secrets.token_hex(32) + "\n"}


def _folder(place: str, *, is_forced: bool) -> Path:
    if not place or "\0" in place:
        raise Misused("No folder is named for the app.", hint=USAGE)
    folder = Path(os.path.abspath(place))
    if has_manifest(folder):
        raise Rejected(f"{folder} is an app already.", hint="Name another folder, or change this app.")
    clear_unfinished(folder)
    try:
        names = [entry.name for entry in os.scandir(folder)]
    except FileNotFoundError:
        return folder
    except NotADirectoryError:
        raise Misused(f"{folder} is no folder.", hint=USAGE) from None
    except OSError as error:
        raise Rejected(f"{folder} cannot be read: {error.strerror or error}.") from error
    if names and not is_forced:
        raise Misused(
            f"{folder} is not empty.", hint="Name another folder, or add --force: no file in it is replaced."
        )
    return folder


def _title(name: str) -> str:
    title = " ".join(name.split())
    if not title or len(title) > _LONGEST_NAME or not title.isprintable():
        raise Misused(f"An app's name has 1 to {_LONGEST_NAME} letters that can be printed.", hint=USAGE)
    return title


def _port(text: str | None) -> int | None:
    if text is None:
        return None
    port = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    if not is_port(port):
        raise Misused(
            f"--port takes a number from 1 to 65535, not {printable(text, longest=40)!r}.", hint=USAGE
        )
    return port


def _filled(text: str, values: Mapping[str, str]) -> str:
    for key, value in values.items():
        text = text.replace(f"{{{{{key}}}}}", value)
    return text


def _library_version() -> str:
    from inspan import __version__

    return __version__


_POINTER = """\
# For whoever works on this app

Read AGENT_APP.md first: what the app is, how it is built, and what may be changed.
What it has to do is said in reference/requirements.md.
"""
