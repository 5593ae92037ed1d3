"""`inspan watch`: the log, followed as it grows."""

from __future__ import annotations

from collections.abc import Callable

from .arguments import Namespace, Parser, seconds
from .context import Context
from .exits import Exit
from .fields import Json, number, record, records, text
from .output import dim
from .rendering import Renderer

__all__ = ["build_watch"]

_CATCH_UP_TICK_S = 0.2
_SETTLES = (
    "turn_ended",
    "turn_corrected",
    "launch_ended",
    "seat_removed",
    "session_open_failed",
    "permission_answered",
)


def build_watch(parser: Parser) -> None:
    """Adds the arguments of `watch`."""
    parser.name("seat", "seat", "only this seat; all of them where none is named", is_optional=True)
    parser.add_argument(
        "--after", metavar="N", type=int, help="begin after position N (0: with the first event)"
    )
    parser.add_argument(
        "--types", metavar="T,…", help="only events of these types, such as turn_ended,permission_opened"
    )
    parser.add_argument(
        "--until", choices=["idle"], help="leave when the seat works on nothing and its queue is empty"
    )
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=seconds,
        help="leave after S seconds; with --until that is exit status 16",
    )
    parser.set_defaults(run=_watch)
    parser.example("inspan watch", "everything, from now on")
    parser.example("inspan watch review --until idle", "until the seat has nothing to do")
    parser.example("inspan watch --after 0 --json", "the whole log, one event a line, and what comes")


def _watch(context: Context, args: Namespace) -> int:
    import time

    from inspan.model.errors import UsageError

    if args.until and not args.seat:
        raise UsageError("--until needs a seat.", hint="Name the seat to watch.")
    if args.after is not None and args.after < 0:
        raise UsageError("A position is 0 or more.", hint="Give --after 0 to see everything.")
    newest = int(number(context.status(), "last_position") or 0)
    if args.seat:
        context.seat(args.seat)  # so that a wrong name is not taken for a quiet seat
    types = [one.strip() for one in (args.types or "").split(",") if one.strip()]
    if types and args.until:  # as the stream itself does: a wrong name is not taken for a quiet log
        context.get("/v1/events", after=newest, types=",".join(types), limit=1)
    renderer = None if context.output.is_json else Renderer(context.output, has_heads=True)
    after = newest if args.after is None else args.after
    # What is waited for may be another type than those that are shown.
    asked = None if args.until or not types else ",".join(types)
    stream = context.stream(seat=args.seat, after=after, types=asked, on_gap=_gap(context))
    deadline = None if args.timeout is None else time.monotonic() + args.timeout
    # The seat is asked whether it has anything to do after what is in the log was shown, and after each event
    # that may have settled something.
    is_due = bool(args.until)
    try:
        while True:
            if is_due and stream.place >= newest and not stream.has_more:
                is_due = False
                if _is_idle(_seat(context, args.seat)):
                    return Exit.OK
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return Exit.TIMEOUT if args.until else Exit.OK
            limits_s = [one for one in (left, _CATCH_UP_TICK_S if is_due else None) if one is not None]
            envelope = stream.next(timeout_s=min(limits_s, default=None))
            if not isinstance(envelope, dict):
                continue
            kind = text(envelope, "type")
            if not types or kind in types:
                if renderer is None:
                    context.output.value(envelope)
                else:
                    renderer.show(envelope)
            is_due = is_due or (bool(args.until) and _may_settle(kind))
    finally:
        stream.close()
        if renderer is not None:
            renderer.finish()


def _may_settle(kind: str) -> bool:
    return kind in _SETTLES or kind.startswith("delivery_")


def _seat(context: Context, name: str) -> Json:
    from inspan.model.errors import InspanError

    try:
        return context.seat(name)
    except InspanError as error:
        if error.code != "unknown_seat":
            raise
        return {}


def _is_idle(seat: Json) -> bool:
    """Whether nothing is under way: a seat that was removed is idle too."""
    busy = ("running", "starting", "stopping", "needs_input")
    # Where the harness cannot say what it does, its turn says whether work is under way.
    last = record(seat, "last_turn")
    has_open_turn = bool(last) and not text(last, "outcome")
    queued = [one for one in records(seat, "queue") if text(one, "state") != "held"]
    return not (text(seat, "status") in busy or queued or record(seat, "in_flight") or has_open_turn)


def _gap(context: Context) -> Callable[[str], None]:
    def tell(why: str) -> None:
        if not context.output.is_json:
            context.output.remark(dim(f"{why}; watching goes on when a daemon serves again"))

    return tell
