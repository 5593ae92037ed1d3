"""Renamed keys of a manifest: the old name is read as the new one, is said, and never hides the new one."""

from __future__ import annotations

import logging
import tomllib
from pathlib import Path
from typing import Any

import pytest

from inspan.conformance import lint as linting
from inspan.host import HarnessRegistry
from inspan.model.errors import ManifestError
from inspan.plugin import manifest_file
from inspan.plugin.renamed_keys import RENAMED_KEYS, KeyConflictError, RenamedKey, read_old_names
from support.harness_folders import add_harness, manifest_text

PATIENCE = RenamedKey(old="modes.*.patience_s", new="handshake_timeout_s", since="0.2")
TEXT = RenamedKey(old="quirks.*.words", new="text", since="0.3")
OLD = manifest_text(more='[[quirks]]\nwords = "odd"\n').replace(
    'transport = "acp"', 'transport = "acp"\npatience_s = 7'
)


def read_renamed(table: dict[str, Any], *_: object) -> tuple[dict[str, Any], tuple[str, ...]]:
    """As if these two had been renamed."""
    return read_old_names(table, (PATIENCE, TEXT))


@pytest.mark.requirement("H-B34")
def test_old_names_in_tables_and_arrays_are_read_as_the_new_ones_in_their_place() -> None:
    table = tomllib.loads(OLD)
    before = tomllib.loads(OLD)
    read, notes = read_old_names(table, (PATIENCE, TEXT))

    assert read["modes"]["acp"]["handshake_timeout_s"] == 7
    assert "patience_s" not in read["modes"]["acp"]
    assert list(read["modes"]["acp"])[:2] == ["transport", "handshake_timeout_s"]
    assert read["quirks"] == [{"text": "odd"}]
    assert notes == (
        "modes.acp.patience_s is called handshake_timeout_s since 0.2; the old name is still read.",
        "quirks[0].words is called text since 0.3; the old name is still read.",
    )
    assert table == before


@pytest.mark.requirement("H-B34")
def test_a_key_under_both_names_is_refused_with_its_path(tmp_path: Path) -> None:
    both: dict[str, Any] = {"modes": {"acp": {"patience_s": 7, "handshake_timeout_s": 8}}}
    with pytest.raises(KeyConflictError) as conflict:
        read_old_names(both, (PATIENCE,))
    assert (conflict.value.key_path, conflict.value.new) == ("modes.acp.patience_s", "handshake_timeout_s")

    text = OLD.replace("patience_s = 7", "patience_s = 7\nhandshake_timeout_s = 8")
    folder = add_harness(tmp_path, "acme", text)
    with pytest.raises(ManifestError) as refusal:
        manifest_file.read_manifest_table(folder / "manifest.toml", renamed=(PATIENCE,))
    assert refusal.value.detail["key_path"] == "modes.acp.patience_s"


@pytest.mark.parametrize("table", [{}, {"modes": 3}, {"modes": {"acp": []}}, {"quirks": ["x"]}])
def test_what_has_another_shape_is_left_to_the_strict_reading(table: dict[str, Any]) -> None:
    assert read_old_names(table, (PATIENCE, TEXT)) == (table, ())


@pytest.mark.requirement("H-B34")
def test_a_registered_harness_with_an_old_name_works_and_lint_and_the_log_name_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = add_harness(tmp_path / "harnesses", "acme", OLD)
    for module in (manifest_file, linting):
        monkeypatch.setattr(module, "read_old_names", read_renamed)
    with caplog.at_level(logging.WARNING, logger="inspan.plugin"):
        manifest = HarnessRegistry(tmp_path).manifest("acme")
    advice = [one for one in linting.lint_folder(folder) if one.rule == "renamed"]

    assert manifest.modes["acp"].handshake_timeout_s == 7
    assert "patience_s is called handshake_timeout_s" in caplog.text
    assert [(one.at, one.severity) for one in advice] == [
        ("modes.acp.patience_s", "advice"),
        ("quirks[0].words", "advice"),
    ]


def test_each_renamed_key_leads_to_one_that_there_is() -> None:
    reference = (Path(__file__).parents[2] / "docs" / "schema" / "manifest-keys.md").read_text()
    for one in RENAMED_KEYS:
        assert f"`{one.new}`" in reference, one.old
