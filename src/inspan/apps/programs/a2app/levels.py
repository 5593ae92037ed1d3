"""Levels of an app's model that were seen before, for as long as its schema and the caller stay the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from inspan.apps.client import JsonObject
from inspan.apps.credentials import Credential
from inspan.apps.files import read_json, write_json

__all__ = ["LevelCache"]

_MOST_LEVELS = 500


class LevelCache:
    """One file of levels. What cannot be read counts as empty, and what cannot be written is not kept.

    Args:
        path: The file.
        identity: What the app said of itself: its id and schema have to match those in the file.
        credential: Who asks. What a caller sees depends on it, so only its levels are given back; the file holds
            a digest that cannot be turned back.
    """

    def __init__(self, path: Path, identity: JsonObject, credential: Credential) -> None:
        app: object = identity.get("app")
        schema: object = identity.get("schemaVersion")
        self._path = path
        self._is_usable = isinstance(schema, str) and bool(schema) and isinstance(app, dict)
        self._key = {
            "app": cast("dict[str, Any]", app).get("id") if isinstance(app, dict) else None,
            "schemaVersion": schema,
            "caller": _digest(credential),
        }
        self._levels: dict[str, JsonObject] | None = None

    def get(self, steps: Sequence[str]) -> JsonObject | None:
        """The level at this place, or None."""
        return self._read().get("/".join(steps)) if self._is_usable else None

    def put(self, steps: Sequence[str], level: JsonObject) -> None:
        """Keeps a level. Another process that does so at the same time may win; nothing else is lost."""
        if not self._is_usable or any("/" in step for step in steps):
            return
        levels = self._read()
        if len(levels) >= _MOST_LEVELS:
            levels.clear()
        levels["/".join(steps)] = level
        try:
            write_json(self._path, {**self._key, "levels": levels})
        except OSError:
            self._is_usable = False

    def _read(self) -> dict[str, JsonObject]:
        if self._levels is None:
            self._levels = self._kept()
        return self._levels

    def _kept(self) -> dict[str, JsonObject]:
        try:
            value = read_json(self._path)
        except (OSError, ValueError):
            return {}
        found = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        levels: object = found.get("levels")
        if any(found.get(key) != wanted for key, wanted in self._key.items()) or not isinstance(levels, dict):
            return {}
        return {
            place: cast(JsonObject, level)
            for place, level in cast("dict[str, object]", levels).items()
            if isinstance(level, dict)
        }


def _digest(credential: Credential) -> str:
    parts = (credential.token or "", credential.authorization or "")
    return hashlib.sha256("\0".join(("a2app levels", *parts)).encode()).hexdigest()[:16] if any(parts) else ""
