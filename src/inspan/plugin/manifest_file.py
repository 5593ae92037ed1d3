"""Manifest files: read strictly, with errors that say file, key path and what was expected."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from inspan.model.errors import ManifestError
from inspan.model.manifest import Manifest

from .faults import Fault, find_faults
from .manifest_checks import find_contradictions

__all__ = ["MANIFEST_FILE", "decode_manifest", "load_manifest", "manifest_error", "read_table"]

MANIFEST_FILE = "manifest.toml"
"""The name of the file in a harness's folder."""


def load_manifest(folder: Path) -> Manifest:
    """The manifest of one folder, by itself: no layers, no `extends`.

    Raises:
        ManifestError: `manifest_unreadable` or `manifest_invalid`.
    """
    file = folder / MANIFEST_FILE
    manifest = decode_manifest(read_table(file), file_of=lambda _: file)
    if manifest.id != folder.name:
        raise manifest_error(
            file,
            Fault(
                key_path="id", problem=f"is {manifest.id!r}", expected=f"the folder's name, {folder.name!r}"
            ),
        )
    return manifest


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


def decode_manifest(table: Mapping[str, Any], *, file_of: Callable[[str], Path]) -> Manifest:
    """The manifest in `table`.

    Args:
        table: Tables of one file, or merged from several.
        file_of: Gives the file that a dotted key path comes from, for the error.

    Raises:
        ManifestError: `manifest_invalid`, with the first fault and the number of the others.
    """
    faults: list[Fault]
    try:
        manifest = msgspec.convert(table, Manifest, strict=True)
    except msgspec.ValidationError as error:
        faults = find_faults(table, Manifest) or [
            Fault(key_path="", problem=str(error), expected="another value")
        ]
    else:
        faults = find_contradictions(manifest)
        if not faults:
            return manifest
    raise manifest_error(file_of(faults[0].key_path), *faults)


def manifest_error(file: Path, fault: Fault, *others: Fault) -> ManifestError:
    """The error for `fault` in `file`; `others` are counted."""
    more = f" There are {len(others)} more faults." if len(others) > 1 else ""
    more = " There is one more fault." if len(others) == 1 else more
    where = fault.key_path or "the manifest"
    return ManifestError(
        f"{file}: {where} {fault.problem}; expected {fault.expected}.{more}",
        hint="Correct the file; docs/manifest.md describes every key.",
        detail={
            "file": str(file),
            "key_path": fault.key_path,
            "expected": fault.expected,
            "others": [{"key_path": one.key_path, "expected": one.expected} for one in others],
        },
    )


def _unreadable(file: Path, fact: str, *, expected: str) -> ManifestError:
    return ManifestError(
        f"{file} {fact}.",
        code="manifest_unreadable",
        hint="Correct the file, or remove its folder.",
        detail={"file": str(file), "key_path": "", "expected": expected},
    )
