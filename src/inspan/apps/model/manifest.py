"""`manifest.json`, which makes a folder an app, and what stands beside it: `read_app`."""

from __future__ import annotations

import json
import re
import secrets
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from inspan.model.errors import ManifestError, UsageError

from .operations import OperationDecl, operations_from_wire
from .verbs import OPERATE_VERBS

__all__ = [
    "AGENT_APP_VERSION",
    "DEFAULT_PORT",
    "MANIFEST",
    "MODULE_NAME",
    "OPERATIONS",
    "TOKEN",
    "AppFolder",
    "AppManifest",
    "Capabilities",
    "ManifestModule",
    "Pipeline",
    "module_name_problem",
    "new_app_id",
    "read_app",
    "read_manifest",
]

MANIFEST = "manifest.json"
OPERATIONS = "operations.json"
TOKEN = ".agent-token"  # noqa: S105 - the name of the file, not what is in it

AGENT_APP_VERSION = "0.1.0"
"""The version of the format that we write; we read every 0.1."""

DEFAULT_PORT = 8090

MODULE_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")

_LARGEST_BYTES = 4 * 1024 * 1024
_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:[-+][0-9A-Za-z.+-]{1,64})?")


class Pipeline(msgspec.Struct, frozen=True, kw_only=True):
    """How the app is installed, built and started: shell commands, each of which may be empty.

    Attributes:
        install: Fetches what it needs.
        build: Makes it ready.
        start: Runs it; the port is in `PORT`.
        health: Not a command: the path of a URL that answers once the app is ready.
    """

    install: str
    build: str
    start: str
    health: str


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What the app says it works with."""

    integrations: tuple[str, ...] = ()


class ManifestModule(msgspec.Struct, frozen=True, kw_only=True):
    """A module that the manifest lists."""

    name: str
    summary: str = ""


class AppManifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`manifest.json`. Keys that are not listed here are left alone.

    Attributes:
        id: Who the app is; its server says the same.
        name: What a person calls it.
        agent_app_version: Version of this format.
        adapter_version: Version of the library that serves it.
        auth_mode: Whether it has one user or several.
        pipeline: How it is installed, built and started.
        app_version: The app's own version.
        modification_lock: Nobody is to change its code.
        capabilities: What it works with.
        modules: Its modules, where the manifest lists them.
        port: Where it serves on the loopback.
        env: Whether it runs for development.
    """

    id: str
    name: str
    agent_app_version: str
    adapter_version: str
    auth_mode: Literal["none", "multi-user"]
    pipeline: Pipeline
    app_version: str = ""
    modification_lock: bool = False
    capabilities: Capabilities = Capabilities()
    modules: tuple[ManifestModule, ...] = ()
    port: int = DEFAULT_PORT
    env: Literal["dev", "live"] | None = None


class AppFolder(msgspec.Struct, frozen=True, kw_only=True):
    """An app on disk.

    Attributes:
        path: The folder, absolute, links followed.
        manifest: What `manifest.json` says.
        operations: What `operations.json` says; empty where there is none.
        token: The agent's credential; `None` where there is none. Never log it.
        warnings: What is odd and no error, one line each.
    """

    path: Path
    manifest: AppManifest
    operations: tuple[OperationDecl, ...] = ()
    token: str | None = None
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """The folder and the id; the token stays out of logs and tracebacks."""
        return f"AppFolder(path={str(self.path)!r}, id={self.manifest.id!r})"


def new_app_id() -> str:
    """A fresh id: 12 hexadecimal characters of 6 random bytes."""
    return secrets.token_hex(6)


def module_name_problem(name: str) -> str | None:
    """What is wrong with a module's name, or `None`."""
    if not MODULE_NAME.fullmatch(name):
        return f'the module name "{name}" is not 1 to 32 of a-z, 0-9 and "-", with a letter first'
    if name in OPERATE_VERBS:
        return f'the module name "{name}" is reserved: {", ".join(OPERATE_VERBS)} could not be reached'
    return None


