"""The table of harnesses is made from their manifests, and is fresh."""

from pathlib import Path

import pytest

import render_harnesses


def test_the_harnesses_page_is_fresh() -> None:
    assert render_harnesses.PAGE.read_text(encoding="utf-8") == render_harnesses.render()


def test_every_built_in_harness_stands_on_the_page() -> None:
    page = render_harnesses.render()
    folders = [path.parent for path in render_harnesses.FOLDERS.glob("*/manifest.toml")]

    assert folders
    assert [folder.name for folder in folders if f"| [`{folder.name}`](" not in page] == []


def test_a_stale_page_fails_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "harnesses.md"

    assert render_harnesses.main(["--check", str(page)]) == 1
    assert render_harnesses.main([str(page)]) == 0
    assert render_harnesses.main(["--check", str(page)]) == 0
    page.write_text(page.read_text(encoding="utf-8").replace("yes", "no", 1), encoding="utf-8")
    assert render_harnesses.main(["--check", str(page)]) == 1
    assert "is stale" in capsys.readouterr().err
