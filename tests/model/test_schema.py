"""The published schemas are what the code says, and they fit what is published with them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from inspan.model.manifest import Manifest
from inspan.model.schema import KEY_REFERENCE_FILE, SCHEMA_FILES, main, make_schemas
from inspan.plugin import METHODS

_SAME_EVERYWHERE = {"| `text`", "| `source`", "| `verified`"}
DOCS = Path(__file__).resolve().parents[2] / "docs" / "schema"


def test_the_published_schemas_are_what_the_code_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check", str(DOCS)]) == 0, capsys.readouterr().err
    assert sorted(path.name for path in DOCS.iterdir()) == sorted([*make_schemas(), KEY_REFERENCE_FILE])
    assert sorted(SCHEMA_FILES) == sorted(make_schemas())


def test_a_stale_or_missing_schema_is_found_and_written(tmp_path: Path) -> None:
    assert main(["--check", str(tmp_path)]) == 1
    assert list(tmp_path.iterdir()) == []

    assert main([str(tmp_path)]) == 0
    assert main(["--check", str(tmp_path)]) == 0

    stale = tmp_path / SCHEMA_FILES[0]
    stale.write_text(stale.read_text() + "\n")
    assert main(["--check", str(tmp_path)]) == 1


def test_a_wrong_command_line_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--chekc"]) == 2
    assert main(["a", "b"]) == 2
    assert "usage" in capsys.readouterr().err


@pytest.mark.parametrize("name", SCHEMA_FILES)
def test_every_reference_of_a_schema_leads_somewhere(name: str) -> None:
    schema = json.loads((DOCS / name).read_text(encoding="utf-8"))

    references = {value for key, value in _walk(schema) if key == "$ref"}

    assert references
    assert {reference.removeprefix("#/$defs/") for reference in references} <= set(schema["$defs"])


def test_the_manifest_schema_refuses_unknown_keys_and_names_every_field() -> None:
    shape = make_schemas()["manifest.schema.json"]["$defs"]["Manifest"]

    assert shape["additionalProperties"] is False
    assert set(shape["properties"]) == {field.encode_name for field in msgspec.structs.fields(Manifest)}


def test_the_key_reference_explains_every_key_of_every_table() -> None:
    page = (DOCS / KEY_REFERENCE_FILE).read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]

    assert len(rows) > 80
    assert [row[0] for row in rows if row[-1].strip(" |") == "" and row[0] not in _SAME_EVERYWHERE] == []
    assert "## `[modes.NAME.acp]`" in page


def test_the_protocol_schema_has_every_method() -> None:
    schema = make_schemas()["plugin-protocol.schema.json"]

    assert set(schema["properties"]) == {*METHODS, "initialize"}


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, one in cast("dict[str, Any]", value).items():
            yield key, one
            yield from _walk(one)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _walk(one)
