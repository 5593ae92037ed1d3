"""`inspan seat`: add, list, show and remove seats."""

from __future__ import annotations

from .amounts import lasting
from .arguments import Namespace, Parser
from .console_phrases import console_detail, console_fields
from .context import Context, at
from .fields import Json, flag, held_words, number, record, records, text, texts
from .output import Output, Piece, bold, cut, dim, toned, warn
from .phrases import since
from .seat_options import add_seat_options, new_seat, withheld_note
from .seat_sessions import add_session_actions, setting_pieces, tell_offers

__all__ = ["build_seat", "harness_label", "installed", "status_label", "tell_caution", "tell_notes"]

_UNATTENDED = {
    "person": "asks a person",
    "reject": "Inspan rejects every request",
    "allow_once": "Inspan allows each request once",
    "allow_always": "Inspan allows each request for good",
}


def build_seat(parser: Parser) -> None:
    """Adds the actions of `seat`."""
    add = parser.action("add", "make a seat on a harness", _add)
    add.name("name", "seat", "its name: a-z, 0-9, '.', '_' and '-'")
    add.name_option("--harness", "harness", "the harness to seat (see `inspan harness list`)")
    add_seat_options(add)
    add.example(
        "inspan seat add review --harness ID",
        "in this folder, asking before everything that the harness asks",
    )
    add.example(
        "inspan seat add fix --harness ID --workspace ~/src/app --unattended allow_once",
        "in another folder; Inspan allows each request once, and keeps a record of it",
    )
    seats = parser.action("list", "list all seats", _list)
    seats.example("inspan seat list --json", "as one JSON array")
    show = parser.action("show", "show all that is known of a seat", _show)
    show.name("name", "seat", "the seat")
    show.example("inspan seat show review", "its state, conversation, queue and posture")
    add_session_actions(parser)
    remove = parser.action("remove", "remove a seat; its history stays in the log", _remove)
    remove.name("name", "seat", "the seat")
    remove.add_argument("--stop", action="store_true", help="stop its harness first, where one runs")
    remove.add_argument(
        "--delete-config",
        action="store_true",
        help="remove its own configuration folder too, with the conversations in it",
    )
    remove.example("inspan seat remove review --stop", "stops the harness and removes the seat")


def status_label(seat: Json) -> Piece:
    """A seat's status; one that is unknown stays so."""
    return toned(text(seat, "status", default="unknown"))


def harness_label(seat: Json) -> str:
    """The seat's harness, and whether it is a scripted stand-in."""
    return text(seat, "harness") + (" (scripted)" if flag(seat, "scripted") else "")


def installed(context: Context) -> str:
    """The ids of the harnesses that are installed here, in words; of all where none is."""
    known = context.harnesses()
    there = [text(one, "id") for one in known if text(one, "installed") != "no"]
    if there:
        return f"one that is installed here: {', '.join(there)}"
    return f"one of these, once it is installed: {', '.join(text(one, 'id') for one in known)}"


def _add(context: Context, args: Namespace) -> int:
    from inspan.model.errors import UsageError

    if not args.harness:
        raise UsageError("A seat needs a harness.", hint=f"Add --harness ID, with {installed(context)}.")
    seat = record(context.call("POST", "/v1/seats", body=new_seat(args, args.name)))
    if context.output.is_json:
        context.output.value(seat)
    else:
        context.output.line("added ", bold(text(seat, "name")), f" on {harness_label(seat)}")
        tell_caution(context, seat)
        if problem := record(seat, "problem"):
            context.output.remark(warn("warning: "), text(problem, "message"))
            if hint := text(problem, "hint"):
                context.output.remark("  next: ", hint)
            return 0
        tell_notes(context, seat)
        context.output.remark(dim(f'  next: `inspan send {text(seat, "name")} "…"`'))
    return 0


def tell_caution(context: Context, seat: Json) -> None:
    """What is to be known before the seat's harness is launched."""
    if caution := text(seat, "caution"):
        context.output.remark(warn("caution: "), caution)


def tell_notes(context: Context, seat: Json) -> None:
    """What else is good to know of a new seat."""
    if note := withheld_note(seat):
        context.output.remark(dim(f"  note: {note}"))


