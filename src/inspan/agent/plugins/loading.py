"""Finds and reads a plugin's module. Nothing is downloaded, and nothing is looked for in a project.

A file is read anew for each agent, under a name of its own, so that two agents do not share even its module. An
installed module is imported as everybody else imports it.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from inspan.model.errors import PluginError

__all__ = ["DECLARATION", "FoundModule", "find_module"]

DECLARATION = "inspan.plugin.json"
"""The file that makes a folder a declarative package. No code of such a folder is ever run."""

_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_numbers = itertools.count(1)


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundModule:
    """A module that was found and whose code has not run yet.

    Attributes:
        load: Runs its code and gives the module. Raises whatever that raises.
        unload: Forgets the module, if it is this agent's alone. Calling it twice is safe.
        attribute: Where in the module the plugin is.
        file: The file that its code begins in; None if that is not known.
    """

    load: Callable[[], ModuleType]
    unload: Callable[[], None]
    attribute: str
    file: Path | None = None


class _FreshLoader(SourceFileLoader):
    """Reads the source each time: compiled code that was kept is told by second and size, and an edit may change neither."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def find_module(reference: str, *, folder: Path, project: Path) -> FoundModule:
    """Finds what an entry's `module` names, without running any of it.

    Args:
        reference: An absolute path of a `.py` file or a package's folder, or the dotted name of an installed module,
            each perhaps with `:attribute`; without, the attribute is `plugin`.
        folder: Where a module is looked for that is not installed: the home.
        project: Where none is ever looked for by name.

    Raises:
        PluginError: `plugin_missing`, or `plugin_not_permitted` for a declarative package.
    """
    if reference.startswith("/"):
        path, attribute = _split_path(reference)
        return _private(path, attribute, ())
    name, _, attribute = reference.partition(":")
    if _MODULE.fullmatch(name) is None or not (attribute or "plugin").isidentifier():
        raise _missing(reference, "it is neither an absolute path nor the name of a module")
    importlib.invalidate_caches()  # it may have been put there a moment ago
    top, *rest = name.split(".")
    if (found := _find_installed(top, project)) is not None:
        return FoundModule(
            load=lambda: _import_installed(name, top, found), unload=_nothing, attribute=attribute or "plugin"
        )
    here = PathFinder.find_spec(top, [str(folder)])
    if here is None or here.origin is None:
        raise _missing(reference, f"no such module is installed, nor does one stand in {folder}")
    origin = Path(here.origin)
    return _private(
        origin.parent if origin.name == "__init__.py" else origin, attribute or "plugin", tuple(rest)
    )


def _split_path(reference: str) -> tuple[Path, str]:
    whole = Path(reference)
    if not whole.exists():
        path, colon, attribute = reference.rpartition(":")
        if colon and attribute.isidentifier():
            return Path(path), attribute
    return whole, "plugin"


def _private(path: Path, attribute: str, rest: tuple[str, ...]) -> FoundModule:
    """A file or a package's folder, to be read under a name that nothing else has."""
    folder = path if path.is_dir() else path.parent
    if (folder / DECLARATION).exists():
        raise PluginError(
            f"{folder} is a declarative package ({DECLARATION}): its code is never run.",
            code="plugin_not_permitted",
            hint="Put the plugin's module into a folder of its own.",
            detail={"path": str(folder)},
        )
    file = path / "__init__.py" if path.is_dir() else path
    if not file.is_file() or file.suffix != ".py":
        raise _missing(str(path), "it is no .py file and no folder with an __init__.py")
    name = f"_inspan_runtime_plugin_{next(_numbers)}"
    spec = importlib.util.spec_from_file_location(
        name,
        file,
        loader=_FreshLoader(name, str(file)),
        submodule_search_locations=[str(path)] if path.is_dir() else None,
    )
    if spec is None:
        raise _missing(str(path), "Python cannot read it")

    def unload() -> None:
        for loaded in [one for one in sys.modules if one == name or one.startswith(name + ".")]:
            del sys.modules[loaded]

    def load() -> ModuleType:
        try:
            module = _execute(spec)
            return importlib.import_module(".".join((name, *rest))) if rest else module
        except BaseException:
            unload()
            raise

    return FoundModule(load=load, unload=unload, attribute=attribute, file=file)


def _find_installed(top: str, project: Path) -> ModuleSpec | None:
    """Where a top-level module stands, other than in a project or in the folder in which the program was started."""
    if (loaded := sys.modules.get(top)) is not None:
        spec = loaded.__spec__
        return spec if spec is not None and not _stands_in(spec, _forbidden(project)) else None
    forbidden = _forbidden(project)
    path = [one for one in sys.path if one and Path(one).resolve() not in forbidden]
    if (spec := PathFinder.find_spec(top, path)) is not None:
        return spec
    for finder in sys.meta_path:  # such as those of packages that are installed to be edited
        if finder is PathFinder:
            continue
        spec = finder.find_spec(top, None)
        if spec is not None and not _stands_in(spec, forbidden):
            return spec
    return None


def _forbidden(project: Path) -> frozenset[Path]:
    return frozenset({Path.cwd(), project.resolve()})


def _stands_in(spec: ModuleSpec, folders: frozenset[Path]) -> bool:
    if spec.origin is None or spec.origin in ("built-in", "frozen"):
        return any(Path(one).resolve().parent in folders for one in spec.submodule_search_locations or ())
    origin = Path(spec.origin).resolve()
    return (origin.parent.parent if spec.submodule_search_locations is not None else origin.parent) in folders


def _import_installed(name: str, top: str, spec: ModuleSpec) -> ModuleType:
    if top not in sys.modules:
        _execute(spec)
    return importlib.import_module(name)


def _execute(spec: ModuleSpec) -> ModuleType:
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        if spec.loader is not None:
            spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(spec.name, None)
        raise
    return sys.modules[spec.name]


def _nothing() -> None:
    pass


def _missing(reference: str, fact: str) -> PluginError:
    return PluginError(
        f"There is no plugin module '{reference}': {fact}.",
        code="plugin_missing",
        hint="Nothing is downloaded: install the module, or name its file by an absolute path.",
        detail={"module": reference},
    )
