"""Record a command on a terminal as an asciicast (version 2), and draw such a recording as an animated SVG.

    python tools/render_cast.py record docs/assets/demo.cast -- inspan demo
    python tools/render_cast.py render docs/assets/demo.cast docs/assets/demo.svg

A recording keeps the real output with its real times. Drawing is a pure function of the recording, so that a
test can tell whether the picture is stale. A terminal that scrolls and knows colours is enough for what a
command prints line by line; a program that moves the cursor is refused rather than drawn wrong.

`record --mark PATTERN` puts a marker before each line that begins so. The drawing rests for a moment at every
marker, so that a person can read; all other times are those of the recording.
"""

import argparse
import codecs
import fcntl
import json
import os
import pty
import re
import struct
import sys
import termios
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["CastError", "Recording", "Run", "draw", "lay_out", "main", "read_cast", "record"]

COLUMNS, ROWS = 100, 26
LEAD_S = 0.8  # how long the command line stands alone at the beginning
REST_S = 2.5  # how long the picture rests at a marker
HOLD_S = 6.0  # how long the last screen stands before it begins anew
GRAIN_S = 0.05  # output that comes closer together is drawn at once
CELL_WIDTH, LINE_HEIGHT, FONT_SIZE, MARGIN, BAR_HEIGHT = 8.4, 20, 14, 16, 30

_SEQUENCE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])|([\r\n])|([^\x00-\x1f\x7f]+)")
_COLOURS = {"30": "x", "31": "r", "32": "g", "33": "y", "34": "l", "35": "m", "36": "c", "37": "w"}
_CLASSES = {"1": "b", "2": "d", **_COLOURS}
_STYLE = (
    f"text{{font:{FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}}"
    "text{fill:#d5dbe3}.b{font-weight:700;fill:#fff}.d{fill:#93a0b0}.r{fill:#ff7b72}.g{fill:#56d364}"
    ".y{fill:#e3b341}.l{fill:#79c0ff}.m{fill:#d2a8ff}.c{fill:#76e3ea}.x{fill:#6e7681}.w{fill:#fff}"
)


class CastError(Exception):
    """The recording cannot be read or drawn; the text says where and why."""


@dataclass(frozen=True, kw_only=True)
class Recording:
    """A recording: what was run, the size of its terminal, and what happened when (seconds from its start).

    What happened is output (`o`, with the text) or a marker (`m`, with its label).
    """

    command: str
    columns: int
    rows: int
    events: tuple[tuple[float, str, str], ...]


class Run(NamedTuple):
    """A piece of one line in one style: where it stands, and since when (in grains)."""

    at: int
    row: int
    column: int
    style: str
    text: str


def record(command: Sequence[str], *, shown_as: str = "", mark: str = "") -> Recording:
    """Run a command on a terminal of its own and keep what it prints.

    Args:
        command: The program and its arguments.
        shown_as: The command line that the picture shows; the command itself where empty.
        mark: A pattern: a marker is put before each line that begins so.

    Raises:
        CastError: It ended with another status than 0.
    """
    pid, handle = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        try:
            os.execvpe(command[0], list(command), {**os.environ, "TERM": "xterm-256color"})  # noqa: S606
        finally:
            os._exit(127)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    events: list[tuple[float, str, str]] = []
    began = time.monotonic()
    while data := _read(handle):
        at_s = round(time.monotonic() - began, 3)
        events += _events(at_s, decoder.decode(data), mark)
    _, status = os.waitpid(pid, 0)
    os.close(handle)
    if status != 0:
        raise CastError(f"{command[0]} ended with status {os.waitstatus_to_exitcode(status)}")
    name = shown_as or " ".join(command)
    return Recording(command=name, columns=COLUMNS, rows=ROWS, events=tuple(events))