def _list(context: Context, _: Namespace) -> int:
    seats = context.seats()
    if context.output.is_json:
        context.output.value(seats)
    elif not seats:
        context.output.remark("There are no seats yet.")
        context.output.remark(
            "  next: `inspan seat add NAME --harness ID`; `inspan harness list` shows the ids."
        )
    else:
        context.output.table(
            ["SEAT", "STATUS", "HARNESS", "QUEUE", "LAST TURN", "WORKSPACE"], [_row(seat) for seat in seats]
        )
    return 0


def _row(seat: Json) -> list[Piece]:
    last = record(seat, "last_turn")
    asks, detail = records(seat, "needs_input"), console_detail(seat)
    return [
        bold(text(seat, "name")),
        toned(text(seat, "status", default="unknown"), detail),
        harness_label(seat),
        str(len(records(seat, "queue"))),
        toned(text(last, "outcome", default="open")) if last else dim("none"),
        text(seat, "workspace") + (f"  asks: {cut(text(asks[0], 'summary'), 60)}" if asks else ""),
    ]


def _show(context: Context, args: Namespace) -> int:
    seat = context.seat(args.name)
    if context.output.is_json:
        context.output.value(seat)
    else:
        _tell(context.output, seat)
    return 0


def _tell(output: Output, seat: Json) -> None:
    activity, session, launch = record(seat, "activity"), record(seat, "session"), record(seat, "launch")
    problem, last = record(seat, "problem"), record(seat, "last_turn")
    output.line(bold(text(seat, "name")), "  ", status_label(seat))
    output.fields(
        [
            ("caution", [warn(text(seat, "caution"))] if text(seat, "caution") else ""),
            ("problem", [warn(text(problem, "message")), f" {text(problem, 'hint')}"] if problem else ""),
            ("harness", _harness(seat)),
            ("mode", text(seat, "mode")),
            ("workspace", text(seat, "workspace")),
            *_posture(record(seat, "posture")),
            ("model", _asked_for(text(seat, "model"))),
            ("effort", _asked_for(text(seat, "effort"))),
            *(
                (f"option {name}", ", ".join(texts(record(seat, "axes"), name)))
                for name in record(seat, "axes")
            ),
            ("guidance", _guidance(int(number(seat, "guidance_chars") or 0))),
            ("environment", ", ".join(texts(seat, "environment"))),
            ("inherits", "only what it is known to need" if flag(seat, "clean_environment") else ""),
            ("withheld", [dim(withheld_note(seat))] if texts(seat, "withheld") else ""),
            ("config", _config(record(seat, "config"))),
            ("activity", [toned(text(activity, "value", default="unknown")), dim(f"  {_why(activity)}")]),
            *console_fields(seat),
            ("background", text(seat, "background", default="unknown")),
            ("conversation", _session(session)),
            ("forks", text(session, "forks")),
            ("title", text(session, "title")),
            ("session mode", text(session, "mode")),
            *((text(one, "name"), setting_pieces(one)) for one in records(session, "settings")),
            *tell_offers(session),
            ("context", _usage(record(seat, "usage"))),
            ("launch", _launch(launch)),
            ("in flight", _prompt(record(seat, "in_flight"))),
            (
                "last turn",
                [toned(text(last, "outcome", default="open")), f"  {text(last, 'id')}"] if last else "",
            ),
            ("turns", str(int(number(seat, "turns") or 0))),
        ],
        indent=2,
    )
    for one in records(seat, "attention"):
        output.line("  ", warn("note: "), text(one, "message"), dim(f"  {text(one, 'hint')}"))
    for one in records(seat, "needs_input"):
        kind = text(one, "kind")
        output.line(
            "  ", warn("needs input: "), cut(text(one, "summary"), 120), dim(f"  ({kind})" if kind else "")
        )
        request = text(one, "request")
        if not request and record(seat, "console"):
            output.line(dim(f"    `inspan attach {text(seat, 'name')}` answers it in the console itself"))
        elif request:
            is_form = text(one, "kind") == "question"
            how = f"answer {request} --field NAME=VALUE" if is_form else f"approve {request}"
            other = f"answer {request} --decline" if is_form else f"deny {request}"
            output.line(dim(f"    `inspan {how}` or `inspan {other}`"))
    for place, one in enumerate(records(seat, "queue"), start=1):
        output.line(dim(f"  queued {place}: "), *_prompt(one))


