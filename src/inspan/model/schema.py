"""JSON Schemas of everything that others write or read: manifests, events, the plugin protocol.

`python -m inspan.model.schema DIR` writes them, and the reference of all manifest keys, to DIR (`docs/schema` by default); with `--check` it writes
nothing and exits with 1 where a file there is not what would be written.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import msgspec

from .events import Envelope
from .key_reference import render_key_reference
from .manifest import Manifest

__all__ = ["DIALECT", "KEY_REFERENCE_FILE", "SCHEMA_FILES", "main", "make_schemas"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
KEY_REFERENCE_FILE = "manifest-keys.md"
SCHEMA_FILES = ("manifest.schema.json", "events.schema.json", "plugin-protocol.schema.json")


def make_schemas() -> dict[str, dict[str, Any]]:
    """All schemas by file name."""
    return {
        "manifest.schema.json": _schema_of(
            Manifest, title="Inspan harness manifest", describes="The tables of a manifest.toml."
        ),
        "events.schema.json": _schema_of(
            Envelope, title="Inspan event", describes="One event of the log, with its envelope."
        ),
        "plugin-protocol.schema.json": _plugin_protocol(),
    }


def main(arguments: list[str]) -> int:
    """Writes or checks the schemas, and gives the exit status."""
    is_check = "--check" in arguments
    named = [argument for argument in arguments if argument != "--check"]
    if len(named) > 1 or any(argument.startswith("-") for argument in named):
        print("usage: python -m inspan.model.schema [--check] [DIR]", file=sys.stderr)
        return 2
    folder = Path(named[0] if named else "docs/schema")
    stale = 0
    texts = {
        name: msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"
        for name, schema in make_schemas().items()
    }
    for name, text in {**texts, KEY_REFERENCE_FILE: render_key_reference()}.items():
        file = folder / name
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if is_check:
            print(f"{file} is not what the code says; run: python -m inspan.model.schema", file=sys.stderr)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            print(f"wrote {file}")
    return 1 if is_check and stale else 0


def _schema_of(shape: type[msgspec.Struct], *, title: str, describes: str) -> dict[str, Any]:
    (schema,), components = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    return {
        "$schema": DIALECT,
        "title": title,
        "description": describes,
        **schema,
        "$defs": _sorted(components),
    }


def _plugin_protocol() -> dict[str, Any]:
    """The plugin protocol: an object with one member a method, each with `params` and `result`."""
    # The model stands below the plugin room and must not depend on it; this command alone looks up.
    contract = importlib.import_module("inspan.plugin.contract")
    wire = importlib.import_module("inspan.plugin.wire")
    shapes: dict[str, tuple[type[msgspec.Struct], type[msgspec.Struct]]] = {
        wire.INITIALIZE_METHOD: (wire.InitializeParams, wire.InitializeResult),
        **{name: (spec.params, spec.result) for name, spec in contract.METHODS.items()},
    }
    flat = [shape for pair in shapes.values() for shape in pair]
    schemas, components = msgspec.json.schema_components(flat, ref_template="#/$defs/{name}")
    pairs = zip(schemas[::2], schemas[1::2], strict=True)
    return {
        "$schema": DIALECT,
        "title": f"Inspan plugin protocol, version {contract.PROTOCOL_VERSION}",
        "description": "Every method of the plugin protocol with the shape of its parameters and of its result.",
        "type": "object",
        "properties": {
            name: {"type": "object", "properties": {"params": params, "result": result}}
            for name, (params, result) in zip(shapes, pairs, strict=True)
        },
        "$defs": _sorted(components),
    }


def _sorted(components: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(components.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
