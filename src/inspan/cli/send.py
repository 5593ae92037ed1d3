"""`inspan send`: a prompt into a seat's queue."""

from __future__ import annotations

from .amounts import counted
from .arguments import Namespace, Parser, seconds
from .context import Context
from .exits import Exit, exit_of_delivery, exit_of_outcome
from .fields import Json, held_words, number, text
from .output import Output, dim, toned, warn
from .prompts import queue_prompt, read_prompt

__all__ = ["build_send", "tell_queued"]


def build_send(parser: Parser) -> None:
    """Adds the arguments of `send`."""
    parser.name("seat", "seat", "the seat")
    parser.add_argument(
        "text",
        metavar="TEXT",
        nargs="*",
        default=[],
        help="the prompt; - or nothing reads standard input",
    )
    parser.add_argument(
        "--wait", action="store_true", help="show the turn, and end with its outcome as status"
    )
    parser.add_argument("--id", metavar="ID", help="the delivery's id: the same id never sends twice")
    parser.add_argument(
        "--request", metavar="ID", help="the request that it is an attempt at; the first prompt opens it"
    )
    parser.add_argument(
        "--sign",
        metavar="KEY",
        help="sign it with your SSH key (the private one, or the public one where your SSH agent has the other)",
    )
    when = parser.add_mutually_exclusive_group()
    when.add_argument(
        "--queue", action="store_true", help="wait for the turn that runs to end (as without any of these)"
    )
    when.add_argument(
        "--now",
        action="store_true",
        help="type it into a console though a turn runs there, where that console takes it",
    )
    when.add_argument(
        "--override",
        metavar="REASON",
        default="",
        help="type it into a console though it asks something, its state is unknown, or the text is a command there; "
        "the reason is recorded first",
    )
    parser.add_argument(
        "--timeout", metavar="S", type=seconds, help="with --wait: stop waiting after S seconds"
    )
    parser.set_defaults(run=_send)
    parser.example('inspan send review "Look at the last commit."', "queues it and returns")
    parser.example(
        "git diff | inspan send review --wait", "reads standard input and waits for the turn's end"
    )
    parser.example("inspan send review --id nightly-7 - < task.md", "safe to repeat: it is sent once")


def tell_queued(output: Output, delivery: Json) -> None:
    """Says what became of a prompt so far, and what to do where it waits."""
    held, ahead = held_words(delivery), int(number(delivery, "ahead") or 0)
    outcome = text(delivery, "turn_outcome")
    output.line(
        toned(text(delivery, "state")),
        warn(f" ({held})") if held else "",
        f"  {text(delivery, 'id')}",
        dim(f"  after {counted(ahead, 'other prompt')}" if ahead else ""),
        *([dim("  its turn: "), toned(outcome)] if outcome else []),
    )
    if why := text(delivery, "error", "message"):
        output.remark("  ", why)
    if hint := text(delivery, "hint"):
        output.remark("  next: ", hint)


def _send(context: Context, args: Namespace) -> int:
    prompt = read_prompt(args.text)
    # A prompt with an id may be one of an earlier call: then its story began anywhere in the log.
    after = int(number(context.status(), "last_position") or 0) if args.wait and not args.id else 0
    delivery = queue_prompt(
        context,
        args.seat,
        prompt,
        delivery=args.id,
        request=args.request,
        now=args.now,
        override=args.override,
        key=args.sign,
    )
    if not args.wait:
        if context.output.is_json:
            context.output.value(delivery)
        else:
            tell_queued(context.output, delivery)
        return _status_of(delivery)
    from .waiting import wait_for

    return wait_for(context, delivery, after=after, timeout_s=args.timeout)


def _status_of(delivery: Json) -> Exit:
    """0 while the prompt is safe or arrived; the id of an earlier call may name one that never will."""
    status = exit_of_delivery(text(delivery, "state"))
    if status in (None, Exit.NEEDS_PERSON):
        return Exit.OK
    outcome = text(delivery, "turn_outcome")
    return exit_of_outcome(outcome) if outcome else status
