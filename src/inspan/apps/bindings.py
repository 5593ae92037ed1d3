"""Where the plugins are that carry the tools of apps into harnesses with a plugin API of their own."""

from __future__ import annotations

from pathlib import Path

__all__ = ["binding_names", "bindings_folder", "find_binding"]

_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = (_PACKAGE / "bindings", _PACKAGE.parents[1] / "bindings")
"""In what is installed, and in a checkout."""


def bindings_folder() -> Path:
    """The folder with one folder a plugin. Raises FileNotFoundError where the installation lacks it."""
    for place in _PLACES:
        if place.is_dir():
            return place
    raise FileNotFoundError("This installation has no bindings.")


def binding_names() -> list[str]:
    """The plugins' names, sorted: those of their harnesses."""
    return sorted(path.name for path in bindings_folder().iterdir() if path.is_dir())


def find_binding(name: str) -> Path | None:
    """The folder of one plugin, or None where there is none of that name."""
    return bindings_folder() / name if name in binding_names() else None
