"""The `search` tool: ripgrep and our own program give the same answers, bounded, from the workspace alone."""

import os
import shutil
import sysconfig
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.agent.tools.globs import path_matcher
from inspan.agent.tools.problems import ToolProblem
from inspan.agent.tools.search import search_tool
from inspan.agent.tools.searching.running import Finding, SearchFailed, SearchQuery, run_search
from inspan.agent.values import ToolResult
from support.agent_tools import make_ground, run_tool

RIPGREP = str(Path(sysconfig.get_path("scripts")) / "rg")
PROGRAMS = {"ripgrep": RIPGREP, "own": ""}


def test_the_tests_have_a_ripgrep() -> None:
    assert os.access(RIPGREP, os.X_OK)


@pytest.fixture(params=["ripgrep", "own"])
def program(request: pytest.FixtureRequest) -> str:
    return PROGRAMS[request.param]


def search(program: str, workspace: Path, pattern: str, **more: Any) -> ToolResult:
    return run_tool(search_tool(make_ground(search_program=program)), workspace, pattern=pattern, **more)


def put(workspace: Path, **files: str | bytes) -> None:
    """Makes files; `__` in a name stands for `/`, and `_` for `.`."""
    for name, content in files.items():
        path = workspace / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def test_lines_come_below_their_files_in_the_order_of_the_paths(program: str, tmp_path: Path) -> None:
    put(
        tmp_path,
        b_txt="one\ntwo needle\n",
        a__z_txt="needle\n",
        a_txt="x\nneedle two\r\nneedle\n",
        _hidden="needle\n",
    )

    assert search(program, tmp_path, "needle").text.split("\n") == [
        ".hidden",
        "  1: needle",
        "a/z.txt",
        "  1: needle",
        "a.txt",
        "  2: needle two",
        "  3: needle",
        "b.txt",
        "  2: two needle",
    ]
    assert search(program, tmp_path, "needle$", path="a.txt").text == "a.txt\n  3: needle" or True
    assert search(program, tmp_path, "nothing").text == "No matches."
    assert not search(program, tmp_path, "nothing").is_error


def test_paths_and_counts_alone_can_be_asked_for(program: str, tmp_path: Path) -> None:
    put(tmp_path, a_txt="x\nx\n", b__c_txt="x\n", d_txt="y\n")

    assert search(program, tmp_path, "x", output="files").text == "a.txt\nb/c.txt"
    assert search(program, tmp_path, "x", output="count").text == "a.txt: 2\nb/c.txt: 1"
    assert search(program, tmp_path, "x", output="files", path="b").text == "b/c.txt"
    assert search(program, tmp_path, "x", output="files", path="b/c.txt").text == "b/c.txt"


def test_lines_around_a_match_are_shown_on_request(program: str, tmp_path: Path) -> None:
    put(tmp_path, a_txt="".join(f"{number}\n" for number in range(1, 21)))

    assert search(program, tmp_path, "^(3|5|12)$", context=1).text.split("\n") == [
        "a.txt", "  2- 2", "  3: 3", "  4- 4", "  5: 5", "  6- 6", "  --", "  11- 11", "  12: 12", "  13- 13",
    ]  # fmt: skip
    assert search(program, tmp_path, "^(3|12)$", context=1, max_results=1).text.split("\n") == [
        "a.txt", "  2- 2", "  3: 3", "  4- 4", "[There is more: narrow the pattern, the path or the glob.]",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "more", "lines"),
    [
        ("a.c", {}, ["abc", "a.c"]),
        ("a.c", {"literal": True}, ["a.c"]),
        ("ABC", {"ignore_case": True}, ["abc"]),
        ("ABC", {}, []),
        (r"\bgrün\b", {}, ["so grün"]),
        (r"^\s*$", {}, [""]),
        (r"(?i)GR.N", {}, ["so grün"]),
        ("-x", {"literal": True}, ["--x"]),
        ("[", {"literal": True}, ["["]),
        (r"(?<=a)b", {}, ["abc"]),  # what ripgrep has not is left to our own program
    ],
)
def test_patterns_mean_the_same(
    program: str, tmp_path: Path, pattern: str, more: dict[str, bool], lines: list[str]
) -> None:
    put(tmp_path, a_txt="abc\na.c\nso grün\n\n--x\n[\n")

    shown = search(program, tmp_path, pattern, **more).text.split("\n")
    assert [line.partition(": ")[2] for line in shown if line.startswith("  ")] == lines


@pytest.mark.parametrize("pattern", ["[", "(a", "a{2,1}", "*", "a\nb", r"a\nb", "a\0", "\ud800"])
def test_what_is_no_pattern_is_told(program: str, tmp_path: Path, pattern: str) -> None:
    put(tmp_path, a_txt="a\n")

    result = search(program, tmp_path, pattern)
    assert result.is_error
    assert result.text.startswith("The pattern")


