"""`inspan attach`: a seat's console as it is, on this terminal."""

from __future__ import annotations

import os
import signal
import sys

from .arguments import Namespace, Parser
from .attachment import Attachment, Ending
from .context import Context
from .key_chords import Chord, KeyChords, chord_of, words_of
from .output import dim
from .own_terminal import OwnTerminal, Signalled

__all__ = ["build_attach"]

DETACH_KEYS = "ctrl-\\,ctrl-\\"
SCROLL_KEYS = "ctrl-\\,s"
DETACH_VARIABLE = "INSPAN_DETACH_KEYS"

_CTRL_C = 3


def build_attach(parser: Parser) -> None:
    """Adds the arguments of `attach`."""
    parser.name("seat", "seat", "the seat")
    parser.add_argument(
        "--watch", action="store_true", help="look on: nothing is typed, and the size stays as it is"
    )
    parser.add_argument("--steal", action="store_true", help="take the keyboard from who has it")
    parser.add_argument(
        "--detach-keys",
        metavar="KEYS",
        help=f"what leaves and lets the harness run on (default: {DETACH_VARIABLE}, else {DETACH_KEYS})",
    )
    parser.add_argument(
        "--scroll-keys",
        metavar="KEYS",
        default=SCROLL_KEYS,
        help=f"what shows the lines above the screen (default: {SCROLL_KEYS})",
    )
    parser.set_defaults(run=_attach)
    parser.example("inspan attach review", "press Ctrl-\\ twice to leave; its harness runs on")
    parser.example("inspan attach review --watch", "look on; Ctrl-C leaves too")
    parser.example("inspan attach review --detach-keys ctrl-],d", "leave with Ctrl-] and then d")


def _attach(context: Context, args: Namespace) -> int:
    from inspan.model.errors import UsageError

    chosen = args.detach_keys or os.environ.get(DETACH_VARIABLE) or DETACH_KEYS
    named: dict[str, Chord] = {"detach": chord_of(chosen), "scroll": chord_of(args.scroll_keys)}
    if args.watch and args.steal:
        raise UsageError("Who looks on has no keyboard to take.", hint="Give --watch or --steal.")
    if args.watch:
        named["leave"] = (_CTRL_C,)
    chords = KeyChords(named)
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError(
            "To attach takes a terminal.", hint=f"`inspan screen {args.seat}` prints what is shown."
        )
    try:
        ending = _lend(context, args, chords, leave=words_of(named["detach"]))
    except Signalled as signalled:
        # The terminal was given back; the signal does what it was sent for.
        signal.signal(signalled.number, signal.SIG_DFL)
        os.kill(os.getpid(), signalled.number)
        return 128 + signalled.number
    _tell(context, args.seat, ending)
    return ending.status


def _lend(context: Context, args: Namespace, chords: KeyChords, *, leave: str) -> Ending:
    attachment = Attachment(context, args.seat, writes=not args.watch, steals=args.steal)
    try:
        if not context.output.is_json:
            _greet(context, args, leave)
        sys.stdout.flush()
        with OwnTerminal() as own:
            return attachment.run(own, chords)
    finally:
        attachment.close()


def _greet(context: Context, args: Namespace, leave: str) -> None:
    context.output.remark(
        dim(f"attached to {args.seat}{', looking on' if args.watch else ''}; {leave} leaves")
    )


def _tell(context: Context, seat: str, ending: Ending) -> None:
    if context.output.is_json:
        value = {"seat": seat, "ended": ending.why, "message": ending.said, "launch": ending.launch or None}
        context.output.value(value)
        return
    context.output.remark(ending.said)
    context.output.remark("  next: ", ending.hint)