def read_app(folder: Path) -> AppFolder:
    """Reads an app's folder.

    Args:
        folder: The folder that holds `manifest.json`.

    Returns:
        The app; its path is absolute.

    Raises:
        UsageError: The folder holds no manifest, so it is no app.
        ManifestError: A file cannot be read, is not JSON, or says what it must not; all problems are in `detail`.
    """
    path = folder.expanduser().resolve()
    if not (path / MANIFEST).is_file():
        raise UsageError(
            f"{path} holds no {MANIFEST}, so it is no app.",
            hint="Give a folder that has one, or make one with `agent-app scaffold`.",
            detail={"file": str(path / MANIFEST)},
        )
    manifest = read_manifest(path / MANIFEST)
    operations: tuple[OperationDecl, ...] = ()
    if (path / OPERATIONS).exists():
        operations, problems = operations_from_wire(_read_json(path / OPERATIONS))
        _refuse(path / OPERATIONS, problems)
    token, warnings = _read_token(path / TOKEN)
    return AppFolder(path=path, manifest=manifest, operations=operations, token=token, warnings=warnings)


def read_manifest(path: Path) -> AppManifest:
    """Reads one `manifest.json`.

    Raises:
        ManifestError: It cannot be read, is of another version, or says what it must not.
    """
    value = _read_json(path)
    if not isinstance(value, dict):
        _refuse(path, ["is not a JSON object"])
    given = cast("dict[str, Any]", value)
    version = given.get("agentAppVersion")
    if isinstance(version, str) and (problem := _version_problem(version)):
        _refuse(path, [problem])
    try:
        # An explicit null is as good as an absent key, but only where absence is allowed.
        manifest = msgspec.convert({key: one for key, one in given.items() if one is not None}, AppManifest)
    except msgspec.ValidationError as error:
        raise ManifestError(
            f"{path} cannot be used: {error}.",
            hint="Put it right, or make a new app with `agent-app scaffold` and compare.",
            detail={"file": str(path)},
        ) from error
    _refuse(path, list(_manifest_problems(manifest)))
    return manifest


def _manifest_problems(manifest: AppManifest) -> list[str]:
    problems = [f'"{key}" is blank' for key in ("id", "name") if not getattr(manifest, key).strip()]
    if any(ord(one) < 32 for one in manifest.id + manifest.name):
        problems.append('"id" or "name" has a control character in it')
    if not 0 < manifest.port < 65536:
        problems.append(f'"port" is {manifest.port}, which is no port')
    if manifest.pipeline.health and not manifest.pipeline.health.startswith("/"):
        problems.append('"pipeline.health" is no path that begins with "/"')
    names = [module.name for module in manifest.modules]
    problems.extend(problem for name in names if (problem := module_name_problem(name)))
    problems.extend(
        f'the module "{name}" is listed twice' for name in sorted({n for n in names if names.count(n) > 1})
    )
    return problems


def _version_problem(version: str) -> str | None:
    match = _VERSION.fullmatch(version)
    if match is None:
        return f'"agentAppVersion" is {version[:40]!r}, which is no version'
    if (match[1], match[2]) != ("0", "1"):
        return f'"agentAppVersion" is {version[:40]}, and only versions 0.1 of the format can be read here'
    return None


def _read_json(path: Path) -> object:
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            _refuse(path, [f"is larger than {_LARGEST_BYTES} bytes"])
        return json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=_no_constant)
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(
            f"{path} cannot be read: {error}.", code="manifest_unreadable", detail={"file": str(path)}
        ) from error
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{path} is not JSON: {error}.", detail={"file": str(path)}) from error


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON value")


def _read_token(path: Path) -> tuple[str | None, tuple[str, ...]]:
    try:
        text = path.read_text(encoding="utf-8")
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None, ()
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(
            f"{path} cannot be read: {type(error).__name__}.",
            code="manifest_unreadable",
            detail={"file": str(path)},
        ) from error
    lines = text.split()
    if len(lines) != 1:
        return None, (f"{path} does not hold exactly one line, so it is used as if it were not there.",)
    warnings = (f"{path} can be read by others: run `chmod 600` on it.",) if mode & 0o077 else ()
    return lines[0], warnings


def _refuse(path: Path, problems: list[str]) -> None:
    if problems:
        raise ManifestError(
            f"{path}: {'; '.join(problems)}.",
            hint="Put it right and try again.",
            detail={"file": str(path), "problems": problems},
        )
