"""`[config]` and `[[background]]` in a manifest: what is refused, and what the built-in harnesses say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from inspan.host import HarnessHost
from inspan.model.errors import ManifestError
from inspan.model.manifest import Manifest
from support.harness_folders import add_harness, manifest_text

MOVED = "[config]\nfolder = '~/.acme'\nvariable = 'ACME_HOME'\n"


def manifest_of(home: Path, more: str) -> Manifest:
    add_harness(home / "harnesses", "acme", manifest_text(more=more))
    return HarnessHost(home, environ={}).registry.manifest("acme")


def seed(text: str) -> str:
    return f"{MOVED}[[config.seed]]\n{text}\n"


@pytest.mark.requirement("H-A13")
@pytest.mark.parametrize(
    ("more", "key"),
    [
        ("[config]\nrequired = true", "config.required"),
        ("[config]\nvariable = 'A'\nisolation = 'none'\nrequired = true", "config.required"),
        (f"{MOVED}writes_launch_flags = true", "config.writes_launch_flags"),
        (seed("path = '/etc/x'\ntext = 'a'"), "config.seed[0].path"),
        (seed("path = '../x'\ntext = 'a'"), "config.seed[0].path"),
        (seed("path = 'x'\nkind = 'settings'\nfrom_file = '../x'"), "config.seed[0].from_file"),
        (seed("path = 'x'"), "config.seed[0]"),
        (seed("path = 'x'\ntext = 'a'\nfrom_file = 'x'"), "config.seed[0]"),
        (seed("path = 'x'\nfrom_file = 'x'"), "config.seed[0].kind"),
        (seed("path = 'x'\nkind = 'sign_in'\ntext = 'a'"), "config.seed[0].kind"),
        (seed("path = 'x'\ntext = 'a'\n[[config.seed]]\npath = 'x'\ntext = 'b'"), "config.seed[1].path"),
        (seed("path = 'x'\ntext = 'a'\nkind = 'secret'"), "config.seed[0].kind"),
        ("[[background]]\nname = 'hub'\npattern = '('", "background[0].pattern"),
        ("[[background]]\nname = 'hub'\npattern = 'x*'", "background[0].pattern"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(tmp_path: Path, more: str, key: str) -> None:
    with pytest.raises(ManifestError) as refusal:
        manifest_of(tmp_path, more)
    assert refusal.value.detail["key_path"] == key


@pytest.mark.requirement("H-A13", "H-A14", "H-A15")
def test_the_built_in_harnesses_say_by_which_variable_their_configuration_is_moved(tmp_path: Path) -> None:
    registry = HarnessHost(tmp_path, environ={}).registry
    moved = {
        "cursor": "CURSOR_CONFIG_DIR",
        "codex": "CODEX_HOME",
        "dsh": "DSH_HOME",
        "letta": "LETTA_LOCAL_BACKEND_DIR",
    }
    assert {name: registry.manifest(name).config.variable for name in moved} == moved
    assert registry.manifest("cursor").config.writes_launch_flags
    assert registry.manifest("dsh").config.required


def test_no_built_in_harness_copies_anything_of_the_operator_unasked(tmp_path: Path) -> None:
    host = HarnessHost(tmp_path, environ={})
    seeds = [one for view in host.views() for one in (view.config.seed if view.config else ())]
    assert {one.kind for one in seeds} == {"onboarding", "settings", "sign_in"}
    assert all(not one.from_file for one in seeds if one.kind == "onboarding")
    assert all(one.how == "link" for one in seeds if one.kind == "sign_in")


@pytest.mark.parametrize(
    ("harness", "command"),
    [
        ("codex", "/opt/codex app-server --listen unix:///tmp/x.sock"),
        ("codex", "codex app-server daemon pid-update-loop"),
        ("cline", "node /opt/cline/dist/cli.mjs --cline-hub-daemon"),
    ],
)
def test_the_daemons_that_were_seen_are_declared(tmp_path: Path, harness: str, command: str) -> None:
    manifest = HarnessHost(tmp_path, environ={}).registry.manifest(harness)
    assert any(re.search(one.pattern, command) and one.at_end == "stop" for one in manifest.background)
    assert not any(re.search(one.pattern, f"{harness} exec --json -") for one in manifest.background)
