"""`inspan start`, `inspan stop` and `inspan release`: a seat's harness comes and goes; the seat and its queue stay."""

from __future__ import annotations

import contextlib

from inspan.model.errors import InspanError

from .amounts import counted
from .arguments import Namespace, Parser, seconds
from .context import Context, at
from .exits import Exit
from .fields import Json, number, record, records, text
from .output import bold, dim
from .seat import status_label, tell_caution

__all__ = ["build_release", "build_start", "build_stop"]


def build_start(parser: Parser) -> None:
    """Adds the arguments of `start`."""
    parser.name("seat", "seat", "the seat")
    parser.add_argument("--fresh", action="store_true", help="begin a new conversation instead of resuming")
    parser.add_argument(
        "--session", metavar="ID", help="take up this session of the harness's (see `inspan session list`)"
    )
    _add_wait(parser, "until it takes prompts, or cannot be had; the reason is the exit status")
    parser.set_defaults(run=_start)
    parser.example("inspan start review", "resumes where it left off")
    parser.example("inspan start review --wait --timeout 60", "returns when the harness takes prompts")
    parser.example("inspan start review --fresh", "begins anew; the old conversation stays with the harness")


def build_stop(parser: Parser) -> None:
    """Adds the arguments of `stop`."""
    parser.name("seat", "seat", "the seat")
    _add_wait(parser, "until its process has ended")
    parser.set_defaults(run=_stop)
    parser.example("inspan stop review", "and `inspan start review` goes on later")
    parser.example("inspan stop review --wait", "returns when the harness's process is gone")


def build_release(parser: Parser) -> None:
    """Adds the arguments of `release`."""
    parser.name("seat", "seat", "the seat")
    parser.set_defaults(run=_release)
    parser.example("inspan release review", "once the limit has ended, or somebody has signed in")


def _release(context: Context, args: Namespace) -> int:
    _tell(context, record(context.call("POST", at("seats", args.seat, "release"), body={})))
    return Exit.OK


def _start(context: Context, args: Namespace) -> int:
    body: Json = {"fresh": args.fresh, **({} if args.session is None else {"session": args.session})}
    after = _place(context, args)
    if not context.output.is_json:
        with contextlib.suppress(InspanError):  # what is wrong with the seat, the start itself says
            tell_caution(context, context.seat(args.seat))
    seat = record(context.call("POST", at("seats", args.seat, "start"), body=body))
    if not args.wait:
        _tell(context, seat)
        return Exit.OK
    from .settling import settle

    seat, has_settled = settle(
        context, args.seat, after=after, is_settled=_has_started, timeout_s=args.timeout
    )
    _tell(context, seat)
    if not has_settled:
        return _run_out(context, args, "the start")
    return _status_of_start(context, seat)


def _stop(context: Context, args: Namespace) -> int:
    after = _place(context, args)
    seat = record(context.call("POST", at("seats", args.seat, "stop"), body={}))
    if not args.wait:
        _tell(context, seat)
        return Exit.OK
    from .settling import settle

    launch = text(seat, "launch", "id")
    seat, has_settled = settle(
        context,
        args.seat,
        after=after,
        is_settled=lambda view: _has_ended(view, launch),
        timeout_s=args.timeout,
    )
    _tell(context, seat)
    return Exit.OK if has_settled else _run_out(context, args, "the stop")


def _add_wait(parser: Parser, until: str) -> None:
    parser.add_argument("--wait", action="store_true", help=f"wait {until}")
    parser.add_argument(
        "--timeout", metavar="S", type=seconds, help="with --wait: stop waiting after S seconds"
    )


def _place(context: Context, args: Namespace) -> int:
    return int(number(context.status(), "last_position") or 0) if args.wait else 0


def _has_started(seat: Json) -> bool:
    return text(seat, "launch", "status") in ("ready", "ended", "")


def _has_ended(seat: Json, launch: str) -> bool:
    # Where another launch came after the one that was stopped, that one has ended.
    return text(seat, "launch", "status") in ("ended", "") or text(seat, "launch", "id") != launch


def _status_of_start(context: Context, seat: Json) -> Exit:
    """What came of a start: its reason is said where there is no harness to prompt."""
    launch = record(seat, "launch")
    if text(launch, "status") == "ready" or (text(launch, "reason") == "done"):
        return Exit.OK
    held = [one for one in records(seat, "queue") if text(one, "held")]
    error = record(launch, "error")
    if not context.output.is_json:
        context.output.remark("  ", text(error, "message", default="The harness ended before it was ready."))
        for hint in filter(None, dict.fromkeys([text(error, "hint"), *(text(one, "hint") for one in held)])):
            context.output.remark("  next: ", hint)
    return Exit.NEEDS_PERSON if held else Exit.HARNESS


def _run_out(context: Context, args: Namespace, what: str) -> Exit:
    if not context.output.is_json:
        context.output.remark(f"  time ran out; {what} goes on: `inspan watch {args.seat}`")
    return Exit.TIMEOUT


def _tell(context: Context, seat: Json) -> None:
    if context.output.is_json:
        context.output.value(seat)
        return
    context.output.line(bold(text(seat, "name")), "  ", status_label(seat))
    if queue := records(seat, "queue"):
        context.output.line(dim(f"  {counted(len(queue), 'prompt')} in the queue"))
