"""`inspan permissions`, `approve`, `deny`: what harnesses ask, and the answers."""

from __future__ import annotations

from inspan.model.errors import InspanError, UsageError

from .arguments import Namespace, Parser
from .context import Context, at
from .fields import Json, record, records, text
from .output import Piece, bold, dim, toned
from .phrases import asked, option_names, since

__all__ = ["build_approve", "build_deny", "build_permissions"]


def build_permissions(parser: Parser) -> None:
    """Adds the arguments of `permissions`."""
    parser.name("seat", "seat", "only this seat", is_optional=True)
    parser.add_argument("--all", action="store_true", help="also those that were answered, with who answered")
    parser.set_defaults(run=_list)
    parser.example("inspan permissions", "everything that waits for you")
    parser.example("inspan permissions review --all", "the record of a seat's answers")


def build_approve(parser: Parser) -> None:
    """Adds the arguments of `approve`."""
    _add_answer(parser, decision="allow")
    parser.example("inspan approve review", "allows the one thing that this seat asks")
    parser.example(
        "inspan approve review --always", "takes the harness's own standing option, where it offers one"
    )


def build_deny(parser: Parser) -> None:
    """Adds the arguments of `deny`."""
    _add_answer(parser, decision="deny")
    parser.example('inspan deny review --reason "not on this branch"', "the reason goes into the record")


def _add_answer(parser: Parser, *, decision: str) -> None:
    parser.name("target", "permission", "a request's id, or a seat with one open request")
    parser.add_argument(
        "--always", action="store_true", help="prefer the option that stands for the future too"
    )
    parser.add_argument(
        "--option", metavar="ID", help="the option with this id (see `inspan permissions --json`)"
    )
    parser.add_argument("--reason", metavar="TEXT", default="", help="why, for the record")
    parser.set_defaults(run=_answer, decision=decision)


def _list(context: Context, args: Namespace) -> int:
    if args.seat:
        context.seat(args.seat)  # so that a wrong name is not taken for a seat that asks nothing
    requests = records(context.get("/v1/permissions", seat=args.seat, all=args.all or None))
    if context.output.is_json:
        context.output.value(requests)
    elif not requests:
        context.output.remark("No harness waits for an answer.")
    else:
        for one in requests:
            context.output.line(
                bold(text(one, "id")), f"  {text(one, 'seat')}  ", *asked(record(one, "tool_call"))
            )
            context.output.line("  ", *_state(one))
    return 0


def _state(request: Json) -> list[Piece]:
    if decision := text(request, "decision"):
        chosen = text(request, "option_name")
        said = f" {chosen!r}" if chosen else ""
        reason = text(request, "reason")
        return [
            toned(decision),
            dim(f"{said} by {text(request, 'by')}, {since(text(request, 'answered_at'))} ago"),
            dim(f"  {reason}" if reason else ""),
        ]
    return [dim(f"{option_names(request)}  asked {since(text(request, 'opened_at'))} ago")]


def _answer(context: Context, args: Namespace) -> int:
    request, seat = _find(context, args.target)
    body: Json = {"decision": args.decision, "always": args.always, "reason": args.reason}
    body.update({name: value for name, value in (("option", args.option), ("seat", seat)) if value})
    answered = record(context.call("POST", at("permissions", request, "answer"), body=body))
    if context.output.is_json:
        context.output.value(answered)
    else:
        name = text(answered, "option_name")
        context.output.line(
            toned(text(answered, "decision", default=args.decision)),
            "  ",
            *asked(record(answered, "tool_call")),
            dim(f"  {name!r}" if name else ""),
        )
    return 0


def _find(context: Context, target: str) -> tuple[str, str | None]:
    """The id of the request that `target` means, and its seat where `target` is a seat's name."""
    try:
        return text(record(context.get(at("permissions", target))), "id", default=target), None
    except InspanError as error:
        if error.code != "unknown_permission":
            raise
    try:
        context.seat(target)
    except InspanError as error:
        if error.code not in ("unknown_seat", "invalid_argument"):
            raise
        raise UsageError(
            f"There is no permission request and no seat {target!r}.",
            code="unknown_permission",
            hint="See `inspan permissions`.",
        ) from error
    requests = records(context.get("/v1/permissions", seat=target))
    match requests:
        case [only]:
            return text(only, "id"), target
        case []:
            raise UsageError(
                f"The seat {target!r} asks nothing.",
                code="permission_closed",
                hint="See `inspan permissions --all`.",
            )
        case _:
            listed = "; ".join(f"{text(one, 'id')}: {text(one, 'tool_call', 'title')}" for one in requests)
            raise UsageError(
                f"The seat {target!r} has {len(requests)} open requests: {listed}.",
                hint="Name one by its id.",
                detail={"requests": [text(one, "id") for one in requests]},
            )
