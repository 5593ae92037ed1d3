"""A change is tried beside the app, found right, and only then put in its place; what was there can be put back."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from inspan.apps.backups import app_files, backups_of, take_backup
from inspan.apps.folder import open_folder
from inspan.apps.ports import who_answers
from inspan.apps.processes import is_alive
from inspan.apps.trying import code_digest
from support.apps.programs import a2app, agent_app, home_for_test, scaffolded


@pytest.fixture
def todo() -> Iterator[Path]:
    with home_for_test() as folder, scaffolded(folder) as path:
        yield path


def _titles(todo: Path) -> list[str]:
    return [one["title"] for one in a2app(str(todo), "data", "items", "list").json["items"]]


def _edit(todo: Path, before: str, after: str) -> None:
    text = (todo / "app.py").read_text()
    assert before in text
    (todo / "app.py").write_text(text.replace(before, after))


@pytest.mark.requirement("P35")
def test_nothing_is_promoted_that_did_not_pass_the_gate(todo: Path) -> None:
    live = agent_app(str(todo), "serve").json["pid"]
    done = agent_app(str(todo), "promote")
    assert (done.status, "gate" in done.err) == (1, True)
    assert is_alive(live)
    assert agent_app(str(todo), "validate").json["promotable"] is False
    assert agent_app(str(todo), "promote").status == 1
    assert backups_of(open_folder(todo)) == []


@pytest.mark.requirement("P35")
def test_a_trial_has_a_port_and_records_of_its_own_and_takes_the_calls_meanwhile(todo: Path) -> None:
    agent_app(str(todo), "serve")
    assert a2app(str(todo), "data", "items", "create", "--title", "Live").status == 0
    _edit(todo, "text(max=4000)", "text(max=99)")
    done = agent_app(str(todo), "dev")
    assert done.status == 0, done.err
    trial = done.json
    assert trial["port"] != open_folder(todo).port
    assert not 8090 <= trial["port"] <= 8999
    record = json.loads((todo / ".a2app" / "dev.json").read_text())
    assert (record["pid"], record["healthy"], record["bootDir"]) == (trial["pid"], True, trial["bootDir"])
    assert {path.name for path in (todo / trial["bootDir"]).iterdir()} == {"data", "dev.log"}
    assert a2app(str(todo), "identity").json["env"] == "dev"
    assert a2app(str(todo), "data", "items", "create", "--title", "Trial").status == 0
    assert "Live" not in _titles(todo)
    assert "at most 99 characters" in a2app(str(todo), "home", "items").out
    assert agent_app("list", "--json").json["apps"][0]["dev"] == trial["url"]
    # The app that is served knows of none of it.
    assert agent_app(str(todo), "stop", "--dev").json["stopped"] == trial["pid"]
    assert not (todo / ".a2app" / "dev").exists()
    assert a2app(str(todo), "identity").json["env"] == "live"
    assert "Live" in _titles(todo)
    assert "Trial" not in _titles(todo)
    assert agent_app(str(todo), "stop", "--dev").json["stopped"] is None


@pytest.mark.requirement("P35")
def test_what_was_validated_while_it_was_tried_is_promoted_and_an_edit_in_between_refused(todo: Path) -> None:
    first = agent_app(str(todo), "dev").json
    assert agent_app(str(todo), "validate").json["promotable"] is True
    _edit(todo, "max=200", "max=150")
    done = agent_app(str(todo), "promote")
    assert (done.status, "changed after" in done.err) == (1, True)
    assert is_alive(first["pid"])
    assert agent_app(str(todo), "dev").status == 0
    assert not is_alive(first["pid"])
    assert agent_app(str(todo), "validate").json["promotable"] is True
    done = agent_app(str(todo), "promote")
    assert done.status == 0, done.err
    assert done.json["backup"] is None
    assert not (todo / ".a2app" / "dev.json").exists()
    assert a2app(str(todo), "identity").json["env"] == "live"
    assert agent_app(str(todo), "promote").status == 1


@pytest.mark.requirement("P35")
def test_a_later_promotion_takes_a_backup_first_and_a_restore_keeps_the_present_too(todo: Path) -> None:
    live = agent_app(str(todo), "serve").json
    a2app(str(todo), "data", "items", "create", "--title", "Before")
    _edit(todo, "max=200", "max=150")
    agent_app(str(todo), "dev")
    agent_app(str(todo), "validate")
    done = agent_app(str(todo), "promote")
    assert done.status == 0, done.err
    backup = done.json["backup"]
    assert done.json["pid"] != live["pid"]
    assert done.json["port"] == live["port"]
    assert "Before" in _titles(todo)
    a2app(str(todo), "data", "items", "create", "--title", "After")
    assert agent_app(str(todo), "restore", backup["id"]).status == 1
    agent_app(str(todo), "stop")
    done = agent_app(str(todo), "restore", backup["id"])
    assert done.status == 0, done.err
    agent_app(str(todo), "serve")
    assert "Before" in _titles(todo)
    assert "After" not in _titles(todo)
    agent_app(str(todo), "stop")
    assert agent_app(str(todo), "restore", done.json["before"]["id"]).status == 0
    agent_app(str(todo), "serve")
    assert "After" in _titles(todo)


@pytest.mark.requirement("P9", "P35")
def test_the_backup_of_a_promotion_that_fails_holds_the_code_that_was_served_and_the_records(
    todo: Path,
) -> None:
    agent_app(str(todo), "serve")
    a2app(str(todo), "data", "items", "create", "--title", "Before")
    served = (todo / "app.py").read_bytes()
    # Fit for a trial, and not for what takes its place.
    _edit(
        todo,
        "app = App()",
        "import os\n\napp = App()\nif os.environ['A2APP_ENV'] == 'live':\n    raise SystemExit(7)",
    )
    assert agent_app(str(todo), "dev").status == 0
    assert agent_app(str(todo), "validate").json["promotable"] is True
    done = agent_app(str(todo), "promote")
    assert done.status == 1
    [backup] = backups_of(open_folder(todo))
    assert f"restore {backup.id}" in done.err
    assert (backup.path / "files" / "app.py").read_bytes() == served
    assert agent_app(str(todo), "restore", backup.id).status == 0
    assert (todo / "app.py").read_bytes() == served
    assert agent_app(str(todo), "serve").status == 0
    assert "Before" in _titles(todo)


def test_a_change_that_does_not_start_is_no_trial_and_the_app_goes_on(todo: Path) -> None:
    live = agent_app(str(todo), "serve").json["pid"]
    _edit(todo, "app = App()", "app = App()\nraise SystemExit(7)")
    done = agent_app(str(todo), "dev")
    assert done.status == 1
    assert not (todo / ".a2app" / "dev.json").exists()
    assert is_alive(live)
    assert agent_app(str(todo), "validate").json["promotable"] is False


def test_a_trial_that_died_is_not_operated_nor_promoted(todo: Path) -> None:
    agent_app(str(todo), "serve")
    trial = agent_app(str(todo), "dev").json
    os.killpg(trial["pid"], 9)
    while is_alive(trial["pid"]):
        pass
    assert a2app(str(todo), "identity").json["env"] == "live"
    assert agent_app(str(todo), "validate").json["promotable"] is False


def test_an_app_that_is_locked_against_changes_is_not_promoted(todo: Path) -> None:
    manifest = json.loads((todo / "manifest.json").read_text())
    (todo / "manifest.json").write_text(json.dumps({**manifest, "modificationLock": True}))
    done = agent_app(str(todo), "promote")
    assert (done.status, "modificationLock" in done.err) == (1, True)


# -- backups


def _contents(todo: Path) -> dict[str, object]:
    return {
        name: os.readlink(todo / name) if (todo / name).is_symlink() else (todo / name).read_bytes()
        for name in app_files(todo)
    }


@pytest.mark.requirement("P9")
def test_a_backup_of_a_running_app_holds_its_records_and_none_of_its_credentials(todo: Path) -> None:
    agent_app(str(todo), "serve")
    a2app(str(todo), "data", "items", "create", "--title", "Kept")
    done = agent_app(str(todo), "backup", "--reason", "before I try something")
    assert done.status == 0, done.err
    [backup] = agent_app(str(todo), "backup", "list").json["backups"]
    assert backup == done.json["backup"]
    names = set(backups_of(open_folder(todo))[0].files)
    assert {"app.py", "manifest.json", "data/app.db"} <= names
    assert not any(
        name.startswith((".agent-token", ".a2app", ".principal")) or name.endswith("-wal") for name in names
    )
    with closing(sqlite3.connect(Path(backup["path"]) / "files" / "data" / "app.db")) as records:
        assert "Kept" in "".join(records.iterdump())


@pytest.mark.requirement("P9")
def test_restore_puts_every_byte_back_and_takes_away_what_came_later(todo: Path) -> None:
    folder = open_folder(todo)
    (todo / "picture.bin").write_bytes(bytes(range(256)) * 100)
    (todo / "link").symlink_to("app.py")
    (todo / "away").symlink_to("/nowhere/at/all")
    (todo / "folder").symlink_to("reference")
    before = _contents(todo)
    backup = take_backup(folder, "test")
    (todo / "picture.bin").write_bytes(b"other")
    (todo / "app.py").unlink()
    (todo / "app.py").mkdir()
    (todo / "app.py" / "inner").write_text("a folder where a file was")
    (todo / "away").unlink()
    (todo / "later").mkdir()
    (todo / "later" / "file").write_text("x")
    token = (todo / ".agent-token").read_bytes()
    assert agent_app(str(todo), "restore", backup.id).status == 0
    assert _contents(todo) == before
    assert not (todo / "later").exists()
    assert (todo / ".agent-token").read_bytes() == token


@pytest.mark.requirement("P9")
def test_a_damaged_backup_is_refused_before_anything_is_touched(todo: Path) -> None:
    backup = take_backup(open_folder(todo), "test")
    (todo / "app.py").write_text("now")
    (backup.path / "files" / "serve.py").write_text("damaged")
    done = agent_app(str(todo), "restore", backup.id)
    assert (done.status, "damaged" in done.err) == (1, True)
    assert (todo / "app.py").read_text() == "now"


@pytest.mark.parametrize("name", ["../outside", "/etc/outside", ".agent-token", ".a2app/serve.json"])
def test_a_backup_that_names_files_elsewhere_is_refused(todo: Path, name: str) -> None:
    backup = take_backup(open_folder(todo), "test")
    value = json.loads((backup.path / "backup.json").read_text())
    value["files"][name] = "sha256:0"
    (backup.path / "backup.json").write_text(json.dumps(value))
    assert agent_app(str(todo), "restore", backup.id).status == 1
    assert not (todo.parent / "outside").exists()


@pytest.mark.parametrize("name", ["nothing", "..", "../..", ""])
def test_a_backup_that_is_not_there_is_a_usage_error(todo: Path, name: str) -> None:
    take_backup(open_folder(todo), "test")
    assert agent_app(str(todo), "restore", name).status == 2


def test_what_is_no_whole_backup_is_passed_over(todo: Path) -> None:
    good = take_backup(open_folder(todo), "test")
    for name, content in (("a", "{"), ("b", "[]"), ("c", '{"files": 3}'), ("d", None)):
        (good.path.parent / name).mkdir()
        if content is not None:
            (good.path.parent / name / "backup.json").write_text(content)
    assert [one.id for one in backups_of(open_folder(todo))] == [good.id]


def test_the_codes_digest_knows_each_change_of_code_and_none_of_records(todo: Path) -> None:
    folder = open_folder(todo)
    before = code_digest(folder)
    (todo / "data").mkdir(exist_ok=True)
    (todo / "data" / "x").write_text("records")
    (todo / ".a2app" / "serve.log").write_text("log")
    assert code_digest(folder) == before
    (todo / "reference" / "more.md").write_text("")
    assert code_digest(folder) != before
    assert who_answers(folder.port).kind == "nobody"