def _harness(seat: Json) -> list[Piece]:
    name = text(seat, "harness_name")
    return [harness_label(seat), dim(f"  {name}" if name else "")]


def _posture(posture: Json) -> list[tuple[str, str]]:
    unattended = text(posture, "unattended")
    answers = _UNATTENDED.get(unattended, f"answers by {unattended or 'unknown'}")
    if unattended == "person":
        timeout_s = number(posture, "permission_timeout_s")
        waits = "wait for ever" if timeout_s is None else f"are rejected after {lasting(timeout_s)}"
        answers += f"; unanswered requests {waits}"
    axes = f"approvals {text(posture, 'approvals')}, sandbox {text(posture, 'sandbox')}"
    return [("posture", f"{axes} ({text(posture, 'source')})"), ("requests", answers)]


def _config(config: Json) -> str:
    folder = text(config, "folder", default="unknown")
    if not flag(config, "isolated"):
        return "" if not config else f"{folder}, shared with whoever uses that"
    variable, how_far = text(config, "variable"), text(config, "isolation")
    shares = ", ".join(texts(config, "shares"))
    holds = f"; has your {shares.replace('_', '-')}" if shares else ""
    return f"{folder}, its own by {variable} (isolation: {how_far}{holds})"


def _guidance(characters: int) -> str:
    return f"{characters} characters, as the first turn of a conversation" if characters else ""


def _asked_for(choice: str) -> str:
    return f"{choice} (asked for, not observed)" if choice else ""


def _why(activity: Json) -> str:
    age = number(activity, "age_s")
    seen = f", {lasting(int(age))} ago" if age is not None else ""
    return f"{text(activity, 'why')} ({text(activity, 'source')}{seen})"


def _session(session: Json) -> str:
    identity = text(session, "identity", default="unknown")
    if identity != "known":
        return identity
    opened = "open" if flag(session, "open") else "kept, not open"
    outcome = text(session, "resume_outcome")
    return f"{text(session, 'id')} ({opened}{f', resume: {outcome}' if outcome else ''})"


def _usage(usage: Json) -> str:
    used, size = number(usage, "used"), number(usage, "size")
    if text(usage, "status") != "reported":
        return text(usage, "status", default="unknown")
    percent = number(usage, "percent")
    part = "" if percent is None else f"{int(percent)} %"
    if used is None and part:
        return f"{part} (shown by its {text(usage, 'source')})"
    shown = [("unknown" if one is None else str(int(one))) for one in (used, size)]
    return f"{shown[0]} of {shown[1]} tokens" + (f", {part}" if part else "")


def _launch(launch: Json) -> list[Piece]:
    if not launch:
        return [dim("never launched")]
    pid = number(launch, "pid")
    alive = text(launch, "status") != "ended"
    pieces: list[Piece] = [text(launch, "status"), f" (pid {int(pid)})" if pid is not None and alive else ""]
    if reason := text(launch, "reason"):
        pieces.append(f" ({reason})")
    pieces.append(dim(f"  begun {since(text(launch, 'begun_at'))} ago"))
    if message := text(launch, "error", "message"):
        pieces.append(f"  {message}")
    return pieces


def _prompt(delivery: Json) -> list[Piece]:
    if not delivery:
        return []
    held = held_words(delivery)
    return [
        toned(text(delivery, "state")),
        warn(f" ({held})") if held else "",
        f"  {text(delivery, 'id')}  ",
        dim(cut(text(delivery, "text"), 60)),
    ]


def _remove(context: Context, args: Namespace) -> int:
    chosen = {"stop": args.stop, "delete_config": args.delete_config}
    query: dict[str, object] = {name: True for name, is_chosen in chosen.items() if is_chosen}
    seat = record(context.call("DELETE", at("seats", args.name), query=query))
    if context.output.is_json:
        context.output.value(seat)
        return 0
    context.output.line("removed ", bold(args.name), dim("; its history stays in the log"))
    config = record(seat, "config")
    if flag(config, "isolated") and not args.delete_config:
        context.output.remark(dim(f"  its configuration stays in {text(config, 'folder')}"))
    return 0