def write_cast(recording: Recording) -> str:
    """The recording as an asciicast."""
    head = {
        "version": 2,
        "width": recording.columns,
        "height": recording.rows,
        "command": recording.command,
    }
    lines = [head, *recording.events]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def read_cast(text: str) -> Recording:
    """The recording that an asciicast holds.

    Raises:
        CastError: It is none of version 2.
    """
    try:
        head, *lines = (json.loads(line) for line in text.splitlines())
        if head["version"] != 2:
            raise CastError(f"an asciicast of version {head['version']} is not known here")
        events = tuple((float(at), str(kind), str(data)) for at, kind, data in lines)
        return Recording(
            command=str(head.get("command", "")),
            columns=int(head["width"]),
            rows=int(head["height"]),
            events=events,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise CastError(f"this is no asciicast: {error}") from error


def lay_out(recording: Recording) -> list[Run]:
    """Every piece of text on one endless page, in the order in which it was printed.

    Raises:
        CastError: The output moves the cursor, or holds something that this small terminal does not know.
    """
    runs = [Run(0, 0, 0, "g", "$"), Run(0, 0, 2, "b", recording.command)]
    row, column, style = 1, 0, ""
    rested_s = LEAD_S
    for at, kind, text in recording.events:
        if kind != "o":
            rested_s += REST_S if kind == "m" else 0
            continue
        grain = round((at + rested_s) / GRAIN_S)
        place = 0
        while place < len(text):
            found = _SEQUENCE.match(text, place)
            if found is None:
                raise CastError(f"at {at} s: {text[place : place + 12]!r} is not known to this terminal")
            place = found.end()
            numbers, final, control, words = found.groups()
            if control == "\n":
                row, column = row + 1, 0
            elif control == "\r":
                # Only as the first half of an end of line: what would overwrite is not drawn.
                if not text.startswith("\n", place):
                    raise CastError(f"at {at} s: the output goes back to the beginning of a line")
            elif final == "m":
                style = _next_style(style, numbers)
            elif final:
                raise CastError(f"at {at} s: the output moves the cursor ({final})")
            while words:
                if column == recording.columns:
                    row, column = row + 1, 0
                part, words = words[: recording.columns - column], words[recording.columns - column :]
                _add(runs, Run(grain, row, column, style, part))
                column += len(part)
    return runs


def draw(recording: Recording, *, at_s: float | None = None) -> str:
    """The recording as an SVG: animated, or as it looks at one time if `at_s` is given.

    Where nothing is animated, for example because its reader wants no motion, the last screen shows.
    """
    runs = lay_out(recording)
    width = round(recording.columns * CELL_WIDTH + 2 * MARGIN)
    view_height = recording.rows * LINE_HEIGHT
    height = view_height + 2 * MARGIN + BAR_HEIGHT
    if at_s is not None:
        runs = [run for run in runs if run.at <= at_s / GRAIN_S]
    last = max(run.at for run in runs)
    shown: defaultdict[int, list[Run]] = defaultdict(list)
    for run in runs:
        shown[run.at].append(run)
    rules, scroll = _animate(shown, recording.rows, last + round(HOLD_S / GRAIN_S))
    groups = [_group(at, group, is_moving=at_s is None) for at, group in shown.items()]
    style = _STYLE + (rules if at_s is None else "")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" aria-labelledby="t" xml:space="preserve">',
            f'<title id="t">A recording of {escape(recording.command)}</title>',
            f"<style>{style}</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#12161d"/>',
            *(f'<circle cx="{22 + 20 * n}" cy="20" r="6" fill="#3a424e"/>' for n in range(3)),
            f'<svg x="{MARGIN}" y="{MARGIN + BAR_HEIGHT}" width="{width - 2 * MARGIN}" height="{view_height}">',
            f'<g class="s" transform="translate(0 {scroll})">',
            *groups,
            "</g></svg></svg>\n",
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status: 0 done, 1 it could not be done or the picture is stale."""
    options = _parser().parse_args(argv)
    cast: Path = options.cast
    try:
        if options.action == "record":
            recording = record(options.command, shown_as=options.shown_as, mark=options.mark)
            cast.write_text(write_cast(recording), encoding="utf-8")
            return 0
        picture = draw(read_cast(cast.read_text(encoding="utf-8")), at_s=options.at)
        svg: Path = options.svg
        if not options.check:
            svg.write_text(picture, encoding="utf-8")
        elif svg.read_text(encoding="utf-8") != picture:
            print(f"{svg} is stale: run `python tools/render_cast.py render {cast} {svg}`", file=sys.stderr)
            return 1
    except (CastError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    actions = parser.add_subparsers(dest="action", required=True)
    recording = actions.add_parser("record", help="run a command and keep what it prints")
    recording.add_argument("cast", type=Path)
    recording.add_argument("command", nargs="+")
    recording.add_argument("--shown-as", default="", metavar="COMMAND", help="the command line that is shown")
    recording.add_argument("--mark", default="", metavar="PATTERN", help="rest before lines that begin so")
    drawing = actions.add_parser("render", help="draw a recording")
    drawing.add_argument("cast", type=Path)
    drawing.add_argument("svg", type=Path)
    drawing.add_argument("--at", type=float, help="one still picture, at this many seconds")
    drawing.add_argument(
        "--check", action="store_true", help="write nothing; fail where the picture is stale"
    )
    return parser


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 65536)
    except OSError:  # Linux says so at the end of a terminal
        return b""


def _events(at_s: float, text: str, mark: str) -> list[tuple[float, str, str]]:
    """The output as events, with a marker before each line that begins with `mark`."""
    events: list[tuple[float, str, str]] = []
    place = 0
    for found in re.finditer(rf"^(?:\x1b\[[0-9;]*m)*{mark}", text, re.MULTILINE) if mark else ():
        if place < found.start():
            events.append((at_s, "o", text[place : found.start()]))
        place = found.start()
        events.append((at_s, "m", found[0].rpartition("m")[2].strip()))
    return [*events, (at_s, "o", text[place:])] if text[place:] else events


def _next_style(style: str, numbers: str) -> str:
    classes = set(style.split())
    for number in numbers.split(";"):
        if number in ("", "0"):
            classes.clear()
        elif number in _CLASSES:
            classes.add(_CLASSES[number])
        else:
            raise CastError(f"the style {number!r} is not known to this terminal")
    return " ".join(sorted(classes))


def _add(runs: list[Run], run: Run) -> None:
    """Append a run, without the blanks around it, which nobody sees."""
    if text := run.text.strip():
        indent = len(run.text) - len(run.text.lstrip())
        runs.append(run._replace(column=run.column + indent, text=text))


def _animate(shown: dict[int, list[Run]], rows: int, end: int) -> tuple[str, int]:
    """The rules by which pieces appear and the page scrolls, and how far it has scrolled at the end."""
    times: list[str] = []
    steps: list[str] = []
    scroll = 0
    for at, group in shown.items():
        percent = f"{100 * at / end:.2f}".rstrip("0").rstrip(".")
        if at:
            times.append(f"@keyframes k{at}{{0%{{visibility:hidden}}{percent}%{{visibility:visible}}}}")
            times.append(f".k{at}{{animation-name:k{at}}}")
        offset = min(0, rows - 1 - max(run.row for run in group)) * LINE_HEIGHT
        if offset < scroll or not at:
            scroll = offset
            steps.append(f"{percent}%{{transform:translate(0,{scroll}px)}}")
    total_s = end * GRAIN_S
    rules = [
        f".s,.k{{animation-duration:{total_s:.2f}s;animation-timing-function:step-end;animation-iteration-count:infinite}}",
        ".s{animation-name:scroll}",
        *times,
        f"@keyframes scroll{{{''.join(steps)}}}",
        "@media(prefers-reduced-motion:reduce){.s,.k{animation:none}}",
    ]
    return "".join(rules), scroll


def _group(at: int, runs: list[Run], *, is_moving: bool) -> str:
    lines = "".join(_text(run) for run in runs)
    return f'<g class="k k{at}">{lines}</g>' if at and is_moving else f"<g>{lines}</g>"


def _text(run: Run) -> str:
    attributes: dict[str, Any] = {
        "x": f"{run.column * CELL_WIDTH:.1f}".removesuffix(".0"),
        "y": (run.row + 1) * LINE_HEIGHT - 6,
        "textLength": f"{len(run.text) * CELL_WIDTH:.1f}".removesuffix(".0"),
    }
    if run.style:
        attributes["class"] = run.style
    words = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    return f"<text {words}>{escape(run.text, quote=False)}</text>"


if __name__ == "__main__":
    raise SystemExit(main())
