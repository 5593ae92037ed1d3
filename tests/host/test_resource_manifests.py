"""Places of resources in a manifest: what is refused, and what the built-in harnesses name."""

from __future__ import annotations

from pathlib import Path

import pytest

from inspan.host import HarnessHost
from inspan.model.errors import ManifestError
from inspan.model.manifest import Manifest
from inspan.model.resource import ResourceKind, ResourceMode
from support.harness_folders import add_harness, manifest_text


def manifest_of(home: Path, *places: str) -> Manifest:
    more = "".join(f"[[resources]]\n{place}\n" for place in places)
    add_harness(home / "harnesses", "acme", manifest_text(more=more))
    return HarnessHost(home, environ={}).registry.manifest("acme")


def place(target: str, *, kind: str = "skill", mode: str = "directory") -> str:
    return f"kind = '{kind}'\ntarget = '{target}'\nmode = '{mode}'"


@pytest.mark.requirement("H-A5")
@pytest.mark.parametrize(
    ("places", "key"),
    [
        ([place("{projectRoot}/x/{id}", kind="spell")], "resources[0].kind"),
        ([place("{projectRoot}/x/{id}", mode="link")], "resources[0].mode"),
        ([place("skills/{id}")], "resources[0].target"),
        ([place("/etc/{id}")], "resources[0].target"),
        ([place("{projectRoot}/../{id}")], "resources[0].target"),
        ([place("{projectRoot}/")], "resources[0].target"),
        ([place("{projectRoot}//etc/{id}")], "resources[0].target"),
        ([place("{projectRoot}/{home}/{id}")], "resources[0].target"),
        ([place("{projectRoot}/{id}/{id}")], "resources[0].target"),
        ([place("{projectRoot}/skills")], "resources[0].target"),
        ([place("{projectRoot}/x/{id}"), place("{projectRoot}/x/{id}")], "resources[1]"),
    ],
)
def test_a_place_that_cannot_be_is_refused_with_its_key(tmp_path: Path, places: list[str], key: str) -> None:
    with pytest.raises(ManifestError) as refusal:
        manifest_of(tmp_path, *places)

    assert refusal.value.detail["key_path"] == key


@pytest.mark.requirement("H-A5")
def test_a_manifest_names_a_template_and_a_mode_for_each_kind(tmp_path: Path) -> None:
    manifest = manifest_of(
        tmp_path,
        place("{projectRoot}/AGENTS.md", kind="guidance", mode="append-block"),
        place("{projectRoot}/.acme/skills/{id}"),
        place("{projectRoot}/.acme/commands/{id}.md", kind="command", mode="file"),
    )

    assert [(one.kind, one.mode) for one in manifest.resources] == [
        (ResourceKind.GUIDANCE, ResourceMode.APPEND_BLOCK),
        (ResourceKind.SKILL, ResourceMode.DIRECTORY),
        (ResourceKind.COMMAND, ResourceMode.FILE),
    ]


def test_built_in_harnesses_name_their_guidance_with_its_source(tmp_path: Path) -> None:
    manifests = [entry.require() for entry in HarnessHost(tmp_path, environ={}).registry.list()]
    placed = [one for one in manifests if one.resources]

    assert len(placed) >= 20
    for manifest in placed:
        assert all(one.source and one.verified for one in manifest.resources), manifest.id
        assert any(one.kind is ResourceKind.GUIDANCE for one in manifest.resources), manifest.id
