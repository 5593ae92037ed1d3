"""`inspan record`: makes the recordings that a manifest's fixtures need, from a console that a person operates."""

from __future__ import annotations

import getpass
import os
import re
import select
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

from .arguments import Namespace, Parser, seconds
from .context import Context
from .key_chords import KeyChords, chord_of
from .output import dim, warn
from .own_terminal import OwnTerminal
from .recorded import Recorded, RecordedProgram, RecordedSeat, split_command

if TYPE_CHECKING:
    from inspan.conformance.console_recorder import ConsoleRecorder, SavedRecording

__all__ = ["build_record"]

LEAVE_KEYS = "ctrl-\\,ctrl-\\"
LABEL_KEYS = "ctrl-\\,l"
SIZE = "80x24"

_KEYS_BYTES = 32 * 1024
_SIZE = re.compile(r"(\d{1,3})x(\d{1,3})")
_ASK = "label (NAME STATE KIND; empty to go on): "


def build_record(parser: Parser) -> None:
    """Adds the arguments of `record`."""
    parser.name("seat", "seat", "the seat whose console is recorded; else --command", is_optional=True)
    parser.add_argument("--command", metavar="LINE", help="a program to run and record, with its arguments")
    parser.add_argument(
        "--to",
        metavar="FOLDER",
        required=True,
        help="where the set goes, such as HARNESS/recordings/terminal",
    )
    parser.add_argument("--set", metavar="NAME", help="the name of the set (default: the size)")
    parser.add_argument(
        "--size", metavar="COLSxROWS", default=SIZE, help=f"the terminal's size (default: {SIZE})"
    )
    parser.add_argument(
        "--workspace", metavar="DIR", default=".", help="with --command: the folder that it works in"
    )
    parser.add_argument(
        "--label",
        metavar="LABEL",
        help="label the last screen; with --for, no person is needed: NAME=STATE:KIND",
    )
    parser.add_argument("--for", dest="for_s", metavar="S", type=seconds, help="record S seconds and leave")
    parser.add_argument(
        "--hide",
        metavar="WORD",
        action="append",
        default=[],
        help="a further word to neutralise; may be repeated",
    )
    parser.set_defaults(run=_record)
    parser.example(
        "inspan record --command 'acme --model small' --to acme/recordings/terminal",
        "operate it; Ctrl-\\ and l labels what is shown, Ctrl-\\ twice leaves",
    )
    parser.example(
        "inspan record review --to recordings/terminal --set 120x40 --size 120x40", "a seat's console"
    )


def _record(context: Context, args: Namespace) -> int:
    from inspan.conformance.console_recorder import ConsoleRecorder, read_label
    from inspan.conformance.neutralising import find_secrets
    from inspan.model.errors import UsageError

    if bool(args.seat) == bool(args.command):
        raise UsageError("Record a seat or a command.", hint="Name the seat, or give --command 'PROGRAM …'.")
    size = _SIZE.fullmatch(args.size)
    if size is None or not (1 <= int(size[1]) <= 1000 and 1 <= int(size[2]) <= 1000):
        raise UsageError(f"The size {args.size!r} is none.", hint="Give it as COLSxROWS, such as 80x24.")
    columns, rows = int(size[1]), int(size[2])
    last = read_label(args.label) if args.label else None
    folder, name = Path(args.to), args.set or args.size
    if "/" in name or name.startswith("."):
        raise UsageError(f"{name!r} is no name of a set.", hint="Give a name such as 80x24.")
    if (folder / f"{name}.json").exists():
        raise UsageError(
            f"{folder / name}.json is there already.", hint="Give the set another name with --set."
        )
    if args.for_s is None:
        _check_terminal(columns, rows)
    workspace = args.workspace if args.command else str(_workspace(context, args.seat))
    secrets = find_secrets(
        os.environ,
        workspace=os.path.abspath(workspace),
        user=getpass.getuser(),
        host=socket.gethostname(),
        words=args.hide,
    )
    recorder = ConsoleRecorder(columns=columns, rows=rows)
    recorded = _open(context, args, recorder, columns, rows)
    try:
        if args.for_s is None:
            _operate(recorder, recorded)
        else:
            _wait(recorder, recorded, args.for_s)
    finally:
        recorded.close()
    if last is not None:
        recorder.label(*last)
    # Of a seat nobody has the first bytes any more: its recording begins with what we draw.
    saved = recorder.save(folder, name, secrets=secrets, provenance="live" if args.command else "derived")
    _tell(context, saved, is_full=recorder.is_full)
    return 0


