"""The registry: layers, overlays, `extends` and `wraps`, and faults that stay with their own harness."""

import importlib
import os
import sys
from pathlib import Path

import pytest

from inspan.host import HarnessRegistry
from inspan.model.errors import InspanError, ManifestError, UsageError
from support.harness_folders import add_harness, manifest_text

BUILT_IN = "demo"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def user(home: Path) -> Path:
    return home / "harnesses"


def problem_of(home: Path, harness: str) -> InspanError:
    problem = HarnessRegistry(home).get(harness).problem
    assert problem is not None
    return problem


@pytest.mark.requirement("H-A9", "H-B7")
def test_a_harness_is_added_as_data_from_the_users_folder(home: Path, user: Path) -> None:
    folder = add_harness(user, "acme", manifest_text())

    entry = HarnessRegistry(home).get("acme")

    assert entry.require().name == "Acme"
    assert (entry.origin, entry.folder) == ("user", folder)


@pytest.mark.requirement("H-A9")
def test_a_partial_overlay_changes_one_field_and_keeps_the_rest(home: Path, user: Path) -> None:
    plain = HarnessRegistry(home).manifest(BUILT_IN)
    overlay = add_harness(user, BUILT_IN, "[modes.acp]\nhandshake_timeout_s = 7\n")

    entry = HarnessRegistry(home).get(BUILT_IN)
    manifest = entry.require()

    assert manifest.modes["acp"].handshake_timeout_s == 7.0
    assert manifest.modes["acp"].postures == plain.modes["acp"].postures
    assert manifest.name == plain.name
    assert [layer.origin for layer in entry.layered.layers] == ["built-in", "user"]
    assert entry.origin_of("modes.acp.handshake_timeout_s") == f"user: {overlay / 'manifest.toml'}"
    assert entry.origin_of("modes.acp.stop_grace_s").startswith("built-in: ")
    assert entry.origin_of("modes.acp.postures[1].session_mode").startswith("built-in: ")


def test_a_list_is_replaced_as_a_whole_and_a_table_is_merged(home: Path, user: Path) -> None:
    add_harness(
        user,
        BUILT_IN,
        '[modes.acp]\npostures = [{ approvals = "ask" }]\n[modes.acp.environment.set]\nA = "1"\n',
    )

    entry = HarnessRegistry(home).get(BUILT_IN)
    mode = entry.require().modes["acp"]

    assert [rule.session_mode for rule in mode.postures] == [None]
    assert mode.environment.set == {"A": "1"}
    assert mode.capabilities.resume.is_supported
    assert entry.origin_of("modes.acp.postures").startswith("user: ")


def test_a_fault_in_an_overlay_names_the_overlays_file(home: Path, user: Path) -> None:
    overlay = add_harness(user, BUILT_IN, "[modes.acp]\nstop_grace_s = -1\n")

    problem = problem_of(home, BUILT_IN)

    assert problem.detail["file"] == str(overlay / "manifest.toml")
    assert problem.detail["key_path"] == "modes.acp.stop_grace_s"


def test_a_faulty_harness_is_listed_and_takes_nothing_else_down(home: Path, user: Path) -> None:
    add_harness(user, "acme", manifest_text())
    add_harness(user, "broken", "id = 'broken'\nthis is no TOML")
    registry = HarnessRegistry(home)

    assert {"acme", "broken", BUILT_IN} <= {entry.id for entry in registry.list()}
    assert registry.manifest("acme").id == "acme"
    with pytest.raises(ManifestError) as caught:
        registry.manifest("broken")
    assert caught.value.code == "manifest_unreadable"


def test_a_harness_extends_another_field_by_field(home: Path, user: Path) -> None:
    add_harness(
        user,
        "acme",
        f'id = "acme"\nextends = "{BUILT_IN}"\nname = "Acme"\n[session]\nresume_type = "acme.v2"\n'
        '[modes.acp.environment.set]\nACME = "1"\n',
    )

    registry = HarnessRegistry(home)
    base, manifest = registry.manifest(BUILT_IN), registry.manifest("acme")

    assert (manifest.id, manifest.name) == ("acme", "Acme")
    assert manifest.session.resume_type == "acme.v2"
    assert manifest.session.id_pattern == base.session.id_pattern
    assert manifest.program == base.program
    assert manifest.modes["acp"].environment.set == {"ACME": "1"}
    assert registry.get("acme").origin_of("program.module").startswith("built-in: ")


def test_a_harness_extends_the_overlaid_form_of_another(home: Path, user: Path) -> None:
    add_harness(user, BUILT_IN, 'name = "Renamed"\n')
    add_harness(user, "acme", f'id = "acme"\nextends = "{BUILT_IN}"\n')
    add_harness(user, "third", 'id = "third"\nextends = "acme"\nsummary = "s"\n')

    assert HarnessRegistry(home).manifest("third").name == "Renamed"


@pytest.mark.parametrize(
    ("texts", "part"),
    [
        pytest.param({"acme": 'extends = "nothing"'}, "not registered", id="an unknown base"),
        pytest.param({"acme": 'extends = "beta"', "beta": 'extends = "acme"'}, "circle", id="a circle"),
        pytest.param({"acme": 'extends = "acme"'}, "circle", id="itself"),
    ],
)
def test_an_extends_that_leads_nowhere_is_refused(
    home: Path, user: Path, texts: dict[str, str], part: str
) -> None:
    for harness, text in texts.items():
        add_harness(user, harness, f'id = "{harness}"\n{text}\n')

    problem = problem_of(home, "acme")

    assert problem.detail["key_path"] == "extends"
    assert part in str(problem)


