"""The `write` and `edit` tools: exact, at once, and never over what somebody else wrote."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.agent.cancelling import CancelSource
from inspan.agent.tools.changing import edit_tool, write_tool
from inspan.agent.tools.ground import Ground
from inspan.agent.tools.reading import read_tool
from inspan.agent.tools.replacing import replace_file
from inspan.agent.tools.texts import FileText, decode_text, replace_text
from inspan.agent.values import ToolResult
from support.agent_tools import call_context, call_tool, make_ground, run_tool


@pytest.fixture
def ground() -> Ground:
    return make_ground()


def read(ground: Ground, workspace: Path, path: str = "file", session: str = "s_1") -> ToolResult:
    return run_tool(read_tool(ground), workspace, session=session, path=path)


def write(ground: Ground, workspace: Path, content: str, path: str = "file") -> ToolResult:
    return run_tool(write_tool(ground), workspace, path=path, content=content)


def edit(ground: Ground, workspace: Path, old: str, new: str, **more: Any) -> ToolResult:
    return run_tool(edit_tool(ground), workspace, path="file", old_text=old, new_text=new, **more)


def test_a_new_file_is_made_with_its_folders_and_its_diff(ground: Ground, tmp_path: Path) -> None:
    result = write(ground, tmp_path, "text\n", "new/deep/file.txt")

    assert (tmp_path / "new/deep/file.txt").read_text() == "text\n"
    (diff,) = result.diffs
    assert (diff.path, diff.old_text, diff.new_text) == (str(tmp_path / "new/deep/file.txt"), None, "text\n")


def test_a_file_that_was_not_read_is_not_written_over(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("theirs")

    assert "Read it before" in write(ground, tmp_path, "mine").text
    read(ground, tmp_path, session="s_other")
    assert write(ground, tmp_path, "mine").is_error
    read(ground, tmp_path)
    assert not write(ground, tmp_path, "mine").is_error
    assert not write(ground, tmp_path, "mine again").is_error
    assert (tmp_path / "file").read_text() == "mine again"


@pytest.mark.parametrize("how", ["write", "edit"])
def test_a_file_that_changed_since_it_was_read_is_not_changed(
    ground: Ground, tmp_path: Path, how: str
) -> None:
    (tmp_path / "file").write_text("one two")
    read(ground, tmp_path)
    before = os.stat(tmp_path / "file")
    (tmp_path / "file").write_text("one TWO")
    os.utime(tmp_path / "file", ns=(before.st_atime_ns, before.st_mtime_ns))

    def change() -> ToolResult:
        return write(ground, tmp_path, "mine") if how == "write" else edit(ground, tmp_path, "one", "1")

    assert "changed since" in change().text
    assert (tmp_path / "file").read_text() == "one TWO"
    read(ground, tmp_path)
    assert not change().is_error


def test_a_file_that_was_only_touched_has_not_changed(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("one")
    read(ground, tmp_path)
    os.utime(tmp_path / "file", ns=(1, 1))

    assert not edit(ground, tmp_path, "one", "two").is_error


def test_an_edit_needs_a_text_that_is_there_once(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a\nb\n  a = 1\nb\n")

    assert "2 times (lines 2, 4)" in edit(ground, tmp_path, "b", "c").text
    assert "not there" in edit(ground, tmp_path, "zzz", "c").text
    assert "line 3" in edit(ground, tmp_path, "\ta = 1", "c").text
    assert "the same" in edit(ground, tmp_path, "a", "a").text
    assert (
        "does not exist" in run_tool(edit_tool(ground), tmp_path, path="no", old_text="a", new_text="b").text
    )
    assert (tmp_path / "file").read_text() == "a\nb\n  a = 1\nb\n"

    result = edit(ground, tmp_path, "b", "c", replace_all=True)
    assert result.text == "Changed file (2 places, first at line 2)."
    assert (tmp_path / "file").read_text() == "a\nc\n  a = 1\nc\n"
    assert result.diffs[0].old_text == "a\nb\n  a = 1\nb\n"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny", b"x\r\ny\r\nc\r\n"),
        (b"a\r\nb\r\nc\n", "c", "x\ny", b"a\r\nb\r\nx\r\ny\n"),
        (b"a\nb\r\nc\n", "a\nb", "x\ny", b"x\ny\r\nc\n"),
        (b"a\nb\n", "a\r\nb", "x\r\ny", b"x\ny\n"),
        (b"a\r\nb\r\n", "a\n", "", b"b\r\n"),
        ("grün rot".encode("latin-1"), "rot", "weiß", "grün weiß".encode("latin-1")),
        ("grün".encode("utf-16"), "ü", "ö", "grön".encode("utf-16")),
        (b"\xef\xbb\xbfa", "a", "b", b"\xef\xbb\xbfb"),
        ("äöü ".encode() + b"\xff end", "end", "ende", "äöü ".encode() + b"\xff ende"),
    ],
)
def test_line_ends_and_encoding_stay(
    ground: Ground, tmp_path: Path, before: bytes, old: str, new: str, after: bytes
) -> None:
    (tmp_path / "file").write_bytes(before)

    assert not edit(ground, tmp_path, old, new).is_error
    assert (tmp_path / "file").read_bytes() == after


def test_a_character_that_the_encoding_does_not_have_is_refused(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes("grün".encode("latin-1"))

    assert "latin-1" in edit(ground, tmp_path, "gr", "→").text
    assert (tmp_path / "file").read_bytes() == "grün".encode("latin-1")


def test_writing_over_keeps_encoding_and_line_ends(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes("a\r\nb\r\n".encode("utf-16"))
    read(ground, tmp_path)

    assert not write(ground, tmp_path, "x\ny\nz\n").is_error
    assert (tmp_path / "file").read_bytes() == "x\r\ny\r\nz\r\n".encode("utf-16")


@pytest.mark.parametrize("text", ["\ud800", "a\udcff"])
def test_half_a_character_is_refused(ground: Ground, tmp_path: Path, text: str) -> None:
    assert write(ground, tmp_path, text).is_error
    assert list(tmp_path.iterdir()) == []


def test_the_mode_stays_and_a_new_file_has_the_usual_one(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("#!/bin/sh\n")
    os.chmod(tmp_path / "file", 0o700)
    mask = os.umask(0o027)
    try:
        edit(ground, tmp_path, "sh", "bash")
        write(ground, tmp_path, "x", "new")
    finally:
        os.umask(mask)

    assert os.stat(tmp_path / "file").st_mode & 0o7777 == 0o700
    assert os.stat(tmp_path / "new").st_mode & 0o7777 == 0o640


def test_a_link_stays_a_link_and_its_target_is_changed(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("a")
    (tmp_path / "file").symlink_to("real")

    edit(ground, tmp_path, "a", "b")

    assert (tmp_path / "file").is_symlink()
    assert (tmp_path / "real").read_text() == "b"


def test_read_only_and_binary_files_are_left_alone(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a")
    os.chmod(tmp_path / "file", 0o444)
    assert "read-only (mode 0444)" in edit(ground, tmp_path, "a", "b").text
    os.chmod(tmp_path / "file", 0o644)
    (tmp_path / "file").write_bytes(b"a\0b")
    assert "binary" in edit(ground, tmp_path, "a", "b").text
    assert "binary" in write(ground, tmp_path, "x").text
    with (tmp_path / "file").open("wb") as file:
        file.truncate(11 * 1024 * 1024)
    assert "too many" in edit(ground, tmp_path, "a", "b").text


def test_a_folder_cannot_be_written(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()

    assert "is a folder" in write(ground, tmp_path, "x").text
    assert "is a folder" in write(ground, tmp_path, "x", ".").text


def test_a_file_in_the_way_of_a_folder_is_told(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    assert "not a folder" in write(ground, tmp_path, "x", "file/inner").text


def test_changes_that_come_at_once_all_happen(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("".join(f"[{number}]\n" for number in range(40)))
    tool = edit_tool(ground)

    async def run() -> list[ToolResult]:
        call = call_context(tmp_path)
        return await asyncio.gather(
            *(
                call_tool(tool, call, path="file", old_text=f"[{number}]", new_text=f"<{number}>")
                for number in range(40)
            )
        )

    assert not any(result.is_error for result in asyncio.run(run()))
    assert (tmp_path / "file").read_text() == "".join(f"<{number}>\n" for number in range(40))


def test_a_call_that_was_cancelled_changes_nothing(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")

    async def run() -> list[ToolResult]:
        source = CancelSource()
        source.cancel()
        call = call_context(tmp_path, cancel=source.signal)
        return [
            await call_tool(edit_tool(ground), call, path="file", old_text="kept", new_text="changed"),
            await call_tool(write_tool(ground), call, path="new/file", content="x"),
        ]

    assert all("cancelled" in result.text and result.is_error for result in asyncio.run(run()))
    assert (tmp_path / "file").read_text() == "kept"
    assert os.listdir(tmp_path) == ["file"]


def test_a_full_disk_leaves_what_was_there_and_nothing_beside_it(ground: Ground, tmp_path: Path) -> None:
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(tmp_path)], capture_output=True, check=False
    ).returncode:
        pytest.skip("only who may mount can fill a disk of its own")
    try:
        (tmp_path / "file").write_text("kept")
        read(ground, tmp_path)
        result = write(ground, tmp_path, "x" * 1_000_000)

        assert result.is_error
        assert "no room on the disk" in result.text
        assert (tmp_path / "file").read_text() == "kept"
        assert os.listdir(tmp_path) == ["file"]
        assert write(ground, tmp_path, "x" * 1_000_000, "new/file").is_error
        assert not edit(ground, tmp_path, "kept", "changed").is_error
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_failed_replacement_leaves_nothing_beside(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(OSError):
            replace_file(folder, "file", b"x", old=None)
    finally:
        os.close(folder)
    assert os.listdir(tmp_path) == ["file"]


@given(st.binary(max_size=200))
def test_any_bytes_are_read_as_text_and_written_back_as_they_were(data: bytes) -> None:
    kept = decode_text(data)

    assert kept.encode(kept.text) == data


LINES = st.lists(st.sampled_from(["a", "b", "ab", "", "ü"]), max_size=6)
ENDS = st.lists(st.sampled_from(["\n", "\r\n"]), min_size=6, max_size=6)


@given(
    lines=LINES,
    ends=ENDS,
    old=st.sampled_from(["a", "ab", "a\nb", "\n", "b\r\n", "ü\n\n"]),
    new=st.text("xy\n", max_size=4),
)
def test_replacing_touches_nothing_but_what_it_found(
    lines: list[str], ends: list[str], old: str, new: str
) -> None:
    text = "".join(line + end for line, end in zip(lines, ends, strict=False))
    flat = text.replace("\r\n", "\n")
    flat_old = old.replace("\r\n", "\n")
    if flat_old not in flat:
        return

    replaced, numbers = replace_text(FileText(text=text), old, new, every=True)

    assert replaced.replace("\r\n", "\n") == flat.replace(flat_old, new)
    assert len(numbers) == flat.count(flat_old)
    if "\r\n" not in text:
        assert "\r" not in replaced
    if "\n" not in text.replace("\r\n", ""):
        assert "\n" not in replaced.replace("\r\n", "")


@given(content=st.text(st.characters(exclude_categories=("Cs",)), max_size=60))
def test_what_is_written_to_a_new_file_is_what_is_in_it(content: str) -> None:
    top = Path(tempfile.mkdtemp(prefix="isp-")).resolve()
    try:
        write(make_ground(), top, content)
        assert (top / "file").read_bytes() == content.encode()
    finally:
        shutil.rmtree(top)
