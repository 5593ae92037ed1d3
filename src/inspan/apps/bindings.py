"""Where the plugins are that carry the tools of apps into harnesses with a plugin API of their own."""

from __future__ import annotations

from pathlib import Path

__all__ = ["binding_names", "find_binding"]

_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = (_PACKAGE / "bindings", _PACKAGE.parents[1] / "bindings")
"""In what is installed, and in a checkout."""


def binding_names() -> list[str]:
    """The plugins' names, sorted: those of their harnesses. Empty where an installation lacks them."""
    return sorted(_folders())


def find_binding(name: str) -> Path | None:
    """The folder of one plugin, or None where there is none of that name."""
    return _folders().get(name)


def _folders() -> dict[str, Path]:
    place = next((place for place in _PLACES if place.is_dir()), None)
    if place is None:
        return {}
    return {path.name: path for path in place.iterdir() if path.is_dir() and path.name[0] not in "._"}
