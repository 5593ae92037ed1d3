"""`inspan run`: one seat, one prompt, shown as it happens, the outcome as the exit status."""

from __future__ import annotations

from inspan.model.errors import InspanError, UsageError
from inspan.model.ids import new_id

from .arguments import Namespace, Parser, seconds
from .context import Context, at
from .exits import Exit
from .fields import number, record, text
from .following import tell_ending
from .output import dim
from .prompts import queue_prompt, read_prompt
from .seat import harness_label, installed, tell_caution, tell_notes
from .seat_options import add_seat_options, new_seat
from .waiting import follow

__all__ = ["build_run"]

_UNFINISHED = (Exit.NEEDS_PERSON, Exit.TIMEOUT)


def build_run(parser: Parser) -> None:
    """Adds the arguments of `run`."""
    parser.add_argument(
        "prompt",
        metavar="PROMPT",
        nargs="*",
        default=[],
        help="the prompt; - or nothing reads standard input",
    )
    parser.name_option("--harness", "harness", "the harness to seat (see `inspan harness list`)")
    parser.name_option("--seat", "seat", "the seat to use; made if it does not exist")
    parser.add_argument("--keep", action="store_true", help="keep the seat that was made")
    parser.add_argument(
        "--timeout", metavar="S", type=seconds, help="stop waiting after S seconds; the turn goes on"
    )
    add_seat_options(parser)
    parser.set_defaults(run=_run)
    parser.example(
        'inspan run --harness ID "Explain this folder."', "asks on the terminal when the harness asks"
    )
    parser.example(
        "inspan run --harness ID --unattended reject --json - < task.md",
        "for scripts: one JSON value at the end",
    )
    parser.example('inspan run --seat review "Go on."', "uses a seat that exists")


def _run(context: Context, args: Namespace) -> int:
    prompt = read_prompt(args.prompt)
    seat, is_ours = _seat(context, args)
    try:
        after = int(number(context.status(), "last_position") or 0)
        delivery = queue_prompt(context, seat, prompt)
        ending = follow(context, delivery, after=after, timeout_s=args.timeout)
    except KeyboardInterrupt:
        if is_ours:
            _tell_kept(context, seat)
        raise
    is_kept = not is_ours or args.keep or ending.status in _UNFINISHED
    if not is_kept:
        _remove(context, seat)
    if context.output.is_json:
        context.output.value({"seat": seat, "seat_kept": is_kept, **ending.as_json()})
    else:
        tell_ending(context, ending)
        if is_ours and is_kept:
            _tell_kept(context, seat)
    return ending.status


def _seat(context: Context, args: Namespace) -> tuple[str, bool]:
    """The seat's name, and whether it was made here."""
    if args.seat:
        try:
            seat = context.seat(args.seat)
        except InspanError as error:
            if error.code != "unknown_seat" or not args.harness:
                raise
        else:
            if args.harness and args.harness != text(seat, "harness"):
                raise UsageError(
                    f"The seat {args.seat!r} sits on {text(seat, 'harness')!r}, not on {args.harness!r}.",
                    hint="Leave --harness out, or name another seat.",
                )
            return args.seat, False
    if not args.harness:
        raise UsageError(
            "A harness or a seat is needed.",
            hint=f"Add --seat NAME, or --harness with {installed(context)}.",
        )
    name = args.seat or "run-" + new_id("r")[-12:]
    seat = record(context.call("POST", "/v1/seats", body=new_seat(args, name)))
    if not context.output.is_json:
        context.output.remark(dim(f"seat {name} on {harness_label(seat)}"))
        tell_caution(context, seat)
        tell_notes(context, seat)
    return name, True


def _remove(context: Context, seat: str) -> None:
    try:
        context.call("DELETE", at("seats", seat), query={"stop": True, "delete_config": True})
    except InspanError as error:
        context.output.remark(dim(f"  the seat {seat!r} could not be removed: {error}"))


def _tell_kept(context: Context, seat: str) -> None:
    context.output.remark(dim(f"  the seat {seat!r} stays; `inspan seat remove {seat} --stop` removes it"))
