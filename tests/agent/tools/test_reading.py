"""The `read` tool: lines, bounds, pictures, and what it will not show."""

import asyncio
import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.cancelling import CancelSource
from inspan.agent.tools.reading import read_tool
from inspan.agent.values import ImageContent, ToolResult
from support.agent_tools import call_context, call_tool, make_ground, run_tool

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def read(workspace: Path, path: str = "file", **arguments: Any) -> ToolResult:
    return run_tool(read_tool(make_ground()), workspace, path=path, **arguments)


def test_lines_come_with_their_numbers_and_the_rest_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("".join(f"line {number}\n" for number in range(1, 11)))

    assert read(tmp_path).text.splitlines()[0] == "     1\tline 1"
    part = read(tmp_path, start_line=3, max_lines=2).text.splitlines()
    assert part == ["     3\tline 3", "     4\tline 4", "[lines 3-4 of 10; go on with start_line=5]"]
    assert "only 10 lines" in read(tmp_path, start_line=11).text
    assert read(tmp_path, start_line=11).is_error


def test_going_on_where_it_said_reads_the_whole_file_once(tmp_path: Path) -> None:
    lines = [f"{number} " + "ü" * (number * 7) for number in range(1, 400)]
    (tmp_path / "file").write_text("\n".join(lines))
    seen: list[str] = []
    at = 1
    while at:
        text = read(tmp_path, start_line=at).text
        assert len(text) < 53_000
        *body, last = text.split("\n")
        at = int(last.partition("start_line=")[2].rstrip("]") or 0) if last.startswith("[") else 0
        seen += [line.partition("\t")[2] for line in ([*body] if last.startswith("[") else [*body, last])]

    assert [line.split(" ")[0] for line in seen] == [line.split(" ")[0] for line in lines]
    assert any(line.endswith("[line cut]") for line in seen)


@pytest.mark.parametrize(
    ("content", "shown"), [(b"", "[The file is empty.]"), (b"a", "     1\ta"), (b"\n", "     1\t")]
)
def test_small_files_are_shown_as_they_are(tmp_path: Path, content: bytes, shown: str) -> None:
    (tmp_path / "file").write_bytes(content)

    assert read(tmp_path).text == shown


def test_a_picture_is_shown_as_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(PNG)

    assert read(tmp_path).content == (
        ImageContent(media_type="image/png", data=base64.b64encode(PNG).decode()),
    )


def test_a_picture_that_is_too_large_is_refused_with_its_size(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(PNG)
    os.truncate(tmp_path / "file", 20_000_000)

    result = read(tmp_path)
    assert result.is_error
    assert "20,000,000 bytes" in result.text


def test_a_binary_file_is_refused_with_its_size(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\x7fELF\0\0" + bytes(1000))

    result = read(tmp_path)
    assert result.is_error
    assert "binary file of 1,006 bytes" in result.text


def test_a_hundred_megabytes_are_read_in_parts_with_bounded_results(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        for number in range(1, 101):
            file.write(b"%d\n" % number + b"x" * 1_000_000 + b"\n")

    result = read(tmp_path, start_line=101, max_lines=3)
    assert [line[:12] for line in result.text.split("\n")[:3]] == [
        "   101\t51",
        "   102\txxxxx",
        "   103\t52",
    ]
    assert result.text.endswith("go on with start_line=104]")
    assert len(result.text) < 5000
    assert len(read(tmp_path).text) < 53_000


@pytest.mark.parametrize(
    ("data", "shown", "note"),
    [
        ("grün\n".encode("latin-1"), "grün", "encoding latin-1"),
        (b"\xef\xbb\xbfgr\xc3\xbcn\n", "grün", "encoding utf-8 with a byte order mark"),
        ("grün\n".encode("utf-16"), "grün", "encoding utf-16"),
        ("übergrün\n".encode() + b"\xff", "übergrün", ""),
        (b"a\r\nb\r\n", "a", "CR LF"),
    ],
)
def test_the_encoding_is_found_and_named(tmp_path: Path, data: bytes, shown: str, note: str) -> None:
    (tmp_path / "file").write_bytes(data)

    text = read(tmp_path).text
    assert text.split("\n")[0] == f"     1\t{shown}"
    assert note in text
    json.dumps(text).encode()


@pytest.mark.parametrize(
    "data", [b"\xff\xfe\0", b"\xff\xfea", b"\xff\xfe\0\xd8", b"\xc3(\xa0\xa1", b"a\xed\xa0\x80"]
)
def test_broken_text_is_shown_as_valid_text(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)

    read(tmp_path).text.encode()


def test_a_missing_file_is_answered_with_names_like_it(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "settings.py").write_text("x")

    result = read(tmp_path, "src/setings.py")
    assert result.is_error
    assert result.text == "src/setings.py does not exist. Did you mean src/settings.py?"
    assert read(tmp_path, "nowhere/setings.py").text == "nowhere/setings.py does not exist."


def test_a_folder_is_answered_with_the_tool_to_use(tmp_path: Path) -> None:
    assert "use list" in read(tmp_path, ".").text


def test_a_call_says_what_it_is_and_where(tmp_path: Path) -> None:
    tool = read_tool(make_ground())
    assert tool.read_only
    assert tool.title is not None
    assert tool.title({"path": "a\nb" + "x" * 200}) == "Read a b" + "x" * 96 + "…"
    assert tool.title({"path": 3}) == "Read "
    assert tool.locations is not None
    (tmp_path / "link").symlink_to("real")
    assert [one.path for one in tool.locations({"path": "link"}, tmp_path)] == [str(tmp_path / "real")]
    assert tool.locations({"path": "../.."}, tmp_path) == ()
    assert tool.locations({"path": 3}, tmp_path) == ()


def test_a_cancel_ends_the_reading_of_a_file_that_has_no_end_to_wait_for(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.write(b"line\n" * 2_000)
        file.truncate(1 << 38)

    async def story() -> ToolResult:
        source = CancelSource()
        call = call_context(tmp_path, cancel=source.signal)
        reading = asyncio.create_task(
            call_tool(read_tool(make_ground()), call, path="file", start_line=1_000_000)
        )
        await asyncio.sleep(0)
        source.cancel()
        async with asyncio.timeout(20):
            return await reading

    assert asyncio.run(story()).text == "The call was cancelled."
