"""Where manifests are looked for: our own folder, installed packages, the operator's folder; never a project."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import inspan
from inspan.model.ids import HARNESS_ID
from inspan.plugin.manifest_file import MANIFEST_FILE

__all__ = ["ENTRY_POINT_GROUP", "built_in_folders", "installed_folders", "user_folders", "user_root"]

ENTRY_POINT_GROUP = "inspan.harnesses"
"""The entry points of packages that bring harnesses; each names a package whose folder holds harness folders."""


def built_in_folders() -> list[Path]:
    """The folders of the harnesses that ship with Inspan."""
    return list(_harness_folders(Path(inspan.__file__).parent / "harnesses"))


def installed_folders() -> list[Path]:
    """The folders of harnesses in installed packages, found without running a line of them."""
    roots = {
        root
        for point in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
        for root in _package_folders(point.module)
    }
    return [folder for root in sorted(roots) for folder in _harness_folders(root)]


def user_root(home: Path) -> Path:
    """The operator's folder of harnesses in an Inspan home."""
    return home / "harnesses"


def user_folders(home: Path) -> list[Path]:
    """The folders of the operator's harnesses and overlays."""
    return list(_harness_folders(user_root(home)))


def _harness_folders(root: Path) -> Iterator[Path]:
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return
    for name in names:
        if HARNESS_ID.fullmatch(name) and os.path.isfile(os.path.join(root, name, MANIFEST_FILE)):
            yield root / name


def _package_folders(module: str) -> Iterator[Path]:
    """The folders of a package. Only the top package is looked up: finding a deeper one would import its parents."""
    top, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return
    for location in (spec.submodule_search_locations if spec else None) or ():
        folder = Path(location, *rest)
        if folder.is_dir():
            yield folder
