"""What a manifest must say of where its context usage is told, with the key that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from inspan.host import HarnessHost
from inspan.model.context_usage import ContextSource
from inspan.model.errors import ManifestError
from inspan.model.manifest import ModeManifest
from support.harness_folders import add_harness, manifest_text


def mode_of(home: Path, usage: str, *, transport: str = "terminal") -> ModeManifest:
    text = manifest_text(more=f"[modes.acp.context_usage]\n{usage}")
    if transport == "terminal":
        text = text.replace('transport = "acp"', 'transport = "terminal"').replace(
            'session_mode = "careful"', ""
        )
    add_harness(home / "harnesses", "acme", text)
    return HarnessHost(home, environ={}).registry.manifest("acme").modes["acp"]


@pytest.mark.requirement("H-A31")
@pytest.mark.parametrize(
    ("usage", "transport", "key"),
    [
        ("kind = 'guess'", "terminal", "kind"),
        ("kind = 'footer'\npattern = '(?P<percent>.)'", "acp", "kind"),
        ("kind = 'footer'", "terminal", "pattern"),
        ("kind = 'protocol'\npattern = '(?P<percent>.)'", "terminal", "pattern"),
        ("kind = 'footer'\npattern = '('", "terminal", "pattern"),
        ("kind = 'title'\npattern = '(.*)%'", "terminal", "pattern"),
    ],
)
def test_a_source_that_cannot_be_read_is_refused_with_its_key(
    tmp_path: Path, usage: str, transport: str, key: str
) -> None:
    with pytest.raises(ManifestError) as refusal:
        mode_of(tmp_path, usage, transport=transport)

    assert refusal.value.detail["key_path"] == f"modes.acp.context_usage.{key}"


def test_a_footer_is_one_of_the_sources(tmp_path: Path) -> None:
    mode = mode_of(tmp_path, "kind = 'footer'\npattern = '(?P<percent>[0-9]+)%'")
    assert (mode.context_usage.kind, mode.context_usage.rows) == (ContextSource.FOOTER, 6)
