"""`inspan screen`: what a seat's terminal shows, as text."""

from __future__ import annotations

from .arguments import Namespace, Parser
from .context import Context, at
from .fields import record, texts

__all__ = ["build_screen"]


def build_screen(parser: Parser) -> None:
    """Adds the arguments of `screen`."""
    parser.name("seat", "seat", "the seat")
    parser.add_argument(
        "--scrollback", metavar="N", type=int, default=0, help="print so many of the lines above it first"
    )
    parser.set_defaults(run=_screen)
    parser.example("inspan screen review", "what a person who attached would see")
    parser.example("inspan screen review --scrollback 200", "and 200 lines that scrolled out of it")
    parser.example("inspan screen review --json", "with the cursor, the title, the size and the modes")


def _screen(context: Context, args: Namespace) -> int:
    from inspan.model.errors import UsageError

    if args.scrollback < 0:
        raise UsageError(
            "There are no fewer than 0 lines above a screen.", hint="Give --scrollback 0 or more."
        )
    shown = record(context.get(at("seats", args.seat, "screen"), scrollback=args.scrollback))
    if context.output.is_json:
        context.output.value(shown)
        return 0
    lines = [*texts(shown, "scrollback"), *texts(shown, "lines")]
    while lines and not lines[-1].strip():
        lines.pop()
    for line in lines:
        context.output.line(line)
    return 0
