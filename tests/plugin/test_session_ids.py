"""Session ids in text and in a harness's folder: found for certain, or not at all."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from inspan.model.session import IdentityState
from inspan.model.session_source import SessionStore
from inspan.plugin.session_ids import find_session_id, look_up_session, workspace_name

BANNER = r"acme --resume (?P<session>[\w-]+)"
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
STORE = r'"cwd": "(?P<workspace>[^"]+)"'


@pytest.mark.requirement("H-A26")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("To go on: acme --resume s-1\n", "s-1"),
        ("acme --resume s-1 was yesterday\n...\nacme --resume s-2", "s-2"),
        ("\x1b[2mTo go on:\x1b[0m \x1b[1macme --resume \x1b[36ms-3\x1b[0m\r\n", "s-3"),
        ("Goodbye.", None),
        ("", None),
    ],
)
def test_the_last_match_in_what_was_written_or_shown_is_the_session(text: str, found: str | None) -> None:
    assert find_session_id(BANNER, text) == found


def session(folder: Path, name: str, *, cwd: str = "/w", at: datetime = NOW) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'{{"cwd": "{cwd}"}}\n')
    os.utime(file, (at.timestamp(), at.timestamp()))
    return file


def look_up(
    folder: Path, *, files: str = "**/*.jsonl", pattern: str = STORE
) -> tuple[IdentityState, str | None]:
    store = SessionStore(folder=str(folder), files=files, workspace_pattern=pattern)
    found = look_up_session(store, workspace="/w", since=NOW)
    assert bool(found.why) == (found.session_id is None)
    return found.state, found.session_id


@pytest.mark.requirement("H-A26")
def test_the_one_session_of_the_workspace_that_was_written_since_the_launch_is_its_own(
    tmp_path: Path,
) -> None:
    session(tmp_path, "2026/s-1.jsonl")
    session(tmp_path, "2026/s-old.jsonl", at=NOW.replace(hour=11))
    session(tmp_path, "2026/s-other.jsonl", cwd="/elsewhere")
    session(tmp_path, "2026/s-1.lock")

    assert look_up(tmp_path) == (IdentityState.KNOWN, "s-1")


@pytest.mark.requirement("H-A26", "L7")
def test_several_that_qualify_are_ambiguous_and_none_is_not_yet(tmp_path: Path) -> None:
    assert look_up(tmp_path / "nowhere") == (IdentityState.NOT_YET, None)
    assert look_up(tmp_path) == (IdentityState.NOT_YET, None)
    session(tmp_path, "a/s-1.jsonl")
    session(tmp_path, "b/s-2.jsonl")

    assert look_up(tmp_path) == (IdentityState.AMBIGUOUS, None)
    assert look_up(tmp_path, files="a/*.jsonl") == (IdentityState.KNOWN, "s-1")


def test_two_files_of_one_session_are_one_and_a_link_to_another_is_none(tmp_path: Path) -> None:
    session(tmp_path, "a/s-1.jsonl")
    session(tmp_path, "b/s-1.jsonl")
    (tmp_path / "s-9.jsonl").symlink_to(session(tmp_path.parent / "outside", "s-9.jsonl"))

    assert look_up(tmp_path) == (IdentityState.KNOWN, "s-1")


def test_a_folder_that_names_the_workspace_needs_no_look_into_files(tmp_path: Path) -> None:
    folder = tmp_path / workspace_name("/srv/my app")
    session(folder, "s-1.jsonl", cwd="/never-read")

    assert folder.name == "-srv-my-app"
    assert look_up(folder, pattern="") == (IdentityState.KNOWN, "s-1")
