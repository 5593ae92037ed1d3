"""The words that the programs `agent-app` and `a2app` keep for themselves, and that therefore name neither app nor module."""

from __future__ import annotations

__all__ = ["FRAMEWORK_VERBS", "OPERATE_VERBS", "REGISTRY_VERBS"]

FRAMEWORK_VERBS = (
    "scaffold",
    "import",
    "validate",
    "toolkit-sync",
    "adapter-sync",
    "serve",
    "stop",
    "open",
    "bridge",
    "list",
    "global",
    "skills",
    "dev",
    "promote",
    "backup",
    "restore",
    "remove",
    "forget",
)
"""What `agent-app` is asked for, in the original and here; some are the original's alone."""

REGISTRY_VERBS = ("list", "global", "skills")
"""Those that concern no single app, so they come first, and no app can be addressed by these words."""

OPERATE_VERBS = ("data", "identity", "whoami", "context", "tasks", "events")
"""What `a2app` is asked for beside the walk; no module of an app may be called so, since it could not be reached."""
