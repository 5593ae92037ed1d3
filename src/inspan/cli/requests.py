"""`inspan requests` and `inspan handoff`: what somebody wants done, across attempts and seats."""

from __future__ import annotations

from .arguments import Namespace, Parser
from .context import Context, at
from .fields import Json, record, records, text
from .output import Output, Piece, bold, cut, dim, toned, warn
from .phrases import since

__all__ = ["build_handoff", "build_requests"]


def build_requests(parser: Parser) -> None:
    """Adds the arguments of `requests`."""
    parser.add_argument("request", metavar="REQUEST", nargs="?", help="the request to show")
    parser.add_argument("--all", action="store_true", help="list the settled ones too")
    parser.add_argument(
        "--settle", action="store_true", help="close REQUEST, with which nobody will go on any more"
    )
    parser.set_defaults(run=_requests)
    parser.example("inspan requests", "lists the open ones")
    parser.example("inspan requests fix-login", "shows every attempt, and what became of it")


def build_handoff(parser: Parser) -> None:
    """Adds the arguments of `handoff`."""
    parser.add_argument("request", metavar="REQUEST", help="the request")
    parser.name("seat", "seat", "the seat that it is to go on in")
    parser.add_argument(
        "--text", metavar="TEXT", default="", help="what that seat is told, instead of the prompt"
    )
    parser.add_argument("--cancel", action="store_true", help="ask the attempt that is under way to stop")
    parser.set_defaults(run=_hand_off)
    parser.example("inspan send first --request fix-login 'Fix the login.'", "opens a request")
    parser.example(
        "inspan handoff fix-login second", "goes on there once the first attempt has ended short of it"
    )


def _requests(context: Context, args: Namespace) -> int:
    from inspan.model.errors import UsageError

    if not args.request:
        if args.settle:
            raise UsageError(
                "Which request is to be closed?", hint="Give its id: `inspan requests ID --settle`."
            )
        return _list(context, args)
    if args.settle:
        request = record(context.call("POST", at("requests", args.request, "settle")))
    else:
        request = record(context.get(at("requests", args.request)))
    return _tell_or_print(context, request)


def _list(context: Context, args: Namespace) -> int:
    found = records(context.get("/v1/requests", all=args.all))
    if context.output.is_json:
        context.output.value(found)
    elif not found:
        context.output.remark("No request is open." if not args.all else "There are no requests yet.")
        context.output.remark("  next: `inspan send SEAT --request ID TEXT` opens one.")
    else:
        context.output.table(
            ["REQUEST", "STATUS", "OPENED", "ATTEMPTS", "LAST ATTEMPT"], [_row(one) for one in found]
        )
    return 0


def _row(request: Json) -> list[Piece]:
    attempts = records(request, "attempts")
    last = attempts[-1] if attempts else {}
    return [
        bold(text(request, "id")),
        _status(request),
        f"{since(text(request, 'opened_at'))} ago",
        str(len(attempts)),
        f"{text(last, 'seat')}: {_how(last)}",
    ]


def _hand_off(context: Context, args: Namespace) -> int:
    body = {"seat": args.seat, "text": args.text, "cancel": args.cancel}
    return _tell_or_print(
        context, record(context.call("POST", at("requests", args.request, "handoff"), body=body))
    )


def _tell_or_print(context: Context, request: Json) -> int:
    if context.output.is_json:
        context.output.value(request)
    else:
        _tell(context.output, request)
    return 0


def _tell(output: Output, request: Json) -> None:
    output.line(bold(text(request, "id")), "  ", _status(request))
    for place, one in enumerate(records(request, "attempts"), start=1):
        why = text(one, "error", "message")
        output.line(
            f"  attempt {place}: ",
            bold(text(one, "seat")),
            "  ",
            toned(_how(one)),
            dim(f"  {text(one, 'delivery')}"),
            dim(f"  {cut(why, 100)}" if why else ""),
        )
    for one in records(request, "handoffs"):
        failed = text(one, "error", "message")
        state = "handed off" if text(one, "handed_at") else "to go on"
        output.line(
            dim(f"  {state}: "),
            f"{text(one, 'from_seat')} to {text(one, 'to_seat')}",
            warn(f"  refused: {failed}" if failed else ""),
        )
    if hint := text(request, "hint"):
        output.remark("  next: ", hint)


def _status(request: Json) -> Piece:
    status = text(request, "status", default="unknown")
    return toned(text(request, "outcome")) if status == "settled" else toned(status)


def _how(attempt: Json) -> str:
    return text(attempt, "outcome") or text(attempt, "state", default="unknown")
