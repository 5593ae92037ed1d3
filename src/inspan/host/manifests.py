"""Layers of manifests: merged field by field, with the origin of every field.

Tables merge; everything else, lists included, is replaced as a whole. Merging happens before decoding, so that
an overlay may hold no more than what it changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from inspan.plugin.manifest_file import MANIFEST_FILE

__all__ = ["LayeredTable", "ManifestLayer", "Origin", "merge_layers", "merge_over"]

Origin = Literal["built-in", "installed", "user"]
"""Where a layer comes from, the lowest first: each one prevails over those before it."""

_NOT_INHERITED = ("id", "extends", "wraps")


class ManifestLayer(msgspec.Struct, frozen=True, kw_only=True):
    """One manifest file.

    Attributes:
        origin: Where it comes from.
        folder: The folder that it lies in.
        table: Its tables, not decoded.
    """

    origin: Origin
    folder: Path
    table: dict[str, Any]

    @property
    def file(self) -> Path:
        """The file itself."""
        return self.folder / MANIFEST_FILE


class LayeredTable(msgspec.Struct, frozen=True, kw_only=True):
    """Tables merged from several layers.

    Attributes:
        table: The merged tables.
        layers: The layers, the lowest first.
        sources: Dotted key path of every leaf to the layer that gave it.
    """

    table: dict[str, Any]
    layers: tuple[ManifestLayer, ...]
    sources: dict[str, ManifestLayer]

    def layer_of(self, key_path: str) -> ManifestLayer:
        """The layer that a key comes from; for a table, or a key that is missing, the highest that fits best.

        A list is one leaf: `quirks[0].text` comes from where `quirks` comes from.
        """
        path = re.split(r"\[\d", key_path, maxsplit=1)[0]
        while path:
            found = [
                layer
                for leaf, layer in self.sources.items()
                if leaf == path or leaf.startswith(f"{path}.") or path.startswith(f"{leaf}.")
            ]
            if found:
                return max(found, key=self.layers.index)
            path = path.rpartition(".")[0]
        return self.layers[-1]


def merge_layers(layers: Sequence[ManifestLayer]) -> LayeredTable:
    """The layers of one harness, the lowest first, as one table."""
    merged: dict[str, Any] = {}
    sources: dict[str, ManifestLayer] = {}
    for layer in layers:
        merged = _merge(merged, layer.table)
        _note(sources, layer.table, layer)
    return LayeredTable(table=merged, layers=tuple(layers), sources=sources)


def merge_over(base: LayeredTable, own: LayeredTable) -> LayeredTable:
    """`own` over the harness that it extends; whose id, `extends` and `wraps` are not inherited."""
    inherited = {key: value for key, value in base.table.items() if key not in _NOT_INHERITED}
    sources = {
        leaf: layer for leaf, layer in base.sources.items() if leaf.partition(".")[0] not in _NOT_INHERITED
    }
    for layer in own.layers:
        _note(sources, layer.table, layer)
    return LayeredTable(
        table=_merge(inherited, own.table), layers=(*base.layers, *own.layers), sources=sources
    )


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            merged[key] = _merge(cast("dict[str, Any]", below), cast("dict[str, Any]", value))
        else:
            merged[key] = value
    return merged


def _note(sources: dict[str, ManifestLayer], table: Mapping[str, Any], layer: ManifestLayer) -> None:
    for leaf in _leaves(table, ""):
        for known in [
            known for known in sources if known.startswith(f"{leaf}.") or leaf.startswith(f"{known}.")
        ]:
            del sources[known]
        sources[leaf] = layer


def _leaves(table: Mapping[str, Any], at: str) -> Iterator[str]:
    for key, value in table.items():
        path = f"{at}.{key}" if at else key
        if isinstance(value, dict) and value:
            yield from _leaves(cast("dict[str, Any]", value), path)
        else:
            yield path
