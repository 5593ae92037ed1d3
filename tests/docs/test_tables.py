"""The tables in the pages have the columns that the program prints."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import inspan.cli

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
HEAD = re.compile(r"^[A-Z]{2,}(?: [A-Z]+)*(?: {2,}[A-Z]+(?: [A-Z]+)*)+$")


def heads() -> set[tuple[str, ...]]:
    """The heads of all tables that the command line prints."""
    found: set[tuple[str, ...]] = set()
    for file in Path(inspan.cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.List) and node.elts:
                words = [one.value for one in node.elts if isinstance(one, ast.Constant)]
                texts = tuple(one for one in words if isinstance(one, str) and one.isupper())
                if len(texts) == len(node.elts):
                    found.add(texts)
    return found


def shown() -> Iterator[tuple[str, tuple[str, ...]]]:
    """The heads of the tables in the pages, by where they stand."""
    for page in PAGES:
        blocks = re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        for line in "\n".join(blocks).splitlines():
            if HEAD.match(line):
                yield f"{page.name}: {line}", tuple(re.split(r" {2,}", line))


@pytest.mark.parametrize(("where", "head"), [pytest.param(*one, id=one[0]) for one in shown()])
def test_a_table_on_a_page_has_the_columns_of_the_program(where: str, head: tuple[str, ...]) -> None:
    assert head in heads(), where


def test_the_pages_show_tables() -> None:
    assert len(list(shown())) >= 4
