"""`inspan start` and `inspan stop`: a seat's harness comes and goes; the seat stays."""

from __future__ import annotations

from .arguments import Namespace, Parser
from .context import Context, at
from .fields import Json, record, records, text
from .output import bold, dim
from .seat import status_label

__all__ = ["build_start", "build_stop"]


def build_start(parser: Parser) -> None:
    """Adds the arguments of `start`."""
    parser.name("seat", "seat", "the seat")
    parser.add_argument("--fresh", action="store_true", help="begin a new conversation instead of resuming")
    parser.add_argument(
        "--session", metavar="ID", help="take up this session of the harness's (see `inspan session list`)"
    )
    parser.set_defaults(run=_start)
    parser.example("inspan start review", "resumes where it left off")
    parser.example("inspan start review --fresh", "begins anew; the old conversation stays with the harness")


def build_stop(parser: Parser) -> None:
    """Adds the arguments of `stop`."""
    parser.name("seat", "seat", "the seat")
    parser.set_defaults(run=_stop)
    parser.example("inspan stop review", "and `inspan start review` goes on later")


def _start(context: Context, args: Namespace) -> int:
    body: Json = {"fresh": args.fresh, **({} if args.session is None else {"session": args.session})}
    seat = record(context.call("POST", at("seats", args.seat, "start"), body=body))
    _tell(context, seat)
    return 0


def _stop(context: Context, args: Namespace) -> int:
    seat = record(context.call("POST", at("seats", args.seat, "stop"), body={}))
    _tell(context, seat)
    return 0


def _tell(context: Context, seat: Json) -> None:
    if context.output.is_json:
        context.output.value(seat)
        return
    context.output.line(bold(text(seat, "name")), "  ", status_label(seat))
    if queue := records(seat, "queue"):
        context.output.line(dim(f"  {len(queue)} prompts in the queue"))
