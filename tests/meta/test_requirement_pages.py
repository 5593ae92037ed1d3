"""Where the pages that the requirements come from lie beside the clone, the registry holds exactly their ids.

The pages are no part of the repository, so in a clone that stands alone these tests are skipped.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT.parent / "shared"
REGISTRY = ROOT / "tests" / "requirements.toml"


def _ids_of_harness_page(text: str) -> Iterator[str]:
    needs, _, decisions = text.partition("\n## Decisions")
    for section in re.split(r"^### ", needs.partition("\n### O. ")[0], flags=re.MULTILINE)[1:]:
        # An id opens a line, or follows the end of a sentence on a line that holds several.
        for match in re.finditer(rf"(?:^|(?<=[.;] ))({section[0]}\d+) +\S", section, flags=re.MULTILINE):
            yield f"H-{match[1]}"
    yield from re.findall(r"^- (DEC\d+) ", decisions, flags=re.MULTILINE)


def _ids_of_lines(text: str, pattern: str) -> Iterator[str]:
    yield from re.findall(pattern, text, flags=re.MULTILINE)


def _ids_of_pages() -> list[str]:
    requirements = PAGES / "requirements"
    pages = {
        name: (requirements / f"{name}.md").read_text(encoding="utf-8")
        for name in ("harness-plugins", "runtime-plugins", "agent-apps")
    }
    lessons = (PAGES / "facts" / "lessons.md").read_text(encoding="utf-8")
    return [
        *_ids_of_harness_page(pages["harness-plugins"]),
        *_ids_of_lines(pages["runtime-plugins"], r"^(?:- )?(RD?\d+) "),
        *_ids_of_lines(pages["agent-apps"], r"^- (P\d+) "),
        *_ids_of_lines(lessons, r"^\| (L\d+) \|"),
    ]


@pytest.mark.skipif(
    not (PAGES / "requirements").is_dir(), reason="the pages of the requirements are not beside the clone"
)
def test_the_registry_has_an_entry_for_every_id_of_the_pages_in_their_order() -> None:
    ids = _ids_of_pages()

    assert len(ids) == len(set(ids)) > 400
    assert list(tomllib.loads(REGISTRY.read_text(encoding="utf-8"))) == ids


def test_several_ids_on_one_line_are_all_seen() -> None:
    page = (
        "### A. One\nA1  [x] a need.\nA10 another, like A1 [y].\n    L1 is no id here.\n"
        "### L. Two\nL1 [x] first; L2 [y] second. L3 [z] third (A1 B2).\n### O. Three\nO1 no id\n"
        "\n## Decisions\n- DEC1 so it is.\n"
    )

    assert list(_ids_of_harness_page(page)) == ["H-A1", "H-A10", "H-L1", "H-L2", "H-L3", "DEC1"]
