"""Manifest files: read strictly, with errors that say file, key path and what was expected."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from inspan.model.errors import ManifestError
from inspan.model.manifest import Manifest

from .faults import Fault, find_faults
from .manifest_checks import find_contradictions
from .renamed_keys import RENAMED_KEYS, KeyConflictError, RenamedKey, read_old_names
from .screen_rules_file import read_screen_rules
from .toml_file import read_table

__all__ = ["MANIFEST_FILE", "decode_manifest", "load_manifest", "manifest_error", "read_manifest_table"]

MANIFEST_FILE = "manifest.toml"
"""The name of the file in a harness's folder."""

_log = logging.getLogger("inspan.plugin")


def load_manifest(folder: Path) -> Manifest:
    """The manifest of one folder, by itself: no layers, no `extends`.

    Raises:
        ManifestError: `manifest_unreadable` or `manifest_invalid`.
    """
    file = folder / MANIFEST_FILE
    manifest = decode_manifest(read_manifest_table(file), file_of=lambda _: file)
    if manifest.id != folder.name:
        raise manifest_error(
            file,
            Fault(
                key_path="id", problem=f"is {manifest.id!r}", expected=f"the folder's name, {folder.name!r}"
            ),
        )
    return manifest


def read_manifest_table(file: Path, *, renamed: Sequence[RenamedKey] | None = None) -> dict[str, Any]:
    """The tables of a manifest's file, every key under the name that it has now; an old name is logged.

    Args:
        file: The file.
        renamed: What was renamed; `RENAMED_KEYS` where it is not given.

    Raises:
        ManifestError: `manifest_unreadable`; `manifest_invalid` where a key is there under both of its names.
    """
    try:
        table, notes = read_old_names(read_table(file), RENAMED_KEYS if renamed is None else renamed)
    except KeyConflictError as error:
        problem = f"is the old name of {error.new}, which is there too"
        fault = Fault(key_path=error.key_path, problem=problem, expected=f"only {error.new}")
        raise manifest_error(file, fault) from error
    for note in notes:
        _log.warning("%s: %s", file, note)
    return table


def decode_manifest(table: Mapping[str, Any], *, file_of: Callable[[str], Path]) -> Manifest:
    """The manifest in `table`.

    Args:
        table: Tables of one file, or merged from several.
        file_of: Gives the file that a dotted key path comes from, for the error.

    Raises:
        ManifestError: `manifest_invalid`, with the first fault and the number of the others; `screen_rules_invalid`
            or `manifest_unreadable` where the screen rules of a mode cannot be used.
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
            return _with_screen_rules(manifest, file_of)
    raise manifest_error(file_of(faults[0].key_path), *faults)


def _with_screen_rules(manifest: Manifest, file_of: Callable[[str], Path]) -> Manifest:
    """The manifest with the rules of its consoles; they lie beside the file that names them, whatever is laid over it."""
    modes = dict(manifest.modes)
    for name, mode in manifest.modes.items():
        settings = mode.terminal
        if not settings.rules_file:
            continue
        folder = file_of(f"modes.{name}.terminal.rules_file").parent
        rules = read_screen_rules(folder / settings.rules_file)
        modes[name] = msgspec.structs.replace(mode, terminal=msgspec.structs.replace(settings, rules=rules))
    return msgspec.structs.replace(manifest, modes=modes)


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
