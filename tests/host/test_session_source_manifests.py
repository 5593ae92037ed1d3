"""What a manifest must say of where session ids come from, with the key that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from inspan.host import HarnessHost
from inspan.model.errors import ManifestError
from support.harness_folders import add_harness, manifest_text

STORE = "[modes.acp.session_id.store]\nfolder = '~/x'\nfiles = '*'\n"


def manifest_of(home: Path, source: str) -> HarnessHost:
    add_harness(home / "harnesses", "acme", manifest_text(more=f"[modes.acp.session_id]\n{source}"))
    return HarnessHost(home, environ={})


@pytest.mark.requirement("H-A26")
@pytest.mark.parametrize(
    ("source", "key"),
    [
        ("kind = 'hook'", "kind"),
        ("kind = 'guessed'", "kind"),
        ("kind = 'environment'", "variable"),
        ("variable = 'ACME'", "variable"),
        ("kind = 'environment'\nvariable = 'A B'", "variable"),
        ("kind = 'screen'", "pattern"),
        ("kind = 'screen'\npattern = '('", "pattern"),
        ("kind = 'screen'\npattern = '(.*)'", "pattern"),
        ("kind = 'store'", "store"),
        (f"kind = 'screen'\npattern = '(?P<session>.)'\n{STORE}", "store"),
        (f"kind = 'store'\n{STORE}id_pattern = '.'", "store.id_pattern"),
        (f"kind = 'store'\n{STORE}workspace_pattern = '.'", "store.workspace_pattern"),
        ("kind = 'store'\n[modes.acp.session_id.store]\nfolder = 'x'\nfiles = '*'", "store.folder"),
        ("kind = 'command'", "command"),
    ],
)
def test_a_source_that_lacks_what_its_kind_needs_is_refused_with_its_key(
    tmp_path: Path, source: str, key: str
) -> None:
    with pytest.raises(ManifestError) as refusal:
        manifest_of(tmp_path, source).registry.manifest("acme")

    assert refusal.value.detail["key_path"] == f"modes.acp.session_id.{key}"


def test_an_id_that_is_told_to_a_harness_must_be_named_in_its_arguments(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"modes\.acp\.launch\.args does not name the session"):
        manifest_of(tmp_path, "kind = 'chosen'").registry.manifest("acme")
