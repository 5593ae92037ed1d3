"""What a harness author imports.

A harness is a folder with a `manifest.toml`. Where data cannot say something, the folder may hold a
`plugin.py` that defines `class Plugin(ManifestPlugin)`; it runs in Inspan's process or, with
`python -m inspan.plugin FOLDER`, in one of its own. A plugin in another language speaks the same JSON-RPC 2.0
on its standard input and output; `docs/plugin-protocol.md` describes it.
"""

from .context import PluginContext
from .contract import METHODS, PROTOCOL_VERSION, HarnessPlugin, MethodSpec, Refused, Unsupported
from .manifest_plugin import ManifestPlugin
from .serve import serve
from .values import (
    ActivityAnswer,
    Classified,
    DeliveryAnswer,
    ErrorQuery,
    History,
    HistoryQuery,
    Identity,
    LaunchQuery,
    Nothing,
    PermissionAnswer,
    Preflight,
    ProcessAnswer,
    ProcessQuery,
    PromptQuery,
    Readiness,
    ReadyQuery,
    ResourceChange,
    ResourceQuery,
    Teardown,
    UsageAnswer,
)

__all__ = [
    "METHODS",
    "PROTOCOL_VERSION",
    "ActivityAnswer",
    "Classified",
    "DeliveryAnswer",
    "ErrorQuery",
    "HarnessPlugin",
    "History",
    "HistoryQuery",
    "Identity",
    "LaunchQuery",
    "ManifestPlugin",
    "MethodSpec",
    "Nothing",
    "PermissionAnswer",
    "PluginContext",
    "Preflight",
    "ProcessAnswer",
    "ProcessQuery",
    "PromptQuery",
    "Readiness",
    "ReadyQuery",
    "Refused",
    "ResourceChange",
    "ResourceQuery",
    "Teardown",
    "Unsupported",
    "UsageAnswer",
    "serve",
]
