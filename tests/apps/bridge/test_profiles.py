"""Registering a profile: only its own absent entry is ever added, by many at once and whatever the file holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.apps.files import locked
from inspan.apps.profiles import register_harness_profile

PROFILE: dict[str, Any] = {
    "id": "acme",
    "routes": [{"mode": "headless", "command": "acme", "args": ["-p", "{prompt}"]}],
}


def named(id_: str) -> dict[str, Any]:
    return {**PROFILE, "id": id_}


def entries(home: Path) -> list[Any]:
    return json.loads((home / "harnesses.json").read_text(encoding="utf-8"))["harnesses"]


@pytest.mark.requirement("P34")
def test_where_there_is_no_file_one_is_made_in_the_right_form_for_its_owner_alone(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    done = register_harness_profile({**PROFILE, "name": "Ácme"}, home=home)
    file = home / "harnesses.json"
    assert (done.status, done.file) == ("registered", file)
    text = file.read_text(encoding="utf-8")
    assert (
        text
        == json.dumps(
            {"version": 1, "harnesses": [{**PROFILE, "name": "Ácme"}]}, indent=2, ensure_ascii=False
        )
        + "\n"
    )
    assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(one.name for one in home.iterdir()) == ["harnesses.json"]


@pytest.mark.requirement("P34")
def test_a_second_call_changes_nothing_and_what_a_person_made_of_the_entry_survives(tmp_path: Path) -> None:
    register_harness_profile(PROFILE, home=tmp_path)
    file = tmp_path / "harnesses.json"
    file.write_text(
        file.read_text().replace('"acme",\n', '"acme-mine",\n').replace('"id": "acme-mine"', '"id": "acme"')
    )
    before = file.read_bytes(), file.stat().st_mtime_ns
    assert register_harness_profile(PROFILE, home=tmp_path).status == "kept"
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before


@pytest.mark.requirement("P34")
def test_other_entries_the_default_and_keys_that_nobody_knows_stay(tmp_path: Path) -> None:
    held: dict[str, Any] = {
        "version": 7,
        "default": "mine",
        "harnesses": [{"id": "mine", "odd": 1.5}, "no object", None],
        "new": {"ö": []},
    }
    (tmp_path / "harnesses.json").write_text(json.dumps(held), encoding="utf-8")
    assert register_harness_profile(PROFILE, home=tmp_path).status == "registered"
    now = json.loads((tmp_path / "harnesses.json").read_text(encoding="utf-8"))
    assert now == {**held, "harnesses": [*held["harnesses"], PROFILE]}
    assert list(now) == list(held)


@pytest.mark.requirement("P34")
def test_a_file_without_a_list_gets_one(tmp_path: Path) -> None:
    (tmp_path / "harnesses.json").write_text('{"default": "x"}', encoding="utf-8")
    assert register_harness_profile(PROFILE, home=tmp_path).status == "registered"
    assert json.loads((tmp_path / "harnesses.json").read_text()) == {"default": "x", "harnesses": [PROFILE]}


@pytest.mark.requirement("P34")
@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"// a comment\n{}",
        b"[]",
        b'{"harnesses": {}}',
        b'{"harnesses": null}',
        b"\xff\xfe{}",
        b"\xef\xbb\xbf{}",
        b"",
        b'{"harnesses": [], "harnesses": [{"id": "lost"}]}',
        b'{"harnesses": [{"id": "a", "id": "b"}]}',
        b'{"harnesses": [], "x": 1e999}',
        b'{"harnesses": [], "x": NaN}',
        b'{"x": "' + b"y" * (1 << 20) + b'"}',
        b"[" * 200_000,
    ],
    ids=lambda content: repr(content[:24]),
)
def test_a_file_that_cannot_be_added_to_stays_byte_for_byte(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "harnesses.json"
    file.write_bytes(content)
    done = register_harness_profile(PROFILE, home=tmp_path)
    assert done.status == "refused"
    assert str(file) in done.detail
    assert file.read_bytes() == content
    assert [one.name for one in tmp_path.iterdir() if "tmp" in one.name] == []


@pytest.mark.requirement("P34")
def test_the_files_own_permissions_stay_and_a_link_stays_a_link(tmp_path: Path) -> None:
    home, kept = tmp_path / "home", tmp_path / "dotfiles"
    home.mkdir()
    kept.mkdir()
    (kept / "h.json").write_text('{"version": 1, "harnesses": []}')
    (kept / "h.json").chmod(0o640)
    (home / "harnesses.json").symlink_to(kept / "h.json")
    assert register_harness_profile(PROFILE, home=home).status == "registered"
    assert (home / "harnesses.json").is_symlink()
    assert (kept / "h.json").stat().st_mode & 0o777 == 0o640
    assert entries(home) == [PROFILE]


def test_a_home_that_cannot_be_written_is_refused_and_not_raised(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    assert register_harness_profile(PROFILE, home=tmp_path / "home").status == "refused"


@pytest.mark.requirement("P34")
def test_a_lock_that_another_keeps_is_a_refusal_and_nothing_is_written(tmp_path: Path) -> None:
    file = tmp_path / "harnesses.json"
    file.write_text('{"version": 1, "harnesses": []}')
    before = file.read_bytes()
    with locked(tmp_path / ".harnesses.json.lock"):
        done = register_harness_profile(PROFILE, home=tmp_path, lock_s=0.1)
    assert done.status == "refused"
    assert file.read_bytes() == before


def test_a_profile_that_would_break_every_bridge_command_is_the_callers_fault(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="routes"):
        register_harness_profile({"id": "acme", "routes": []}, home=tmp_path)
    assert list(tmp_path.iterdir()) == []


_MANY = """
import json, sys
from pathlib import Path
from inspan.apps.profiles import register_harness_profile
home, own = Path(sys.argv[1]), sys.argv[2].split(",")
sys.stdin.readline()
for one in own:
    profile = {"id": one, "routes": [{"mode": "subscribe"}]}
    print(register_harness_profile(profile, home=home).status, flush=True)
"""


@pytest.mark.requirement("P34", "P36")
def test_processes_that_register_at_the_same_moment_lose_no_entry(tmp_path: Path) -> None:
    shared = [f"shared-{number}" for number in range(8)]
    started: list[subprocess.Popen[str]] = []
    for number in range(4):
        own = [f"own-{number}-{each}" for each in range(8)]
        mixed = [one for pair in zip(own, shared, strict=True) for one in pair]
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", _MANY, str(tmp_path), ",".join(mixed)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=dict(os.environ),
            )
        )
    said: list[str] = []
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in started:
        said += process.communicate(timeout=60)[0].split()
        assert process.returncode == 0
    found = [one["id"] for one in entries(tmp_path)]
    assert len(found) == len(set(found)) == 4 * 8 + 8
    assert said.count("registered") == len(found)
    assert said.count("kept") == 3 * 8
    assert sorted(one.name for one in tmp_path.iterdir()) == ["harnesses.json"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(
    value=JSON
    | st.fixed_dictionaries({"harnesses": JSON})
    | st.fixed_dictionaries({"harnesses": st.lists(JSON)})
)
def test_whatever_json_the_file_holds_nothing_of_it_is_lost(
    value: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("isp-")
    file = home / "harnesses.json"
    file.write_text(json.dumps(value), encoding="utf-8")
    before = file.read_bytes()
    done = register_harness_profile(PROFILE, home=home)
    if done.status != "registered":
        assert file.read_bytes() == before
        return
    now = json.loads(file.read_text(encoding="utf-8"))
    assert now["harnesses"].pop() == PROFILE
    assert now == value or now == {**value, "harnesses": []}
