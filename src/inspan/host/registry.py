"""The registry: every harness that is known, merged from its layers, each with what keeps it from being used.

Everything that names a harness resolves it here; there is no other list.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from inspan.model.errors import InspanError, ManifestError, UsageError
from inspan.model.manifest import Manifest
from inspan.plugin.faults import Fault
from inspan.plugin.manifest_file import MANIFEST_FILE, decode_manifest, manifest_error, read_manifest_table

from .manifests import LayeredTable, ManifestLayer, Origin, merge_layers, merge_over
from .sources import built_in_folders, installed_folders, user_folders

__all__ = ["HarnessRegistry", "RegisteredHarness"]


class RegisteredHarness(msgspec.Struct, frozen=True, kw_only=True):
    """A harness in the registry.

    Attributes:
        id: Its id.
        layered: Its merged tables, with their sources.
        manifest: The manifest; `None` where `problem` says why not.
        problem: What keeps it from being used.
    """

    id: str
    layered: LayeredTable
    manifest: Manifest | None = None
    problem: InspanError | None = None

    @property
    def origin(self) -> Origin:
        """Where its highest layer comes from."""
        return self.layered.layers[-1].origin

    @property
    def folder(self) -> Path:
        """The folder of its highest layer."""
        return self.layered.layers[-1].folder

    @property
    def plugin_layer(self) -> ManifestLayer:
        """The layer that names the plugin; its code lies in that layer's folder."""
        return self.layered.layer_of("plugin")

    def origin_of(self, key_path: str) -> str:
        """Where a field comes from, as `origin: file`."""
        layer = self.layered.layer_of(key_path)
        return f"{layer.origin}: {layer.file}"

    def require(self) -> Manifest:
        """The manifest. Raises the problem where there is one."""
        if self.problem is not None:
            raise self.problem
        if self.manifest is None:
            raise AssertionError(f"{self.id} has neither a manifest nor a problem")
        return self.manifest


class HarnessRegistry:
    """All harnesses of one Inspan home.

    Built-in and installed manifests are read once. The operator's folder is looked at on every access and read
    again when a file in it changed, so that a running daemon sees a new harness.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._fixed = _read_all("built-in", built_in_folders()) + _read_all("installed", installed_folders())
        self._seen: tuple[tuple[tuple[str, int, int], ...], ...] | None = None
        self._entries: dict[str, RegisteredHarness] = {}

    def list(self) -> tuple[RegisteredHarness, ...]:
        """All harnesses by id, faulty ones included."""
        return tuple(self._current()[id_] for id_ in sorted(self._current()))

    def get(self, harness: str) -> RegisteredHarness:
        """One harness, faulty or not.

        Raises:
            UsageError: `unknown_harness`, with ids that are spelled alike.
        """
        entries = self._current()
        if harness in entries:
            return entries[harness]
        near = difflib.get_close_matches(harness, entries, n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`inspan harness list` shows all of them."
        raise UsageError(
            f"No harness of the id {harness!r} is registered.",
            code="unknown_harness",
            hint=hint,
            detail={"near": near},
        )

    def manifest(self, harness: str) -> Manifest:
        """The manifest of one harness.

        Raises:
            UsageError: `unknown_harness`.
            ManifestError: What is wrong with it.
        """
        return self.get(harness).require()

    def _current(self) -> dict[str, RegisteredHarness]:
        folders = user_folders(self._home)
        seen = tuple(_signature(folder) for folder in folders)
        if seen != self._seen:
            self._entries = _resolve_all(self._fixed + _read_all("user", folders))
            self._seen = seen
        return self._entries


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that was read, or could not be."""

    id: str
    layer: ManifestLayer
    problem: ManifestError | None = None


