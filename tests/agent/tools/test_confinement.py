"""The file tools touch what is below their roots, whatever the path looks like and whoever moves things meanwhile."""

import os
import shutil
import socket
import stat
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.agent.tools.changing import edit_tool, write_tool
from inspan.agent.tools.confinement import Confinement
from inspan.agent.tools.names import show_name, unescape_name
from inspan.agent.tools.problems import ToolProblem
from inspan.agent.tools.reading import read_tool
from support.agent_tools import make_ground, run_tool

SECRET = b"SECRET"


@pytest.fixture
def ground_folder(tmp_path: Path) -> Path:
    """`work` beside `outside`, which holds a secret."""
    (tmp_path / "work" / "sub").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_bytes(SECRET)
    (tmp_path / "work" / "sub" / "plain.txt").write_bytes(b"plain")
    return tmp_path


def read(confinement: Confinement, path: str) -> bytes:
    with confinement.open_regular(confinement.find(path)) as handle:
        return os.read(handle, 100)


@pytest.mark.parametrize(
    "path",
    [
        "../outside/secret.txt",
        "sub/../../outside/secret.txt",
        "{top}/outside/secret.txt",
        "{top}/work/../outside/secret.txt",
        "link.txt",
        "folder/secret.txt",
        "relative/secret.txt",
        "chain/secret.txt",
        "sub/up/outside/secret.txt",
        "missing/../../outside/secret.txt",
        "{top}/workother/secret.txt",
        "/etc/passwd",
        "~/secret.txt",
        "..",
        "/",
    ],
)
def test_no_path_leads_out(ground_folder: Path, path: str) -> None:
    work, outside = ground_folder / "work", ground_folder / "outside"
    (work / "link.txt").symlink_to(outside / "secret.txt")
    (work / "folder").symlink_to(outside)
    (work / "relative").symlink_to("../outside")
    (work / "chain").symlink_to("folder")
    (work / "sub" / "up").symlink_to("../..")
    shutil.copytree(outside, ground_folder / "workother")

    with pytest.raises(ToolProblem, match="out of the workspace"):
        Confinement(work).find(path.format(top=ground_folder))


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "x" * 5000, "\ud800"])
def test_a_path_without_a_meaning_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(ToolProblem):
        Confinement(tmp_path).find(path)


def test_links_that_stay_inside_are_followed(ground_folder: Path) -> None:
    work = ground_folder / "work"
    (work / "link.txt").symlink_to("sub/plain.txt")
    (work / "absolute").symlink_to(work / "sub")

    assert read(Confinement(work), "link.txt") == b"plain"
    assert read(Confinement(work), "absolute/plain.txt") == b"plain"
    assert read(Confinement(work), "sub/../sub/./plain.txt") == b"plain"
    assert read(Confinement(work), str(work / "sub" / "plain.txt")) == b"plain"


def test_a_workspace_that_is_itself_a_link_is_the_folder_behind_it(ground_folder: Path) -> None:
    (ground_folder / "alias").symlink_to("work")

    assert read(Confinement(ground_folder / "alias"), "sub/plain.txt") == b"plain"
    with pytest.raises(ToolProblem):
        Confinement(ground_folder / "alias").find("../outside/secret.txt")


def test_links_in_a_ring_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")

    with pytest.raises(ToolProblem, match="link"):
        read(Confinement(tmp_path), "a")


def test_roots_can_be_added_for_changing_and_for_reading(ground_folder: Path) -> None:
    work, outside = ground_folder / "work", ground_folder / "outside"
    changeable = Confinement(work, [outside])
    readable = Confinement(work, (), [outside])

    assert read(changeable, "../outside/secret.txt") == SECRET
    assert changeable.find(str(outside / "new.txt"), for_writing=True).root == outside
    assert read(readable, str(outside / "secret.txt")) == SECRET
    with pytest.raises(ToolProblem, match="only be read"):
        readable.find(str(outside / "new.txt"), for_writing=True)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    if os.geteuid() == 0:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    else:  # who may make no device finds one through a second root in the test below
        os.mkfifo(path)


@contextmanager
def _listening(path: Path) -> Generator[None]:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        yield


@pytest.mark.parametrize(("kind", "make"), [("pipe", _pipe), ("device|pipe", _device)])
def test_pipes_and_devices_are_refused_before_they_are_opened(
    tmp_path: Path, kind: str, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "special")

    for tool, arguments in (
        (read_tool(make_ground()), {}),
        (write_tool(make_ground()), {"content": "x"}),
        (edit_tool(make_ground()), {"old_text": "a", "new_text": "b"}),
    ):
        result = run_tool(tool, tmp_path, path="special", **arguments)
        assert result.is_error
        assert any(f"is a {word}" in result.text for word in kind.split("|"))


def test_sockets_are_refused(tmp_path: Path) -> None:
    with _listening(tmp_path / "socket"):
        assert "is a socket" in run_tool(read_tool(make_ground()), tmp_path, path="socket").text


