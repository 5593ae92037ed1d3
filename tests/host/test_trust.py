"""Trust: every file is pinned, and whatever changes is noticed."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from inspan.host.trust import TRUST_FILE, TrustStore, hash_folder
from inspan.model.errors import HostError, PluginError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "acme"
    (folder / "deep").mkdir(parents=True)
    (folder / "manifest.toml").write_text("schema = 1\n")
    (folder / "plugin.py").write_text("x = 1\n")
    (folder / "deep" / "more.py").write_text("y = 1\n")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "home")


def test_a_folder_is_untrusted_until_the_operator_says_so(store: TrustStore, folder: Path) -> None:
    with pytest.raises(PluginError, match="not trusted") as caught:
        store.check("acme", folder)
    assert caught.value.code == "plugin_untrusted"
    assert "inspan harness trust acme" in caught.value.hint

    store.trust("acme", folder)

    assert set(store.check("acme", folder).files) == {"manifest.toml", "plugin.py", "deep/more.py"}


def change_plugin(folder: Path) -> None:
    (folder / "plugin.py").write_text("x = 2\n")


def add_file(folder: Path) -> None:
    (folder / "new.py").touch()


def remove_file(folder: Path) -> None:
    (folder / "deep" / "more.py").unlink()


def add_bytecode(folder: Path) -> None:
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "plugin.pyc").write_bytes(b"x")


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (change_plugin, "plugin.py"),
        (add_file, "new.py"),
        (remove_file, "deep/more.py"),
        (add_bytecode, "__pycache__/plugin.pyc"),
    ],
)
def test_a_file_that_changed_ends_the_trust(
    store: TrustStore, folder: Path, change: Callable[[Path], None], name: str
) -> None:
    store.trust("acme", folder)
    change(folder)

    with pytest.raises(PluginError, match="changed since") as caught:
        store.check("acme", folder)

    assert caught.value.detail["changed"] == [name]
    store.trust("acme", folder)
    store.check("acme", folder)


def test_trust_in_one_folder_is_no_trust_in_a_copy(store: TrustStore, folder: Path, tmp_path: Path) -> None:
    store.trust("acme", folder)
    copy = tmp_path / "copy"
    folder.rename(copy)

    with pytest.raises(PluginError):
        store.check("acme", copy)


def test_trust_is_taken_back(store: TrustStore, folder: Path) -> None:
    store.trust("acme", folder)

    assert store.revoke("acme")
    assert not store.revoke("acme")
    with pytest.raises(PluginError):
        store.check("acme", folder)


def test_the_file_of_decisions_is_the_owners_alone(store: TrustStore, folder: Path, tmp_path: Path) -> None:
    store.trust("acme", folder)
    file = tmp_path / "home" / TRUST_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    file.chmod(0o622)
    with pytest.raises(HostError) as caught:
        store.check("acme", folder)
    assert caught.value.code == "home_insecure"


def test_a_damaged_file_of_decisions_trusts_nothing(store: TrustStore, folder: Path, tmp_path: Path) -> None:
    store.trust("acme", folder)
    (tmp_path / "home" / TRUST_FILE).write_text("{")

    with pytest.raises(HostError, match="cannot be read"):
        store.check("acme", folder)


def test_a_symbolic_link_cannot_be_pinned(folder: Path) -> None:
    (folder / "link.py").symlink_to("/etc/hostname")

    with pytest.raises(PluginError, match="symbolic link"):
        hash_folder(folder)
