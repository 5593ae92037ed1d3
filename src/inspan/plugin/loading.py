"""Loading: from a folder's Python file to the plugin's class."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from inspan.model.errors import PluginError

from .context import PluginContext
from .contract import HarnessPlugin
from .manifest_plugin import ManifestPlugin

__all__ = ["PLUGIN_NAME", "PluginFactory", "load_factory"]

PLUGIN_NAME = "Plugin"
"""What a plugin's file must define: a subclass of `HarnessPlugin`."""

PluginFactory = Callable[[PluginContext], HarnessPlugin]
"""Makes a plugin from its context."""


def load_factory(folder: Path, file_name: str) -> PluginFactory:
    """What makes the plugin of a harness: the class in its file, or the data-only plugin where it names none.

    The file runs under a private module name, straight from its source: no cached bytecode is read or written,
    since the source alone is what was trusted.

    Raises:
        PluginError: `plugin_missing` where the file is not there, `plugin_failed` where it cannot be run or
            defines no plugin.
    """
    if not file_name:
        return ManifestPlugin
    file = folder / file_name
    try:
        source = file.read_bytes()
    except FileNotFoundError as error:
        raise PluginError(
            f"The plugin {file} is not there.",
            code="plugin_missing",
            hint="Install it, or remove `plugin` from the manifest.",
            detail={"file": str(file)},
        ) from error
    except OSError as error:
        raise PluginError(
            f"The plugin {file} cannot be read: {error.strerror}.", detail={"file": str(file)}
        ) from error
    module = ModuleType(f"_inspan_plugin_{hashlib.sha256(str(file).encode()).hexdigest()[:16]}")
    module.__file__ = str(file)
    # Dataclasses, pickling and annotations look their module up by its name.
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, str(file), "exec"), module.__dict__)  # noqa: S102
    except Exception as error:
        del sys.modules[module.__name__]
        raise PluginError(
            f"The plugin {file} cannot be loaded: {type(error).__name__}: {error}.",
            detail={"file": str(file)},
        ) from error
    found = getattr(module, PLUGIN_NAME, None)
    if not (isinstance(found, type) and issubclass(found, HarnessPlugin)):
        raise PluginError(
            f"The plugin {file} defines no class {PLUGIN_NAME} that is a HarnessPlugin.",
            hint=f"Define `class {PLUGIN_NAME}(ManifestPlugin)` in it.",
            detail={"file": str(file)},
        )
    return found