def test_devices_and_the_view_of_processes_are_refused_even_where_the_root_is_the_whole_system(
    tmp_path: Path,
) -> None:
    whole = Confinement(tmp_path, [Path("/")])

    with pytest.raises(ToolProblem, match="is a device"):
        read(whole, "/dev/null")
    if Path("/proc/self/environ").exists():
        with pytest.raises(ToolProblem, match="refused"):
            read(whole, f"/proc/{os.getpid()}/environ")
        with pytest.raises(ToolProblem, match="refused"), whole.open_folder(whole.find("/proc")):
            pass


def test_a_change_through_a_hard_link_leaves_the_file_outside_as_it_was(ground_folder: Path) -> None:
    work, outside = ground_folder / "work", ground_folder / "outside"
    os.link(outside / "secret.txt", work / "hard.txt")

    result = run_tool(edit_tool(make_ground()), work, path="hard.txt", old_text="SECRET", new_text="changed")

    assert "1 other hard link" in result.text
    assert (work / "hard.txt").read_bytes() == b"changed"
    assert (outside / "secret.txt").read_bytes() == SECRET


def test_who_swaps_a_folder_for_a_link_meanwhile_gets_nothing_out_and_nothing_changed(
    ground_folder: Path,
) -> None:
    work, outside = ground_folder / "work", ground_folder / "outside"
    (outside / "plain.txt").write_bytes(SECRET)
    (work / "other").symlink_to(outside)
    confinement = Confinement(work)
    stop = threading.Event()

    def put(source: str) -> None:
        while True:
            try:
                os.rename(work / source, work / "sub")
            except OSError:  # the writer made the folder that was missing for a moment
                shutil.rmtree(work / "sub", ignore_errors=True)
            else:
                return

    def swap() -> None:
        while not stop.is_set():
            os.rename(work / "sub", work / "kept")
            put("other")
            os.rename(work / "sub", work / "other")
            put("kept")

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen: set[bytes] = set()
    refused = 0
    try:
        while len(seen) < 1 or refused < 50:
            try:
                seen.add(read(confinement, "sub/plain.txt"))
                place = confinement.find("sub/made.txt", for_writing=True)
                with confinement.open_parent(place, make=True) as (folder, name):
                    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=folder))
            except (
                ToolProblem,
                FileNotFoundError,
            ):  # refused, or the folder that it made was taken away again
                refused += 1
    finally:
        stop.set()
        swapper.join()

    assert seen == {b"plain"}
    assert not (outside / "made.txt").exists()


NAMES = ["a", "b", "link", "out", "deep", "x y", "ü"]
COMPONENT = st.sampled_from([*NAMES, "..", ".", "", "outside", "work", "secret"])
PATH = st.lists(COMPONENT, min_size=1, max_size=7).map("/".join)


@given(
    links=st.lists(
        st.tuples(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3), PATH, st.booleans()), max_size=6
    ),
    path=PATH,
    is_absolute=st.booleans(),
)
def test_whatever_opens_lies_inside_and_whatever_lies_inside_opens(
    links: list[tuple[list[str], str, bool]], path: str, is_absolute: bool
) -> None:
    top = Path(tempfile.mkdtemp(prefix="isp-")).resolve()
    try:
        work, outside = top / "work", top / "outside"
        for folder in (work, outside):
            for inner in ("a", "b", "a/deep", "deep/b"):
                (folder / inner).mkdir(parents=True, exist_ok=True)
                (folder / inner / "secret").write_bytes(SECRET if folder == outside else b"inside")
        for where, target, from_top in links:
            spot = work.joinpath(*where)
            if os.path.isdir(spot.parent) and not os.path.lexists(spot):
                os.symlink(f"{top}/{target}" if from_top else target or ".", spot)
        asked = f"{work}/{path}" if is_absolute else path
        confinement = Confinement(work)
        real = Path(os.path.realpath(work / path))
        is_inside = work == real or work in real.parents

        try:
            content = read(confinement, asked)
        except ToolProblem:
            assert not (path.strip() and is_inside and real.is_file())
        else:
            assert is_inside
            assert content == real.read_bytes() == b"inside"
        run_tool(write_tool(make_ground()), work, path=asked or ".", content="changed")

        for found in outside.rglob("*"):
            assert found.is_dir() or found.read_bytes() == SECRET
        assert sorted(one.name for one in top.iterdir()) == ["outside", "work"]
    finally:
        shutil.rmtree(top)


@given(st.binary(min_size=1, max_size=20).filter(lambda name: not {0, 47} & set(name)))
def test_every_name_is_shown_as_valid_text_and_found_again(name: bytes) -> None:
    top = Path(tempfile.mkdtemp(prefix="isp-")).resolve()
    try:
        decoded = os.fsdecode(name)
        if decoded in {".", ".."} or decoded != decoded.strip():
            return
        (top / decoded).write_bytes(b"x")
        shown = show_name(decoded)

        assert shown.encode().decode() == shown
        assert shown.isprintable()
        if "\\x" not in decoded:
            assert unescape_name(shown) == decoded
            assert read(Confinement(top), shown) == b"x"
    finally:
        shutil.rmtree(top)
