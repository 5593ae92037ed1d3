"""One suite for both emulators: what a screen shows after what was written to it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec
import pytest

from inspan.model.errors import UsageError
from inspan.transports.terminal.opening import Engine, load_engine, open_screen
from inspan.transports.terminal.screen import ScreenSize, Snapshot

SIZE = ScreenSize(rows=6, columns=20)
ENGINES: tuple[Engine, ...] = ("ghostty", "avt")


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """What is written, and what must be seen: rows from the top, cursor as (row, column), or a further check."""

    name: str
    written: str | bytes
    rows: tuple[str, ...] = ()
    cursor: tuple[int, int] | None = None
    seen: Callable[[Snapshot], bool] | None = None
    avt: bool = True
    """Whether the second emulator passes it too."""


def has_mode(number: int) -> Callable[[Snapshot], bool]:
    return lambda snapshot: snapshot.modes is not None and number in snapshot.modes


def lacks_mode(number: int) -> Callable[[Snapshot], bool]:
    return lambda snapshot: snapshot.modes is not None and number not in snapshot.modes


CASES = (
    Case(name="plain text", written="abc", rows=("abc",), cursor=(0, 3)),
    Case(name="wide characters take two cells", written="界面!", rows=("界面!",), cursor=(0, 5)),
    Case(name="half of a wide character is overwritten", written="界面\x1b[1;2Hx", rows=(" x面",)),
    Case(name="a cell is deleted out of a wide one", written="界面\x1b[1;2H\x1b[1P\x1b[1;3Hq", cursor=(0, 3)),
    Case(name="an emoji takes two cells", written="🚀!", rows=("🚀!",), cursor=(0, 3)),
    Case(name="a wide character wraps whole", written="." * 19 + "界", rows=("." * 19, "界")),
    Case(
        name="a combining mark stays with its letter",
        written="n\u0303!",
        rows=("n\u0303!",),
        cursor=(0, 2),
        avt=False,
    ),
    Case(
        name="a variation selector is kept",
        written="⚠\ufe0f!",
        seen=lambda s: s.lines[0][0] == "⚠" and s.lines[0].endswith("!") and s.cursor.column in (2, 3),
    ),
    Case(
        name="clusters: a variation selector widens (2027)",
        written="\x1b[?2027h⚠\ufe0f!",
        cursor=(0, 3),
    ),
    Case(
        name="clusters: joined emoji are one (2027)",
        written="\x1b[?2027h👩\u200d🚀!",
        rows=("👩\u200d🚀!",),
        cursor=(0, 3),
        avt=False,
    ),
    Case(
        name="clusters: a flag is one (2027)",
        written="\x1b[?2027h🇨🇭!",
        rows=("🇨🇭!",),
        cursor=(0, 3),
    ),
    Case(
        name="the main screen comes back with its cursor",
        written="kept\x1b[?1049hother\x1b[?1049l",
        rows=("kept",),
        cursor=(0, 4),
    ),
    Case(
        name="the alternate screen begins empty",
        written="\x1b[?1049hold\x1b[?1049l\x1b[?1049h",
        seen=lambda s: not any("old" in line for line in s.lines),
    ),
    Case(
        name="the alternate screen is told",
        written="\x1b[?1049h",
        seen=lambda s: s.is_alternate is True,
        avt=False,
    ),
    Case(
        name="the main screen is told",
        written="\x1b[?1049h\x1b[?1049l",
        seen=lambda s: s.is_alternate is False,
        avt=False,
    ),
    Case(name="bracketed paste is told", written="\x1b[?2004h", seen=has_mode(2004), avt=False),
    Case(name="its end is told", written="\x1b[?2004h\x1b[?2004l", seen=lacks_mode(2004), avt=False),
    Case(name="mode 1049 is told", written="\x1b[?1049h", seen=has_mode(1049), avt=False),
    Case(
        name="a synchronized update is told",
        written="\x1b[?2026hhalf",
        rows=("half",),
        seen=lambda s: s.is_held,
        avt=False,
    ),
    Case(
        name="after a synchronized update all is shown",
        written="\x1b[?2026hab\x1b[?2026lc",
        rows=("abc",),
        seen=lambda s: not s.is_held,
    ),
    Case(name="colours with colons", written="\x1b[38:2::9:8:7mX\x1b[4:3mY\x1b[m", rows=("XY",)),
    Case(name="the colour of an underline", written="\x1b[58;5;9mX\x1b[59mY", rows=("XY",)),
    Case(
        name="a link's address is not shown", written="\x1b]8;;file:///x\x1b\\L\x1b]8;;\x1b\\M", rows=("LM",)
    ),
    Case(
        name="marks and notifications are not shown",
        written="\x1b]133;A\x07\x1b]9;hey\x07\x1b]9;4;1;7\x07\x1b]777;notify;t;b\x07P",
        rows=("P",),
    ),
    Case(
        name="strings of other protocols are swallowed",
        written="\x1b_Gi=7;QUJD\x1b\\\x1bP+q544e\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\Q",
        rows=("Q",),
    ),
    Case(name="the keyboard protocol is not shown", written="\x1b[>5u\x1b[?u\x1b[<uZ", rows=("Z",)),
    Case(name="modifyOtherKeys is not shown", written="\x1b[>4;2mZ", rows=("Z",)),
    Case(name="questions are not shown", written="\x1b[>0q\x1b[c\x1b[?2026$pZ", rows=("Z",)),
    Case(
        name="the status protocol is not shown",
        written="\x1b]7501;?\x1b\\\x1b]7501;state=idle\x07Z",
        rows=("Z",),
    ),
    Case(name="a character is repeated", written="o\x1b[4b", rows=("ooooo",)),
    Case(
        name="a region scrolls alone",
        written="1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\n",
        rows=("1", "3", "", "4"),
    ),
    Case(
        name="lines are inserted and deleted",
        written="1\r\n2\r\n3\x1b[2H\x1b[L\x1b[H\x1b[M",
        rows=("", "2", "3"),
    ),
    Case(
        name="cells are inserted, deleted and erased",
        written="abcdef\x1b[1;2H\x1b[@\x1b[1;4H\x1b[P\x1b[1;5H\x1b[X",
        rows=("a bd f",),
    ),
    Case(name="a full row does not wrap by itself", written="x" * 20 + "\r\ny", rows=("x" * 20, "y")),
    Case(name="line drawing", written="\x1b(0lqk\x1b(B", rows=("┌─┐",)),
    Case(name="the cursor is saved and restored", written="ab\x1b[sXX\x1b[uc", rows=("abcX",)),
    Case(name="the screen is erased with its history", written="abc\x1b[2J\x1b[3J\x1b[H", rows=("",)),
    Case(name="the cursor's shape is not shown", written="\x1b[5 qZ", rows=("Z",)),
    Case(name="a full reset empties the screen", written="abc\x1bcZ", rows=("Z",)),
    Case(name="blank rows above stay", written="\x1b[3;1HX", rows=("", "", "X"), cursor=(2, 1)),
    Case(
        name="bytes that are no text are shown as one sign",
        written=b"a\xffb",
        seen=lambda s: s.lines[0].startswith("a") and s.lines[0].endswith("b") and len(s.lines[0]) == 3,
    ),
    Case(name="a hidden cursor is told", written="\x1b[?25l", seen=lambda s: not s.cursor.is_visible),
    Case(name="a shown cursor is told", written="\x1b[?25l\x1b[?25h", seen=lambda s: s.cursor.is_visible),
    Case(
        name="a title is told",
        written="\x1b]2;⠋ at work\x07",
        seen=lambda s: s.title == "⠋ at work",
        avt=False,
    ),
    Case(
        name="a title loses what cannot be seen",
        written="\x1b]0;a\u202eb\u200bc\x1b\\",
        seen=lambda s: s.title == "abc",
        avt=False,
    ),
    Case(
        name="progress is told",
        written="\x1b]9;4;1;40\x07",
        seen=lambda s: _progress(s) == ("set", 40),
        avt=False,
    ),
    Case(
        name="progress without a number is told",
        written="\x1b]9;4;3\x07",
        seen=lambda s: _progress(s) == ("indeterminate", None),
        avt=False,
    ),
    Case(
        name="the end of progress is told",
        written="\x1b]9;4;1;40\x07\x1b]9;4;0\x07",
        seen=lambda s: _progress(s) == ("remove", None),
        avt=False,
    ),
    Case(name="bells are counted", written="\x07a\x07", rows=("a",), seen=lambda s: s.bells == 2, avt=False),
    Case(
        name="a bell that ends a string does not ring",
        written="\x1b]0;t\x07",
        seen=lambda s: s.bells == 0,
        avt=False,
    ),
    Case(name="keyboard flags are told", written="\x1b[>7u", seen=lambda s: s.keyboard_flags == 7, avt=False),
)


def _progress(snapshot: Snapshot) -> tuple[str, int | None] | None:
    return None if snapshot.progress is None else (snapshot.progress.state, snapshot.progress.percent)


def _holds(case: Case, snapshot: Snapshot) -> bool:
    return (
        snapshot.lines[: len(case.rows)] == case.rows
        and (case.cursor is None or (snapshot.cursor.row, snapshot.cursor.column) == case.cursor)
        and (case.seen is None or case.seen(snapshot))
        and len(snapshot.lines) == SIZE.rows
    )


def _bytes(case: Case) -> bytes:
    return case.written if isinstance(case.written, bytes) else case.written.encode()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_screen_shows_what_a_terminal_shows(case: Case, engine: Engine) -> None:
    screen = open_screen(SIZE, engine=engine)
    screen.feed(_bytes(case))
    expected = engine == "ghostty" or case.avt
    assert _holds(case, screen.snapshot()) is expected, screen.snapshot()
    screen.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("engine", ENGINES)
def test_bytes_one_by_one_show_the_same(case: Case, engine: Engine) -> None:
    whole, pieces = open_screen(SIZE, engine=engine), open_screen(SIZE, engine=engine)
    whole.feed(_bytes(case))
    for byte in _bytes(case):
        pieces.feed(bytes([byte]))
    assert msgspec.structs.replace(pieces.snapshot(), revision=0) == msgspec.structs.replace(
        whole.snapshot(), revision=0
    )
    whole.close()
    pieces.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_screen_of_one_cell_comes_back_to_its_size(engine: Engine) -> None:
    screen = open_screen(SIZE, engine=engine)
    screen.feed(b"first\r\nsecond")
    screen.resize(ScreenSize(rows=1, columns=1))
    screen.feed("界面\x1b[?1049h\x1b[5;5Hx\x1b[?1049l".encode())
    assert len(screen.snapshot().lines) == 1
    screen.resize(SIZE)
    screen.feed(b"\x1b[2J\x1b[Hagain")
    assert screen.snapshot().lines == ("again", "", "", "", "", "")
    screen.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_look_at_an_unchanged_screen_is_the_same_look(engine: Engine) -> None:
    screen = open_screen(SIZE, engine=engine)
    screen.feed(b"x")
    seen = screen.snapshot()
    assert screen.snapshot() is seen
    screen.feed(b"y")
    assert screen.snapshot().lines[0] == "xy"
    assert seen.lines[0] == "x"
    screen.close()


@pytest.mark.parametrize(
    ("rows", "columns"), [(0, 80), (24, 0), (-1, 80), (1001, 80), (24, 1001), (1000, 1000)]
)
def test_a_size_that_no_screen_can_have_is_refused(rows: int, columns: int) -> None:
    with pytest.raises(UsageError):
        ScreenSize(rows=rows, columns=columns)


def test_a_screen_is_closed_twice_without_harm() -> None:
    for engine in ENGINES:
        screen = open_screen(SIZE, engine=engine)
        screen.close()
        screen.close()


def test_rows_of_long_clusters_are_read_whole() -> None:
    screen = open_screen(ScreenSize(rows=2, columns=10))
    cluster = "a" + "\u0301" * 200
    screen.feed(("\x1b[?2027h" + cluster * 10).encode())
    assert screen.snapshot().lines[0].count("a") == 10
    screen.close()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [SIZE, ScreenSize(rows=50, columns=200), ScreenSize(rows=24, columns=80)])
def test_as_many_rows_are_kept_as_were_asked_for(engine: Engine, size: ScreenSize) -> None:
    screen = open_screen(size, engine=engine, scrollback_lines=1000)
    for number in range(4000):
        screen.feed(b"line %d\r\n" % number)
        if number % 500 == 499 and number > 1000:
            rows = screen.scrollback(1000)
            newest = number - size.rows + 1
            assert rows == tuple(f"line {one}" for one in range(newest - 999, newest + 1))
    screen.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_an_emulator_is_loaded_on_another_thread_while_screens_are_open(engine: Engine) -> None:
    screen = open_screen(SIZE, engine=engine)
    thread = threading.Thread(target=load_engine, args=(engine,))
    thread.start()
    screen.feed(b"shown")
    thread.join()
    assert screen.snapshot().lines[0] == "shown"
    screen.close()
