"""What the bindings share is made from one table and one folder of texts, and is up to date."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

import render_bindings
from inspan.apps.tools.table import SUBSETS, TOOLS, input_schema
from support.apps.bindings import BINDINGS


@pytest.mark.requirement("P23", "P11")
def test_nothing_that_is_made_is_stale() -> None:
    assert render_bindings.find_stale() == []


def test_what_is_stale_missing_or_no_skill_any_more_is_named(tmp_path: Path) -> None:
    expected = render_bindings.expected_files()
    for path, text in expected.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert render_bindings.find_stale(tmp_path) == []
    (tmp_path / "dsh" / "tools.json").write_text("{}")
    (tmp_path / "pi" / "skills" / "index.json").unlink()
    (tmp_path / "hermes" / "skills" / "old").mkdir()
    (tmp_path / "hermes" / "skills" / "old" / "SKILL.md").write_text("")
    assert sorted(render_bindings.find_stale(tmp_path)) == [
        "dsh/tools.json is stale",
        "hermes/skills/old/SKILL.md is no skill any more",
        "pi/skills/index.json is missing",
    ]


@pytest.mark.requirement("P23")
def test_every_table_has_all_tools_with_their_schemas_and_subsets() -> None:
    tables = sorted(BINDINGS.glob("*/tools.json"))
    assert len(tables) == 4
    for path in tables:
        table = json.loads(path.read_text())
        assert [one["name"] for one in table["tools"]] == [tool.name for tool in TOOLS]
        assert [one["parameters"] for one in table["tools"]] == [input_schema(tool) for tool in TOOLS]
        assert table["subsets"] == {name: list(names) for name, names in SUBSETS.items()}


@pytest.mark.requirement("P23")
def test_no_binding_has_logic_of_tools_of_its_own() -> None:
    """None names a tool in its code, and those in Python use the standard library alone."""
    code = [
        path
        for pattern in ("*.py", "*.js", "*.ts")
        for path in BINDINGS.rglob(pattern)
        if "node_modules" not in path.parts
    ]
    assert code
    for path in code:
        text = path.read_text(encoding="utf-8")
        assert [tool.name for tool in TOOLS if tool.name in text] == [], path
        if path.suffix == ".py":
            imported = {
                name.split(".")[0]
                for node in ast.walk(ast.parse(text))
                for name in (
                    [one.name for one in node.names]
                    if isinstance(node, ast.Import)
                    else [node.module or ""]
                    if isinstance(node, ast.ImportFrom) and not node.level
                    else []
                )
            }
            assert not imported & {"inspan", "httpx", "msgspec"}, path