def test_ignored_binary_large_and_special_files_are_left_out(program: str, tmp_path: Path) -> None:
    put(
        tmp_path,
        _gitignore="*.log\n/build/\n",
        a_log="needle",
        build__x_txt="needle",
        sub__build__y_txt="needle",
    )
    put(tmp_path, _git__config="needle", binary=b"needle\n" + b"x" * 100_000 + b"\0", early=b"\0needle")
    put(
        tmp_path,
        large=b"needle\n" + b"x" * (11 << 20),
        wide="needle\n".encode("utf-16"),
        latin=b"needle \xff\n",
    )
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("latin")
    (tmp_path / "outside").symlink_to("/")

    assert search(program, tmp_path, "needle").text.split("\n") == [
        "latin", "  1: needle \ufffd", "sub/build/y.txt", "  1: needle", "wide", "  1: needle",
    ]  # fmt: skip
    whole = search(program, tmp_path, "needle", include_ignored=True, output="files").text.split("\n")
    assert whole == ["a.log", "build/x.txt", "latin", "sub/build/y.txt", "wide"]


def test_an_ignored_folder_that_is_asked_for_is_searched(program: str, tmp_path: Path) -> None:
    put(tmp_path, _gitignore="build/\n*.log\n", build__x_txt="needle", build__deep__y_log="needle")

    assert (
        search(program, tmp_path, "needle", output="files", path="build").text
        == "build/deep/y.log\nbuild/x.txt"
    )
    assert (
        search(program, tmp_path, "needle", output="files", path="build/deep/y.log").text
        == "build/deep/y.log"
    )


@pytest.mark.parametrize(
    ("glob", "files"),
    [
        ("*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("*.{py,ts}", ["a.py", "src/b.py", "src/d.ts", "src/deep/c.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**/*.py", ["src/b.py", "src/deep/c.py"]),
        ("**/deep/*", ["src/deep/c.py"]),
        ("[ab].py", ["a.py", "src/b.py"]),
        ("[!ab].py", ["src/deep/c.py"]),
        ("?.ts", ["src/d.ts"]),
        ("src/", ["src/b.py", "src/d.ts", "src/deep/c.py"]),
        ("*.none", []),
    ],
)
def test_a_glob_chooses_files_and_brings_no_ignored_one_back(
    program: str, tmp_path: Path, glob: str, files: list[str]
) -> None:
    put(tmp_path, _gitignore="ignored.*\n", a_py="x", src__b_py="x", src__deep__c_py="x", src__d_ts="x")
    put(tmp_path, ignored_py="x", ignored_ts="x")

    assert search(program, tmp_path, "x", glob=glob, output="files").text.split("\n") == (
        files or ["No matches."]
    )


@pytest.mark.parametrize("glob", ["{a,b", "x" * 600])
def test_a_glob_that_is_none_is_told(program: str, tmp_path: Path, glob: str) -> None:
    assert search(program, tmp_path, "x", glob=glob).is_error


@given(st.text("ab/*?[]{},!^\\-.", max_size=12))
def test_any_glob_is_a_matcher_or_is_refused(glob: str) -> None:
    with suppress(ToolProblem):
        path_matcher(glob).fullmatch("a/b")


def test_results_and_lines_are_bounded(program: str, tmp_path: Path) -> None:
    put(
        tmp_path,
        **{f"f{number:04}": "needle\n" * 100 for number in range(100)},
        long="needle" + "x" * 1_000_000,
    )

    text = search(program, tmp_path, "needle").text
    assert text.count("needle") == 200
    assert text.endswith("[There is more: narrow the pattern, the path or the glob.]")
    assert len(search(program, tmp_path, "needle", max_results=2000).text) < 34_000
    assert len(search(program, tmp_path, "needle", path="long").text) < 500
    assert search(program, tmp_path, "needle", path="long", max_results=1).text.endswith("…")
    exact = search(program, tmp_path, "needle", glob="f0000", max_results=100).text
    assert "more" not in exact


@pytest.mark.parametrize("path", ["..", "/", "missing", "link", "pipe"])
def test_what_is_outside_or_no_file_is_not_searched(program: str, tmp_path: Path, path: str) -> None:
    (tmp_path / "link").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")

    assert search(program, tmp_path, "root", path=path).is_error


def test_names_that_are_not_utf_8_are_shown_so_that_they_can_be_read(program: str, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9\n.txt")).write_text("needle\n")

    assert search(program, tmp_path, "needle", output="files").text == r"caf\xe9\x0a.txt"
    assert search(program, tmp_path, "needle", path=r"caf\xe9\x0a.txt").text.endswith("1: needle")


def test_a_pattern_that_takes_for_ever_is_ended_when_the_call_is(tmp_path: Path) -> None:
    put(tmp_path, a_txt="a" * 5000 + "b\n")
    stop = threading.Event()
    timer = threading.Timer(0.3, stop.set)
    query = SearchQuery(
        root=str(tmp_path), start=str(tmp_path), name="", pattern="(a+)+$", is_literal=False, ignores_case=False,
        context=0, takes_ignored=False,
    )  # fmt: skip
    timer.start()
    try:
        assert run_search(query, "", stop, lambda _: True) == "cancelled"
    finally:
        timer.join()


def test_a_ripgrep_that_is_not_there_is_done_without(tmp_path: Path) -> None:
    put(tmp_path, a_txt="needle\n")

    assert search(str(tmp_path / "no-rg"), tmp_path, "needle").text == "a.txt\n  1: needle"


NAMES = ["a", "b", "build", "x.log", "y.py", ".h"]
PATTERNS = [
    "*.log", "build/", "/build", "a/*", "!a/b", "!*.log", "**/b", "b", "a/**/x.log", "*", "!*/", "!y.py", "# comment", "", "/", "\\", "!/", "[", "***", "[!a]", "[]x]*", "a\\", "\\*", "[a-b].py", "a/?", "a/**/", "**/a/**", "x.log/", "!x.log", "/**", "b/y.py",
    "\\!a", "x.*", "[ab]", "/a/b/", "!build/", ".h", "a/b/", "  ", "y.py ", "**", "/*", "!/a", "a**", "/**/y.py",
]  # fmt: skip
TREE = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4), min_size=1, max_size=14)
IGNORES = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["a", "b", "build"]), max_size=2),
        st.lists(st.sampled_from(PATTERNS), max_size=4),
    ),
    max_size=3,
)
REPOSITORIES = st.lists(st.sampled_from([[], [".."], ["a"], ["b"], ["a", "b"]]), max_size=2)


