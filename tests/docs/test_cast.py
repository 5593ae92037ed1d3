"""The picture in the README shows a real recording, is drawn from it alone, and is small."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import render_cast
from render_cast import CastError, Recording, draw, lay_out, read_cast, record

ASSETS = Path(__file__).resolve().parents[2] / "docs" / "assets"
CAST, PICTURE = ASSETS / "demo.cast", ASSETS / "demo.svg"
PICTURE_LIMIT_BYTES = 60_000


def recording(*events: tuple[float, str, str], columns: int = 20, rows: int = 3) -> Recording:
    return Recording(command="try", columns=columns, rows=rows, events=events)


def shown(picture: str) -> list[str]:
    """The pieces of text that a picture holds, in order."""
    root = ElementTree.fromstring(picture)  # noqa: S314 - our own
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_the_picture_is_drawn_from_the_recording_and_small() -> None:
    picture = PICTURE.read_text(encoding="utf-8")

    assert picture == draw(read_cast(CAST.read_text(encoding="utf-8")))
    assert len(picture.encode()) < PICTURE_LIMIT_BYTES
    assert "All of it held: nothing was lost, and nothing happened twice." in shown(picture)


def test_what_is_drawn_is_what_was_printed() -> None:
    text = "\x1b[1mhead\x1b[0m\r\n  body & <tail>\r\n" + "x" * 25 + "\r\n"

    assert [
        (run.row, run.column, run.style, run.text) for run in lay_out(recording((0.1, "o", text)))[2:]
    ] == [
        (1, 0, "b", "head"),
        (2, 2, "", "body & <tail>"),
        (3, 0, "", "x" * 20),
        (4, 0, "", "x" * 5),
    ]
    assert "body & <tail>" in shown(draw(recording((0.1, "o", text))))


def test_a_still_picture_holds_what_was_there_at_its_time() -> None:
    events = ((0.0, "o", "one\r\n"), (1.0, "m", "two"), (1.0, "o", "two\r\n"))

    before = render_cast.LEAD_S + 1.0 + render_cast.REST_S - 0.1
    assert shown(draw(recording(*events), at_s=before)) == ["$", "try", "one"]
    assert shown(draw(recording(*events), at_s=before + 0.2)) == ["$", "try", "one", "two"]


@pytest.mark.parametrize("text", ["\x1b[2J", "\x1b[3A", "50 %\r60 %", "\x07", "\x1b[38;5;1m"])
def test_what_cannot_be_drawn_right_is_refused(text: str) -> None:
    with pytest.raises(CastError):
        draw(recording((0.0, "o", text)))


@pytest.mark.parametrize("text", ["", "{}", "not json", '{"version": 3}', '{"version": 2}\n[0.1, "o"]'])
def test_what_is_no_asciicast_is_refused(text: str) -> None:
    with pytest.raises(CastError):
        read_cast(text)


def test_a_command_is_recorded_on_a_terminal_and_reads_back() -> None:
    program = "import sys; print('on a terminal' if sys.stdout.isatty() else 'not'); print('# marked')"

    made = record([sys.executable, "-c", program], shown_as="try", mark="#")

    assert read_cast(render_cast.write_cast(made)) == made
    assert made.command == "try"
    assert "".join(text for _, kind, text in made.events if kind == "o") == "on a terminal\r\n# marked\r\n"
    assert [text for _, kind, text in made.events if kind == "m"] == ["#"]


def test_a_command_that_fails_is_no_recording() -> None:
    with pytest.raises(CastError, match="status 3"):
        record([sys.executable, "-c", "raise SystemExit(3)"])


def test_a_stale_picture_fails_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cast, picture = tmp_path / "a.cast", tmp_path / "a.svg"
    cast.write_text(render_cast.write_cast(recording((0.1, "o", "one\r\n"))), encoding="utf-8")

    assert render_cast.main(["render", str(cast), str(picture)]) == 0
    assert render_cast.main(["render", "--check", str(cast), str(picture)]) == 0
    cast.write_text(render_cast.write_cast(recording((0.1, "o", "two\r\n"))), encoding="utf-8")
    assert render_cast.main(["render", "--check", str(cast), str(picture)]) == 1
    assert "is stale" in capsys.readouterr().err
