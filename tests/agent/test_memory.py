"""Memory: notes in files of the home that only their person can read, an index that is never stale, and two tools."""

import os
import stat
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.agent.memory.notes import decode_note, encode_note
from inspan.agent.memory.store import MemoryStore
from inspan.agent.tools.memory import memory_tools
from inspan.agent.values import ToolResult
from inspan.model.errors import StoreError, UsageError
from support.agent_tools import run_tool

HERE, THERE = Path("/home/person/Project One"), Path("/srv/Project One")


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "agent" / "memory")


def test_a_note_is_kept_for_its_scope_alone(store: MemoryStore) -> None:
    assert store.save("style", "Tabs.", "Tabs, not blanks.", HERE)
    assert store.save("style", "Blanks.", "Blanks here.", THERE)
    assert store.save("person", "Speaks German.", "Answers in German.", None)
    assert not store.save("style", "Tabs only.", "Tabs, always.", HERE)

    assert store.read("style", HERE).text == "Tabs, always."
    assert store.read("style", THERE).text == "Blanks here."
    assert [(one.name, one.summary, one.text) for one in store.list(HERE)] == [("style", "Tabs only.", "")]
    assert (
        store.index(HERE)
        == "Of this workspace:\n- style: Tabs only.\nOf all workspaces:\n- person: Speaks German."
    )
    assert store.index(Path("/elsewhere")) == "Of all workspaces:\n- person: Speaks German."


def test_nothing_is_made_before_the_first_note(store: MemoryStore) -> None:
    assert store.index(HERE) == ""
    assert store.list(None) == ()
    with pytest.raises(UsageError):
        store.delete("none", HERE)
    assert not store.folder.exists()


def test_only_their_person_can_read_notes(store: MemoryStore) -> None:
    mask = os.umask(0)
    try:
        store.save("style", "Tabs.", "Tabs.", HERE)
        store.save("person", "P.", "P.", None)
    finally:
        os.umask(mask)

    for found in [store.folder, *store.folder.rglob("*")]:
        assert stat.S_IMODE(found.stat().st_mode) == (0o700 if found.is_dir() else 0o600)


def test_notes_outlive_the_store_and_can_be_edited_by_hand(store: MemoryStore) -> None:
    store.save("style", "Tabs.", "Tabs.", HERE)
    (file,) = store.folder.rglob("style.md")
    assert file.read_text() == "Tabs.\n\nTabs.\n"
    file.write_text("Blanks now.\r\n\r\nAs decided.\r\n")

    note = MemoryStore(store.folder).read("style", HERE)
    assert (note.summary, note.text) == ("Blanks now.", "As decided.")
    store.delete("style", HERE)
    assert store.index(HERE) == ""


@pytest.mark.parametrize("name", ["", "../x", "a/b", "A", ".hidden", "x" * 65, "a\0", "a.md"])
def test_a_name_that_is_none_is_refused_everywhere(store: MemoryStore, name: str) -> None:
    for call in (
        lambda: store.save(name, "s", "t", None),
        lambda: store.read(name, None),
        lambda: store.delete(name, None),
    ):
        with pytest.raises(UsageError):
            call()
    assert not store.folder.exists()


@pytest.mark.parametrize(
    ("summary", "text"), [("", "t"), ("s", ""), ("s" * 201, "t"), ("s", "t" * 16_001), (" \n", "t")]
)
def test_what_is_no_note_is_refused(store: MemoryStore, summary: str, text: str) -> None:
    with pytest.raises(UsageError):
        store.save("note", summary, text, None)


def test_there_is_room_for_two_hundred_notes_and_the_index_is_bounded(store: MemoryStore) -> None:
    for number in range(200):
        store.save(f"n-{number:03}", "s" * 190, "t", HERE)
    with pytest.raises(UsageError, match="200 notes"):
        store.save("one-more", "s", "t", HERE)
    store.save("n-000", "Replaced.", "t", HERE)

    index = store.index(HERE)
    assert len(index) < 4_200
    assert index.endswith(" more")


def test_links_and_pipes_in_the_folder_are_never_followed(store: MemoryStore, tmp_path: Path) -> None:
    store.save("real", "Real.", "Real.", None)
    (tmp_path / "secret").write_text("SECRET")
    (store.folder / "global" / "link.md").symlink_to(tmp_path / "secret")
    os.mkfifo(store.folder / "global" / "pipe.md")
    (store.folder / "global" / "folder.md").mkdir()

    assert [one.name for one in store.list(None)] == ["real"]
    store.save("link", "New.", "New.", None)
    assert (tmp_path / "secret").read_text() == "SECRET"
    assert store.read("link", None).text == "New."


