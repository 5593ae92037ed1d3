"""`inspan cancel`, `deliveries`, `delivery`, `turns`: what became of the work."""

from __future__ import annotations

from .amounts import counted
from .arguments import Namespace, Parser
from .context import Context, at
from .fields import Json, flag, held_words, number, record, records, text
from .output import Output, Piece, bold, cut, dim, good, toned, warn
from .phrases import since

__all__ = ["build_cancel", "build_deliveries", "build_delivery", "build_turns"]


def build_cancel(parser: Parser) -> None:
    """Adds the arguments of `cancel`."""
    parser.name("seat", "seat", "the seat")
    parser.set_defaults(run=_cancel)
    parser.example("inspan cancel review", "and `inspan watch review --until idle` waits for its end")


def build_deliveries(parser: Parser) -> None:
    """Adds the arguments of `deliveries`."""
    parser.name("seat", "seat", "the seat")
    parser.set_defaults(run=_deliveries)
    parser.example("inspan deliveries review", "the newest prompts, with how their turns ended")


def build_delivery(parser: Parser) -> None:
    """Adds the actions of `delivery`."""
    show = parser.action("show", "show how far a prompt got", _show_delivery)
    show.name("delivery", "delivery", "the delivery's id")
    show.example("inspan delivery show nightly-7", "its state, its turn, and what to do where it waits")
    withdraw = parser.action("withdraw", "take a prompt out of the queue", _withdraw)
    withdraw.name("delivery", "delivery", "the delivery's id")
    withdraw.example("inspan delivery withdraw nightly-7", "refused where the prompt went out already")


def build_turns(parser: Parser) -> None:
    """Adds the arguments of `turns`."""
    parser.name("seat", "seat", "the seat")
    parser.set_defaults(run=_turns)
    parser.example("inspan turns review", "the newest turns and their outcomes")


def _cancel(context: Context, args: Namespace) -> int:
    seat = record(context.call("POST", at("seats", args.seat, "cancel")))
    if context.output.is_json:
        context.output.value(seat)
    else:
        context.output.line("cancel requested on ", bold(args.seat), dim("; the harness ends the turn"))
        if queue := records(seat, "queue"):
            stay = "stays" if len(queue) == 1 else "stay"
            context.output.line(dim(f"  {counted(len(queue), 'prompt')} {stay} in the queue"))
    return 0


def _deliveries(context: Context, args: Namespace) -> int:
    deliveries = records(context.get(at("seats", args.seat, "deliveries")))
    if context.output.is_json:
        context.output.value(deliveries)
    elif not deliveries:
        context.output.remark(f"Nothing was sent to {args.seat!r} yet.")
    else:
        context.output.table(
            ["DELIVERY", "STATE", "TURN", "AGE", "FROM", "PROMPT"],
            [
                [
                    text(one, "id"),
                    _state(one),
                    toned(_outcome(one)),
                    since(text(one, "queued_at")),
                    _origin(one),
                    dim(cut(text(one, "text"), 60)),
                ]
                for one in deliveries
            ],
        )
    return 0


def _state(delivery: Json) -> Piece:
    state, held = text(delivery, "state"), held_words(delivery)
    return warn(f"{state} ({held})") if held else toned(state)


def _origin(delivery: Json) -> Piece:
    """Whose it surely is: by a signature that was checked, or by the connection of a seat's harness."""
    sender, signer = text(delivery, "sender"), text(delivery, "signed_by")
    if signer:
        return good(f"{signer} (signed)" + (f" by way of {sender}" if sender else ""))
    return sender or dim("unknown")


def _outcome(delivery: Json) -> str:
    return text(delivery, "turn_outcome") or ("open" if text(delivery, "turn") else "none")


def _show_delivery(context: Context, args: Namespace) -> int:
    delivery = record(context.get(at("deliveries", args.delivery)))
    if context.output.is_json:
        context.output.value(delivery)
    else:
        _tell_delivery(context.output, delivery)
    return 0


def _withdraw(context: Context, args: Namespace) -> int:
    delivery = record(context.call("DELETE", at("deliveries", args.delivery)))
    if context.output.is_json:
        context.output.value(delivery)
    else:
        _tell_delivery(context.output, delivery)
    return 0


def _tell_delivery(output: Output, delivery: Json) -> None:
    held, error = held_words(delivery), record(delivery, "error")
    output.line(
        bold(text(delivery, "id")), "  ", toned(text(delivery, "state")), warn(f" ({held})" if held else "")
    )
    output.fields(
        [
            ("seat", text(delivery, "seat")),
            ("queued", f"{since(text(delivery, 'queued_at'))} ago"),
            (
                "ahead",
                str(int(number(delivery, "ahead") or 0)) if text(delivery, "state") == "queued" else "",
            ),
            (
                "turn",
                [text(delivery, "turn"), "  ", toned(_outcome(delivery))] if text(delivery, "turn") else "",
            ),
            ("error", [text(error, "message"), dim(_after(text(error, "hint")))] if error else ""),
            ("request", text(delivery, "request")),
            ("prompt", cut(text(delivery, "text"), 200)),
            ("next", text(delivery, "hint")),
        ],
        indent=2,
    )


def _after(words: str) -> str:
    return f"  {words}" if words else ""


def _turns(context: Context, args: Namespace) -> int:
    turns = records(context.get(at("seats", args.seat, "turns")))
    if context.output.is_json:
        context.output.value(turns)
    elif not turns:
        context.output.remark(f"{args.seat!r} had no turn yet.")
    else:
        context.output.table(
            ["TURN", "OUTCOME", "BEGUN", "DELIVERY", "WHY"],
            [
                [
                    text(one, "id"),
                    toned(text(one, "outcome", default="open")),
                    f"{since(text(one, 'begun_at'))} ago",
                    text(one, "delivery"),
                    dim(cut(_reason(one), 80)),
                ]
                for one in turns
            ],
        )
    return 0


def _reason(turn: Json) -> str:
    asked = "cancel requested" if flag(turn, "cancel_requested") else ""
    doubt = text(turn, "doubt", "message")
    doubted = f"perhaps: {doubt}" if doubt else ""
    return ", ".join(filter(None, [asked, text(turn, "raw_reason"), text(turn, "error", "message"), doubted]))