def test_a_harness_that_extends_a_faulty_one_has_its_fault(home: Path, user: Path) -> None:
    broken = add_harness(user, "broken", "x = [")
    add_harness(user, "acme", 'id = "acme"\nextends = "broken"\n')

    assert problem_of(home, "acme").detail["file"] == str(broken / "manifest.toml")


def test_a_wrapper_has_its_own_type_of_reference(home: Path, user: Path) -> None:
    add_harness(user, "acme", manifest_text(top=f'wraps = "{BUILT_IN}"'))

    assert HarnessRegistry(home).manifest("acme").wraps == BUILT_IN


def test_a_wrapper_with_the_reference_type_of_what_it_wraps_is_refused(home: Path, user: Path) -> None:
    add_harness(user, "acme", f'id = "acme"\nextends = "{BUILT_IN}"\nwraps = "{BUILT_IN}"\n')

    problem = problem_of(home, "acme")

    assert problem.detail["key_path"] == "session.resume_type"


def test_a_wrapper_of_nothing_is_refused(home: Path, user: Path) -> None:
    add_harness(user, "acme", manifest_text(top='wraps = "nothing"'))

    assert problem_of(home, "acme").detail["key_path"] == "wraps"


def test_an_unknown_harness_is_refused_with_what_was_meant(home: Path, user: Path) -> None:
    add_harness(user, "acme", manifest_text())

    with pytest.raises(UsageError, match="Did you mean acme") as caught:
        HarnessRegistry(home).get("acmee")

    assert caught.value.code == "unknown_harness"


def test_a_running_registry_sees_a_harness_that_is_added_changed_and_removed(home: Path, user: Path) -> None:
    registry = HarnessRegistry(home)
    with pytest.raises(UsageError):
        registry.get("acme")

    folder = add_harness(user, "acme", manifest_text())
    assert registry.manifest("acme").name == "Acme"

    file = folder / "manifest.toml"
    file.write_text(file.read_text().replace('name = "Acme"', 'name = "Acme the second"'))
    assert registry.manifest("acme").name == "Acme the second"

    file.unlink()
    with pytest.raises(UsageError):
        registry.get("acme")


def test_a_project_folder_is_never_searched(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    for root in ("harnesses", ".inspan/harnesses", ""):
        add_harness(project / root, "acme", manifest_text())
    monkeypatch.chdir(project)

    assert "acme" not in {entry.id for entry in HarnessRegistry(home).list()}


def put_on_path(monkeypatch: pytest.MonkeyPatch, site: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    importlib.invalidate_caches()


def install_package(site: Path, package: str, *, group: str = "inspan.harnesses") -> Path:
    """Makes an installed package that would say so if a line of it ran; gives its folder of harnesses."""
    folder = site.joinpath(*package.split("."))
    folder.mkdir(parents=True)
    for part in (folder, *folder.parents):
        if part == site:
            break
        (part / "__init__.py").write_text("raise RuntimeError('this package was imported')\n")
    name = package.split(".")[0]
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {package}\n")
    return folder


@pytest.mark.requirement("H-B11")
@pytest.mark.parametrize("package", ["acme_pack", "acme_pack.inner.harnesses"])
def test_an_installed_package_brings_harnesses_without_being_imported(
    home: Path, user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    site = tmp_path / "site"
    folder = add_harness(install_package(site, package), "acme", manifest_text())
    put_on_path(monkeypatch, site)
    add_harness(user, "acme", 'summary = "changed by the user"\n')

    entry = HarnessRegistry(home).get("acme")

    assert entry.require().summary == "changed by the user"
    assert [(layer.origin, layer.folder) for layer in entry.layered.layers] == [
        ("installed", folder),
        ("user", user / "acme"),
    ]
    assert not any(name.startswith("acme_pack") for name in sys.modules)


def test_an_installed_harness_overlays_a_built_in_one(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    add_harness(install_package(site, "acme_pack"), BUILT_IN, 'name = "From a package"\n')
    put_on_path(monkeypatch, site)

    assert HarnessRegistry(home).manifest(BUILT_IN).name == "From a package"


def test_two_packages_that_claim_one_id_are_a_conflict(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    folders = [
        add_harness(install_package(site, package), "acme", manifest_text())
        for package in ("one_pack", "two_pack")
    ]
    put_on_path(monkeypatch, site)

    problem = problem_of(home, "acme")

    assert problem.code == "manifest_conflict"
    assert problem.detail["files"] == [str(folder / "manifest.toml") for folder in folders]


def test_an_entry_point_that_leads_nowhere_is_passed_over(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    install_package(site, "acme_pack")
    (site / "acme_pack-1.0.dist-info" / "entry_points.txt").write_text(
        "[inspan.harnesses]\na = no_such_pack\n"
    )
    put_on_path(monkeypatch, site)

    assert BUILT_IN in {entry.id for entry in HarnessRegistry(home).list()}


def test_a_users_folder_that_cannot_be_read_hides_only_itself(home: Path, user: Path) -> None:
    user.parent.mkdir(parents=True)
    user.write_text("a file where a folder should be")

    assert BUILT_IN in {entry.id for entry in HarnessRegistry(home).list()}
    assert os.path.isfile(user)