def _check_terminal(columns: int, rows: int) -> None:
    from inspan.model.errors import UsageError

    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError(
            "To operate a console takes a terminal.", hint="Give --for S and --label to go without."
        )
    own = os.get_terminal_size(1)
    if own.columns < columns or own.lines < rows:
        raise UsageError(
            f"This terminal has {own.columns}x{own.lines}, which is less than {columns}x{rows}.",
            hint="Make it larger, or record at another --size.",
        )


def _workspace(context: Context, seat: str) -> object:
    return context.seat(seat).get("workspace", ".")


def _open(context: Context, args: Namespace, recorder: ConsoleRecorder, columns: int, rows: int) -> Recorded:
    if args.command:
        from inspan.conformance.console_recorder import ENVIRONMENT

        command = split_command(args.command)
        return RecordedProgram(
            command, workspace=args.workspace, columns=columns, rows=rows, term=ENVIRONMENT
        )
    seat = RecordedSeat(context, args.seat, columns=columns, rows=rows)
    recorder.take(seat.take_buffered())
    return seat


def _wait(recorder: ConsoleRecorder, recorded: Recorded, for_s: float) -> None:
    deadline = time.monotonic() + for_s
    while (left_s := deadline - time.monotonic()) > 0:
        readable, _, _ = select.select([recorded], [], [], left_s)
        if readable and not _take(recorder, recorded, None):
            return


def _operate(recorder: ConsoleRecorder, recorded: Recorded) -> None:
    chords = KeyChords({"leave": chord_of(LEAVE_KEYS), "label": chord_of(LABEL_KEYS)})
    with OwnTerminal() as own:
        own.write(recorder.redraw())
        while True:
            readable, _, _ = select.select([recorded, own.keys, own.resized], [], [])
            if own.resized in readable:
                own.take_resized()
                own.write(recorder.redraw())
            if own.keys in readable:
                typed = os.read(own.keys, _KEYS_BYTES)
                pressed = chords.press(typed)
                if pressed.keys:
                    recorded.type(pressed.keys)
                if pressed.action == "leave" or not typed:
                    return
                if pressed.action == "label":
                    _label(recorder, own)
            if recorded in readable and not _take(recorder, recorded, own):
                return


def _take(recorder: ConsoleRecorder, recorded: Recorded, own: OwnTerminal | None) -> bool:
    data = recorded.read()
    if data:
        answer, shown = recorder.take(data)
        if answer and recorded.wants_answers:
            recorded.type(answer)
        if own is not None:
            own.write(shown)
    return data is not None


def _label(recorder: ConsoleRecorder, own: OwnTerminal) -> None:
    """Asks what is shown now. Nothing of the program is read meanwhile, so that the place is that of the key."""
    from inspan.conformance.console_recorder import read_label
    from inspan.model.errors import UsageError

    words, said = "", _ASK
    while True:
        _, rows = own.size()
        own.write(f"\x1b[{rows};1H\x1b[0;7m\x1b[2K{said}{words}\x1b[0m".encode())
        typed = os.read(own.keys, 256).decode("utf-8", "ignore")
        if not typed or "\x1b" in typed or "\x03" in typed:
            break
        for character in typed:
            if character in "\x7f\b":
                words = words[:-1]
            elif character.isprintable():
                words += character
        if "\r" in typed or "\n" in typed:
            if not words.strip():
                break
            try:
                recorder.label(*read_label(words))
                break
            except UsageError as error:
                words, said = "", f"{error.message} {_ASK}"
    own.write(recorder.redraw())


def _tell(context: Context, saved: SavedRecording, *, is_full: bool) -> None:
    output = context.output
    if output.is_json:
        output.value(
            {
                "set": str(saved.set_file),
                "stream": str(saved.stream_file),
                "states": list(saved.states),
                "size_bytes": saved.size_bytes,
                "left": list(saved.left),
            }
        )
        return
    output.line(f"{saved.set_file}  ", dim(f"{', '.join(saved.states)}; {saved.size_bytes} bytes"))
    if is_full:
        output.remark(warn("warning: "), "the recording became too long; its end is missing")
    for one in saved.left:
        output.remark(warn("warning: "), "perhaps a secret is left: ", one)
    output.remark("  next: look through it before you share it, then `inspan harness lint`")