def _signature(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """What changes when the manifest or a file of rules beside it does."""
    # Asked for with every call to a seat, hence without the comfort of `Path`.
    try:
        with os.scandir(folder) as entries:
            return tuple(sorted(_state_of(entry) for entry in entries if entry.name.endswith(".toml")))
    except OSError:
        return ((str(folder), 0, 0),)


def _state_of(entry: os.DirEntry[str]) -> tuple[str, int, int]:
    try:
        status = entry.stat()
    except OSError:
        return entry.path, 0, 0
    return entry.path, status.st_mtime_ns, status.st_size


def _read_all(origin: Origin, folders: Iterable[Path]) -> list[_Found]:
    found: list[_Found] = []
    for folder in folders:
        file = folder / MANIFEST_FILE
        try:
            table = read_manifest_table(file)
        except ManifestError as error:
            layer = ManifestLayer(origin=origin, folder=folder, table={})
            found.append(_Found(id=folder.name, layer=layer, problem=error))
            continue
        layer = ManifestLayer(origin=origin, folder=folder, table=table)
        problem = None
        if table.get("id", folder.name) != folder.name:
            problem = manifest_error(
                file,
                Fault(
                    key_path="id",
                    problem=f"is {table['id']!r}",
                    expected=f"the folder's name, {folder.name!r}",
                ),
            )
        found.append(_Found(id=folder.name, layer=layer, problem=problem))
    return found


def _resolve_all(found: list[_Found]) -> dict[str, RegisteredHarness]:
    by_id: dict[str, list[_Found]] = {}
    for one in found:
        by_id.setdefault(one.id, []).append(one)
    own = {id_: merge_layers([one.layer for one in group]) for id_, group in by_id.items()}
    problems = {id_: problem for id_, group in by_id.items() if (problem := _problem_of(group)) is not None}
    entries = {id_: _resolve(id_, own, problems) for id_ in own}
    return {id_: _check_wraps(entry, entries) for id_, entry in entries.items()}


def _problem_of(group: list[_Found]) -> ManifestError | None:
    for one in group:
        if one.problem is not None:
            return one.problem
    origins = [one.layer.origin for one in group]
    for one in group:
        if origins.count(one.layer.origin) > 1:
            files = [str(two.layer.file) for two in group if two.layer.origin == one.layer.origin]
            return ManifestError(
                f"Two manifests of the {one.layer.origin} layer claim the id {one.id!r}: {' and '.join(files)}.",
                code="manifest_conflict",
                hint="Remove one of them, or give it another id.",
                detail={
                    "file": files[0],
                    "key_path": "id",
                    "expected": "an id that is not taken",
                    "files": files,
                },
            )
    return None


def _resolve(id_: str, own: dict[str, LayeredTable], problems: dict[str, ManifestError]) -> RegisteredHarness:
    layered = own[id_]
    try:
        if id_ in problems:
            raise problems[id_]
        layered = _extend(id_, own, problems, seen=())
        manifest = decode_manifest(layered.table, file_of=_file_of(layered))
    except ManifestError as error:
        return RegisteredHarness(id=id_, layered=layered, problem=error)
    return RegisteredHarness(id=id_, layered=layered, manifest=manifest)


def _file_of(layered: LayeredTable) -> Callable[[str], Path]:
    return lambda key_path: layered.layer_of(key_path).file


def _extend(
    id_: str, own: dict[str, LayeredTable], problems: dict[str, ManifestError], *, seen: tuple[str, ...]
) -> LayeredTable:
    layered = own[id_]
    base = layered.table.get("extends")
    if not isinstance(base, str):
        return layered
    file = layered.layer_of("extends").file
    if base in (*seen, id_):
        chain = " -> ".join((*seen, id_, base))
        raise manifest_error(
            file,
            Fault(
                key_path="extends", problem=f"goes round in a circle ({chain})", expected="a chain that ends"
            ),
        )
    if base not in own:
        raise manifest_error(
            file,
            Fault(
                key_path="extends",
                problem=f"is {base!r}, which is not registered",
                expected=f"one of {', '.join(sorted(own))}",
            ),
        )
    if base in problems:
        raise problems[base]
    return merge_over(_extend(base, own, problems, seen=(*seen, id_)), layered)


def _check_wraps(entry: RegisteredHarness, entries: dict[str, RegisteredHarness]) -> RegisteredHarness:
    if entry.manifest is None or entry.manifest.wraps is None:
        return entry
    wrapped = entries.get(entry.manifest.wraps)
    fault: Fault | None = None
    if wrapped is None:
        fault = Fault(
            key_path="wraps",
            problem=f"is {entry.manifest.wraps!r}, which is not registered",
            expected=f"one of {', '.join(sorted(entries))}",
        )
    elif wrapped.manifest and wrapped.manifest.session.resume_type == entry.manifest.session.resume_type:
        fault = Fault(
            key_path="session.resume_type",
            problem=f"is that of the wrapped harness, {entry.manifest.session.resume_type!r}",
            expected="a type of its own, so that neither resumes a session of the other",
        )
    if fault is None:
        return entry
    error = manifest_error(entry.layered.layer_of(fault.key_path).file, fault)
    return RegisteredHarness(id=entry.id, layered=entry.layered, problem=error)
