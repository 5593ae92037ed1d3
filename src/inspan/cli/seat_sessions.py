"""`inspan seat fork` and `inspan seat set`: a seat's conversation, branched or set up."""

from __future__ import annotations

from inspan.model.errors import UsageError

from .arguments import Namespace, Parser
from .context import Context, at
from .fields import Json, number, record, records, text, texts
from .output import Piece, bad, bold, cut, dim, good, warn

__all__ = ["add_session_actions", "setting_pieces", "tell_offers"]

_VALUES_SHOWN = 12


def add_session_actions(parser: Parser) -> None:
    """Adds `fork` and `set` to the actions of `seat`."""
    fork = parser.action("fork", "make a seat that begins with a fork of another's conversation", _fork)
    fork.name("name", "seat", "the seat whose conversation is forked; it stays as it is")
    fork.add_argument("new", metavar="NEW", help="the new seat's name")
    fork.example("inspan seat fork review other", "same harness, workspace and posture, a branch of the talk")
    change = parser.action("set", "ask for a mode, a model or options of the open session", _set)
    change.name("name", "seat", "the seat")
    change.add_argument("--session-mode", metavar="M", help="the session mode, in the harness's own spelling")
    change.add_argument("--model", metavar="M", help="the model, where it can change within a session")
    change.add_argument(
        "--option",
        metavar="ID=VALUE",
        action="append",
        default=[],
        help="a session option; repeatable (`inspan seat show SEAT --json` lists what is offered)",
    )
    change.add_argument(
        "--reset", action="store_true", help="forget what was asked for before: the next launch leaves it"
    )
    change.example("inspan seat set review --session-mode plan", "what is in force is what the harness says")
    change.example("inspan seat set review --option effort=high", "refused with what the session offers")


def setting_pieces(setting: Json) -> list[Piece]:
    """A setting: what was asked for, and what is in force."""
    wanted, effective = text(setting, "wanted"), text(setting, "effective", default="unknown")
    match text(setting, "status"):
        case "effective":
            return [wanted, "  ", good("in force")]
        case "refused":
            return [wanted, "  ", bad("refused"), f"  {text(setting, 'error', 'message')}"]
        case status:
            return [f"{wanted} asked for ({status}), in force: ", warn(cut(effective, 60))]


def tell_offers(session: Json) -> list[tuple[str, str]]:
    """What the session offers, as fields."""
    rows = [("modes offered", ", ".join(texts(session, "offered_modes")))]
    offered = [_option(one) for one in records(session, "offered_options")]
    rows.append(("options offered", "; ".join(offered)))
    return rows


def _option(option: Json) -> str:
    values = texts(option, "values")
    shown = ", ".join(values[:_VALUES_SHOWN]) or text(option, "kind")
    more = len(values) - _VALUES_SHOWN + int(number(option, "omitted") or 0)
    return f"{text(option, 'id')}: {shown}{f' and {more} more' if more > 0 else ''}"


def _fork(context: Context, args: Namespace) -> int:
    seat = record(context.call("POST", at("seats", args.name, "fork"), body={"name": args.new}))
    if context.output.is_json:
        context.output.value(seat)
    else:
        context.output.line("added ", bold(text(seat, "name")), f", to begin with a fork of {args.name}")
        context.output.remark(dim(f'  next: `inspan send {text(seat, "name")} "…"`'))
    return 0


def _set(context: Context, args: Namespace) -> int:
    options = dict(map(_assignment, args.option))
    body: Json = {"session_mode": args.session_mode, "model": args.model, "options": options}
    body = {name: value for name, value in body.items() if value not in (None, {})}
    if not body and not args.reset:
        raise UsageError(
            "Nothing is asked for.", hint="Give --session-mode, --model, --option ID=VALUE, or --reset."
        )
    seat = record(
        context.call("POST", at("seats", args.name, "settings"), body={**body, "reset": args.reset})
    )
    if context.output.is_json:
        context.output.value(seat)
        return 0
    settings = [one for one in records(seat, "session", "settings") if text(one, "by") != "launch"]
    for one in settings:
        context.output.line(f"{text(one, 'name')}: ", *setting_pieces(one))
    if not settings:
        context.output.line("nothing is asked for any more")
    return 0


def _assignment(word: str) -> tuple[str, str]:
    name, is_given, value = word.partition("=")
    if not name or not is_given:
        raise UsageError(f"{word!r} is no option.", hint="Give it as --option ID=VALUE.")
    return name, value
