"""The page of errors is made from the errors, and is fresh."""

from pathlib import Path

import pytest

import render_errors
from inspan.model.errors import ERROR_CODES


def test_the_errors_page_is_fresh() -> None:
    assert render_errors.PAGE.read_text(encoding="utf-8") == render_errors.render()


def test_every_code_stands_on_the_page_once() -> None:
    rows = [line.split("`")[1] for line in render_errors.render().splitlines() if line.startswith("| `")]

    assert rows == list(ERROR_CODES)


def test_a_stale_page_fails_the_check_and_is_not_touched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "errors.md"

    assert render_errors.main(["--check", str(page)]) == 1
    assert render_errors.main([str(page)]) == 0
    assert render_errors.main(["--check", str(page)]) == 0
    page.write_text("old", encoding="utf-8")
    assert render_errors.main(["--check", str(page)]) == 1
    assert page.read_text(encoding="utf-8") == "old"
    assert "is stale" in capsys.readouterr().err
