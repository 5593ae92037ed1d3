"""Which files of an app belong to the framework, and whether they still are what it put there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from .faults import Rejected
from .files import read_json, write_json

__all__ = ["digest_of", "drifted_files", "write_canon"]

_CANON = Path(".a2app") / "system-hashes.json"
_CHUNK_BYTES = 1024 * 1024


def digest_of(path: Path) -> str:
    """The file's content as `sha256:HEX`.

    Raises:
        OSError: It cannot be read.
    """
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return f"sha256:{digest.hexdigest()}"


def write_canon(folder: Path, names: Iterable[str]) -> None:
    """Notes the files as they are now; from here on nobody else is to change them."""
    write_json(folder / _CANON, {name: digest_of(folder / name) for name in sorted(names)}, mode=0o644)


def drifted_files(folder: Path) -> list[str]:
    """The framework's files that were changed or are gone, by name. An app without a canon owns all its files.

    Raises:
        Rejected: The canon cannot be read, or names files elsewhere.
    """
    try:
        value = read_json(folder / _CANON)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise Rejected(f"{folder / _CANON} cannot be read: {error}.") from error
    rows: object = value
    if isinstance(value, dict) and isinstance(cast("dict[str, Any]", value).get("files"), dict):
        rows = cast("dict[str, Any]", value)["files"]
    if not isinstance(rows, dict):
        raise Rejected(f"{folder / _CANON} is no JSON object.")
    return [
        name
        for name, wanted in sorted(cast("dict[str, object]", rows).items())
        if isinstance(wanted, str) and wanted.startswith("sha256:") and not _is_as(folder, name, wanted)
    ]


def _is_as(folder: Path, name: str, wanted: str) -> bool:
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        return False
    try:
        return digest_of(folder / path) == wanted
    except (OSError, ValueError):
        return False
