"""`inspan keys`: keys pressed in a console by name, for a reason that is recorded first."""

from __future__ import annotations

from .arguments import Namespace, Parser
from .context import Context, at
from .exits import Exit
from .fields import record, text

__all__ = ["build_keys"]


def build_keys(parser: Parser) -> None:
    """Adds the arguments of `keys`."""
    parser.name("seat", "seat", "the seat")
    parser.add_argument(
        "keys",
        metavar="KEY",
        nargs="+",
        help="enter, escape, tab, space, backspace, up, down, left, right, ctrl-X, or one character",
    )
    parser.add_argument(
        "--reason",
        metavar="WHY",
        required=True,
        help="why, for the log; it is recorded before a key is pressed",
    )
    parser.set_defaults(run=_press)
    parser.example('inspan keys review escape --reason "it hangs in a menu"', "presses Esc once")
    parser.example("inspan keys review down down enter --reason ...", "presses three keys, as one write")


def _press(context: Context, args: Namespace) -> int:
    body = {"keys": args.keys, "reason": args.reason}
    seat = record(context.call("POST", at("seats", args.seat, "keys"), body=body))
    if context.output.is_json:
        context.output.value(seat)
    else:
        context.output.line(f"pressed in {text(seat, 'name')}: {' '.join(args.keys)}")
        context.output.remark("  next: ", f"`inspan screen {args.seat}` shows what came of it.")
    return Exit.OK
