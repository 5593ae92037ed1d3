"""An operator's hooks file on the disk: links followed, replaced at once, and left as it is where anything is wrong."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from inspan.hooks import files
from inspan.hooks.files import change_file, is_tracked
from inspan.hooks.installing import install_hooks, locate, remove_hooks, show_place
from inspan.model.errors import UsageError
from inspan.model.hooks import HookInstall
from inspan.model.installation import ConfigFolder

EVENTS = ("Prompt", "Stop")
PLACE = HookInstall(
    scope="shared", path="{config}/settings.json", entry='{"command": "{command}"}', needs="Trust it once."
)
MINE = '{\n  "theme": "dark",\n  "hooks": {"Stop": [{"command": "mine"}]}\n}\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "settings.json"
    path.write_text(MINE)
    path.chmod(0o640)
    return path


@pytest.mark.requirement("H-N7", "H-A30")
def test_hooks_are_installed_and_removed_and_the_file_is_the_operator_s_again(file: Path) -> None:
    assert show_place(PLACE, file, EVENTS).state == "absent"
    view = install_hooks(PLACE, file, EVENTS)
    assert (view.state, view.is_changed, view.events, view.needs) == (
        "installed",
        True,
        ("Stop", "Prompt"),
        "Trust it once.",
    )
    assert file.stat().st_mode & 0o777 == 0o640
    assert not install_hooks(PLACE, file, EVENTS).is_changed
    view = install_hooks(PLACE, file, (*EVENTS, "More"))
    assert view.is_changed
    assert show_place(PLACE, file, EVENTS).state == "outdated"
    view = remove_hooks(PLACE, file, EVENTS)
    assert (view.state, view.is_changed) == ("absent", True)
    assert file.read_text() == MINE
    assert not remove_hooks(PLACE, file, EVENTS).is_changed
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.requirement("H-N7")
def test_a_file_that_was_made_for_hooks_is_not_deleted_and_none_is_made_to_remove_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "deep" / "settings.json"
    assert remove_hooks(PLACE, path, EVENTS).state == "absent"
    assert not path.exists()
    install_hooks(PLACE, path, EVENTS)
    assert path.stat().st_mode & 0o777 == 0o600
    remove_hooks(PLACE, path, EVENTS)
    assert json.loads(path.read_text()) == {}


@pytest.mark.requirement("H-N7")
def test_a_link_stays_a_link_and_the_file_behind_it_changes(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "dotfiles"
    folder.mkdir()
    real = file.rename(folder / "settings.json")
    file.symlink_to(real)
    view = install_hooks(PLACE, file, EVENTS)
    assert file.is_symlink()
    assert "relay.py" in real.read_text()
    assert any("link" in warning for warning in view.warnings)
    remove_hooks(PLACE, file, EVENTS)
    assert (file.is_symlink(), real.read_text()) == (True, MINE)


@pytest.mark.requirement("H-N7")
@pytest.mark.parametrize("text", [b"not json", b'{"hooks": []}', b"\xff\xfe{}", b"[]"])
def test_a_file_that_cannot_be_read_is_left_alone(file: Path, text: bytes) -> None:
    file.write_bytes(text)
    for call in (install_hooks, remove_hooks):
        if call is remove_hooks and text == b'{"hooks": []}':
            continue  # nothing of ours is in it, so that nothing is to be done
        with pytest.raises(UsageError) as caught:
            call(PLACE, file, EVENTS)
        assert caught.value.code == "hooks_file_invalid"
    assert file.read_bytes() == text
    assert show_place(PLACE, file, EVENTS).state in ("unreadable", "absent")


def test_a_read_only_file_and_a_read_only_folder_are_refused(file: Path) -> None:
    file.chmod(0o440)
    with pytest.raises(UsageError) as caught:
        install_hooks(PLACE, file, EVENTS)
    assert caught.value.code == "hooks_file_read_only"
    assert (file.read_text(), file.stat().st_mode & 0o777) == (MINE, 0o440)


@pytest.mark.parametrize("kind", ["folder", "fifo", "dangling", "loop", "large"])
def test_what_is_no_file_of_settings_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "settings.json"
    match kind:
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "dangling":
            path.symlink_to(tmp_path / "nowhere")
        case "loop":
            path.symlink_to(path)
        case _:
            path.write_bytes(b" " * (files.SIZE_BYTES + 1))
    with pytest.raises(UsageError) as caught:
        install_hooks(PLACE, path, EVENTS)
    assert caught.value.code == "hooks_file_invalid"


@pytest.mark.requirement("H-N7")
def test_what_somebody_writes_meanwhile_is_merged_with_and_never_lost(file: Path) -> None:
    texts = [json.dumps({"theme": number}) for number in range(2)]

    def change(text: str) -> str:
        if texts:
            file.write_text(texts.pop(0))  # somebody is faster
        return text + " "

    assert change_file(file, change)
    assert file.read_text() == '{"theme": 1} '


def test_a_file_that_never_rests_is_left_as_it_is(file: Path) -> None:
    count = 0

    def change(text: str) -> str:
        nonlocal count
        count += 1
        file.write_text(f"{count}")
        return text + "ours"

    with pytest.raises(UsageError) as caught:
        change_file(file, change)
    assert caught.value.code == "hooks_file_changed"
    assert "ours" not in file.read_text()
    assert [one.name for one in file.parent.iterdir()] == [file.name]


def test_a_file_that_git_keeps_is_changed_with_a_warning(file: Path) -> None:
    assert not is_tracked(file)
    for command in (["init", "-q"], ["add", file.name]):
        subprocess.run(["git", *command], cwd=file.parent, check=True)
    assert is_tracked(file)
    assert any("git" in warning for warning in install_hooks(PLACE, file, EVENTS).warnings)


@pytest.mark.requirement("H-A30")
def test_the_place_is_data_and_does_not_follow_from_the_configuration_folder(tmp_path: Path) -> None:
    config = ConfigFolder(folder="~/.tool", variable="TOOL_HOME")
    home = {"HOME": str(tmp_path)}
    assert locate(PLACE, config, home, "") == tmp_path / ".tool/settings.json"
    assert locate(PLACE, config, {**home, "TOOL_HOME": "/x"}, "") == Path("/x/settings.json")
    fixed = HookInstall(scope="shared", path="{home}/.tool/hooks.json", entry="{command}")
    assert locate(fixed, config, {**home, "TOOL_HOME": "/x"}, "") == tmp_path / ".tool/hooks.json"
    inside = HookInstall(scope="shared", path="{workspace}/.tool/hooks.json", entry="{command}")
    assert locate(inside, config, home, "/w") == Path("/w/.tool/hooks.json")
    with pytest.raises(UsageError):
        locate(inside, config, home, "")
