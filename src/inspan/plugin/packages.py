"""Packages: the version of an npm package, read beside its program; nothing is run."""

from __future__ import annotations

from pathlib import Path

import msgspec

__all__ = ["package_version"]

_LEVELS = 6
_SIZE_CAP_BYTES = 1024 * 1024


class _Package(msgspec.Struct):
    name: str = ""
    version: str = ""


def package_version(program: str, package: str) -> str | None:
    """The version of `package`, where `program` belongs to it; `None` where that cannot be seen.

    A program that npm installed is a link into its package, whose `package.json` lies a few folders above.
    """
    try:
        place = Path(program).resolve(strict=True).parent
    except OSError:
        return None
    for folder in (place, *place.parents)[:_LEVELS]:
        found = _read(folder / "package.json")
        if found is not None and found.name == package:
            return found.version or None
    return None


def _read(file: Path) -> _Package | None:
    try:
        if file.stat().st_size > _SIZE_CAP_BYTES:
            return None
        return msgspec.json.decode(file.read_bytes(), type=_Package)
    except (OSError, msgspec.DecodeError):
        return None