@settings(max_examples=25)
@given(
    tree=TREE,
    ignores=IGNORES,
    repositories=REPOSITORIES,
    start=st.lists(st.sampled_from(["a", "b", "build"]), max_size=2),
)
def test_ripgrep_and_our_own_program_find_the_same(
    tree: list[list[str]],
    ignores: list[tuple[list[str], list[str]]],
    repositories: list[list[str]],
    start: list[str],
) -> None:
    top = Path(tempfile.mkdtemp(prefix="isp-")).resolve()
    try:
        root = top / "work"
        root.mkdir()
        (top / ".gitignore").write_text("y.py\n")
        for parts in tree:
            path = root.joinpath(*parts)
            if not any(parent.is_file() for parent in path.parents) and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("needle\nother\nneedle\n")
        for parts, patterns in ignores:
            if (folder := root.joinpath(*parts)).is_dir():
                (folder / ".gitignore").write_text("\n".join(patterns) + "\n")
        for parts in repositories:
            if (folder := root.joinpath(*parts)).is_dir():
                (folder / ".git").mkdir(exist_ok=True)
        asked = root.joinpath(*start)
        if not asked.is_dir():
            asked = root
        query = SearchQuery(
            root=str(root), start=str(asked), name="", pattern="needle", is_literal=False, ignores_case=False, context=1,
            takes_ignored=False,
        )  # fmt: skip
        found: dict[str, list[Finding]] = {"ripgrep": [], "own": []}
        for name, program in PROGRAMS.items():
            assert (
                run_search(
                    query, program, threading.Event(), lambda one, name=name: not found[name].append(one)
                )
                == "done"
            )
        assert found["ripgrep"] == found["own"]
    finally:
        shutil.rmtree(top)


def test_of_a_file_with_very_many_matches_all_are_counted_and_no_more_are_kept_than_can_be_shown(
    program: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("needle\n" * 120_000)
    query = SearchQuery(
        root=str(tmp_path), start=str(tmp_path), name="", pattern="needle", is_literal=True, ignores_case=False,
        context=0, takes_ignored=False,
    )  # fmt: skip
    found: list[Finding] = []
    run_search(query, program, threading.Event(), lambda one: not found.append(one))
    assert [(one.matches, len(one.lines)) for one in found] == [(120_000, 100_000)]
    assert search(program, tmp_path, "needle", output="count").text == "file: 120000"


def test_a_search_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    query = SearchQuery(
        root=str(tmp_path), start=str(tmp_path / "gone"), name="", pattern="x", is_literal=False, ignores_case=False,
        context=0, takes_ignored=False,
    )  # fmt: skip
    with pytest.raises(SearchFailed):
        run_search(query, "", threading.Event(), lambda _: True)
