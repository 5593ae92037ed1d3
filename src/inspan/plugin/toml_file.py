"""TOML files: read whole, with errors that say which file and why."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from inspan.model.errors import ManifestError

__all__ = ["read_table"]


def read_table(file: Path) -> dict[str, Any]:
    """The tables of a TOML file, of whatever shape.

    Raises:
        ManifestError: `manifest_unreadable` where the file cannot be read, is not UTF-8 or is no TOML.
    """
    try:
        text = file.read_bytes().decode("utf-8")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise _unreadable(file, f"cannot be read: {reason}", expected="a file that can be read") from error
    except UnicodeDecodeError as error:
        where = f"byte {error.start} is no UTF-8"
        raise _unreadable(file, f"is not encoded in UTF-8: {where}", expected="UTF-8 text") from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(file, f"is no TOML: {error}", expected="TOML 1.0") from error


def _unreadable(file: Path, fact: str, *, expected: str) -> ManifestError:
    return ManifestError(
        f"{file} {fact}.",
        code="manifest_unreadable",
        hint="Correct the file, or remove its folder.",
        detail={"file": str(file), "key_path": "", "expected": expected},
    )