def test_a_link_in_place_of_a_folder_is_refused(store: MemoryStore, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    store.folder.mkdir(parents=True)
    (store.folder / "global").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StoreError):
        store.save("note", "s", "t", None)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_who_reads_while_a_note_is_replaced_sees_a_whole_one(store: MemoryStore) -> None:
    texts = {letter: letter * 10_000 for letter in "ab"}
    store.save("note", "s", texts["a"], None)
    stop = threading.Event()

    def replace() -> None:
        while not stop.is_set():
            for text in texts.values():
                store.save("note", "s", text, None)

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        seen = {store.read("note", None).text for _ in range(300)}
    finally:
        stop.set()
        writer.join()
    assert seen <= set(texts.values())
    assert len(os.listdir(store.folder / "global")) == 1


def test_two_sessions_that_keep_the_first_note_of_a_workspace_at_once_keep_both(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = os.mkdir

    def make_second(path: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        if dir_fd is not None:
            monkeypatch.setattr(os, "mkdir", make)
            store.save("theirs", "Theirs.", "x", tmp_path)  # before the folder of ours is made
        make(path, mode, dir_fd=dir_fd)

    store.save("global", "Of all.", "x", None)
    monkeypatch.setattr(os, "mkdir", make_second)
    assert store.save("ours", "Ours.", "x", tmp_path)
    assert [note.name for note in store.list(tmp_path)] == ["ours", "theirs"]


def test_a_full_disk_is_told_and_the_old_note_stays(tmp_path: Path) -> None:
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)], capture_output=True, check=False
    ).returncode:
        pytest.skip("only who may mount can fill a disk of its own")
    try:
        store = MemoryStore(tmp_path / "memory")
        store.save("note", "Old.", "Old.", None)
        (tmp_path / "filler").write_bytes(
            b"x" * (os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_bsize)
        )
        with pytest.raises(StoreError) as full:
            store.save("note", "New.", "x" * 15_000, None)
        assert full.value.code == "store_full"
        assert store.read("note", None).text == "Old."
        assert os.listdir(store.folder / "global") == ["note.md"]
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@given(st.binary(max_size=300))
def test_any_file_can_be_read_as_a_note(data: bytes) -> None:
    summary, text = decode_note(data)
    assert "\n" not in summary
    f"{summary}{text}".encode()


@given(summary=st.text(min_size=1, max_size=50), text=st.text(min_size=1, max_size=100))
def test_what_is_kept_is_read_back(summary: str, text: str) -> None:
    try:
        data = encode_note(summary, text)
    except UsageError:
        assert not " ".join(summary.split()) or not text.strip()
        return
    with tempfile.TemporaryDirectory(prefix="isp-") as top:
        store = MemoryStore(Path(top))
        store.save("note", summary, text, HERE)
        note = store.read("note", HERE)
    assert encode_note(note.summary, note.text).decode().split() == data.decode().split()


def use(store: MemoryStore, tool_name: str, /, **arguments: str) -> ToolResult:
    tool = next(one for one in memory_tools(store) if one.name == tool_name)
    return run_tool(tool, HERE, **arguments)


def test_the_tools_keep_read_find_and_delete(store: MemoryStore) -> None:
    assert use(store, "memory").text == "There are no notes."
    saved = use(store, "remember", action="save", name="style", summary="Tabs.", text="Tabs, not BLANKS.")
    assert saved.text == "Kept the note style."
    use(store, "remember", action="save", name="style", summary="All.", text="For all.", scope="global")

    both = use(store, "memory", name="style").text
    assert "of this workspace" in both
    assert "For all." in both
    assert "Tabs, not BLANKS." in use(store, "memory", words="tabs blanks").text
    assert use(store, "memory", words="tabs zebra").text == "No note has all of these words."
    assert "- style: Tabs." in use(store, "memory").text
    assert use(store, "remember", action="delete", name="style").text == "Deleted the note style."
    assert use(store, "remember", action="delete", name="style").is_error
    assert use(store, "memory", name="other").is_error
    assert use(store, "remember", action="save", name="empty").is_error


def test_reading_is_read_only_and_keeping_is_not(store: MemoryStore) -> None:
    read, keep = memory_tools(store)
    assert read.read_only
    assert not keep.read_only
    assert not keep.session_local
