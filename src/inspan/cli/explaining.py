"""`inspan explain`: why a seat shows what it shows; of a console every claim, every rule and what each looked at."""

from __future__ import annotations

from .amounts import counted, lasting
from .arguments import Namespace, Parser
from .context import Context, at
from .fields import Json, flag, number, record, records, text, texts
from .output import Output, Piece, bold, cut, dim, good, toned, warn
from .seat import status_label

__all__ = ["build_explain"]

_REGION_LINES = 6
_COLUMNS = 100


def build_explain(parser: Parser) -> None:
    """Adds the arguments of `explain`."""
    parser.name("seat", "seat", "the seat")
    parser.add_argument(
        "--full", action="store_true", help="print the whole text that each rule of a console looked at"
    )
    parser.set_defaults(run=_explain)
    parser.example("inspan explain review", "which source said what, when, and which of them won")
    parser.example("inspan explain review --full", "with all of the text that each screen rule was tried on")


def _explain(context: Context, args: Namespace) -> int:
    explained = record(context.get(at("seats", args.seat, "explain")))
    if context.output.is_json:
        context.output.value(explained)
        return 0
    _tell_activity(context.output, explained)
    if console := record(explained, "console"):
        _tell_console(context.output, console, limit=None if args.full else _REGION_LINES)
    for note in texts(explained, "notes"):
        context.output.line("  ", note)
    return 0


def _tell_activity(output: Output, explained: Json) -> None:
    activity = record(explained, "activity")
    output.line(bold(text(explained, "seat")), "  ", status_label(explained))
    value = text(activity, "value", default="unknown")
    output.line(
        "  activity ", toned(value), dim(f"  by {text(activity, 'source')}: {text(activity, 'rule')}")
    )
    if why := text(activity, "why"):
        output.line("  because ", why)
    for one in records(explained, "needs_input"):
        output.line(
            "  ", warn("needs input: "), cut(text(one, "summary"), 120), dim(f"  ({text(one, 'kind')})")
        )
    if evidence := records(explained, "evidence"):
        output.line()
        # Where no event is named, a column for it would only be wide.
        is_placed = any(number(one, "position") is not None for one in evidence)
        head = ["WON", "SOURCE", "SAYS", "AGE", *(["EVENT"] if is_placed else []), "RULE"]
        output.table(head, [_evidence(one, is_placed=is_placed) for one in evidence])


def _evidence(line: Json, *, is_placed: bool) -> list[Piece]:
    position = number(line, "position")
    return [
        toned("yes") if flag(line, "won") else "",
        text(line, "source"),
        cut(text(line, "says"), 80),
        _age(line),
        *([str(int(position)) if position is not None else ""] if is_placed else []),
        dim(text(line, "rule")),
    ]


def _tell_console(output: Output, console: Json, *, limit: int | None) -> None:
    if claims := records(console, "claims"):
        output.line()
        output.line(bold("What its console claims, and what became of it"))
        output.table(["OUTCOME", "SOURCE", "SAYS", "AGE", "RULE", "WHY"], [_claim(one) for one in claims])
    _tell_records(output, console)
    if rules := records(console, "rules"):
        output.line()
        output.line(bold("Rules of its screen, as they were tried"))
        _tell_rules(output, rules, limit=limit)
    output.line()
    suspended = texts(console, "suspended")
    output.fields(
        [
            ("too slow, not tried any more", ", ".join(suspended)),
            ("in the foreground", _foreground(record(console, "foreground"))),
            ("hooks", _hooks(record(console, "hooks"))),
            ("the terminal says of itself", _identity(record(console, "identity"))),
        ],
        indent=2,
    )


def _claim(claim: Json) -> list[Piece]:
    outcome, what = text(claim, "outcome"), text(claim, "gate") or text(claim, "kind")
    says = text(claim, "says") + (f" ({what})" if what else "")
    return [
        good(outcome) if outcome == "believed" else outcome if outcome == "agrees" else warn(outcome),
        text(claim, "source"),
        says,
        _age(claim),
        text(claim, "rule"),
        text(claim, "reason"),
    ]


def _tell_records(output: Output, console: Json) -> None:
    kept, discarded = records(console, "records"), int(number(console, "discarded_reports") or 0)
    if kept:
        output.line()
        output.line(bold("What the program says of itself (OSC 7501)"))
        output.table(["RECORD", "STATE", "KIND", "TITLE", "MESSAGE"], [_record(one) for one in kept])
    elif flag(console, "was_asked"):
        output.line()
        output.line("  It asked whether its status is wanted, was told so, and has said nothing yet.")
    if discarded:
        why = text(console, "last_discard")
        output.line("  ", warn(f"{counted(discarded, 'status report')} not taken"), f"; the newest: {why}")


def _record(one: Json) -> list[Piece]:
    return [
        text(one, "id") or dim("(root)"),
        toned(text(one, "state")),
        text(one, "kind"),
        cut(text(one, "title"), 40),
        cut(text(one, "message"), 60),
    ]


def _tell_rules(output: Output, rules: list[Json], *, limit: int | None) -> None:
    shown: dict[str, str] = {}
    for rule in rules:
        name, has_matched = text(rule, "rule"), flag(rule, "has_matched")
        mark = good("matches") if has_matched else dim("no     ")
        priority = number(rule, "priority") or 0
        output.line("  ", mark, "  ", bold(name), dim(f"  {text(rule, 'report')}, priority {priority:g}"))
        output.line("           ", cut(text(rule, "why"), _COLUMNS) if limit else text(rule, "why"))
        region = text(rule, "region")
        if "region" not in rule:
            output.line(dim("           the screen has no such region"))
        elif region in shown:
            output.line(dim(f"           looks at the same text as {shown[region]}"))
        else:
            shown[region] = name
            _tell_region(output, region.split("\n"), limit=limit)


def _tell_region(output: Output, lines: list[str], *, limit: int | None) -> None:
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        output.line(dim("           looks at rows without text"))
    left_out = len(lines) - limit if limit is not None and len(lines) > limit else 0
    # What decides stands low on a screen more often than high.
    if left_out:
        output.line(dim(f"           | … {counted(left_out, 'line')} above: --full shows all"))
    for line in lines[left_out:]:
        output.line(dim("           | "), line if limit is None else cut(line, _COLUMNS))


def _foreground(foreground: Json) -> str:
    is_harness = foreground.get("is_harness")
    if is_harness is None:
        return "unknown"
    pid, name = number(foreground, "pid"), text(foreground, "name")
    who = f"{name or 'a process'}{f' ({int(pid)})' if pid is not None else ''}"
    return f"{who}, which is the harness" if is_harness is True else f"{who}, which is not the harness"


def _hooks(hooks: Json) -> str:
    if not hooks:
        return "none are listened to"
    said = counted(int(number(hooks, "heard") or 0), "event")
    if last := text(hooks, "last_event"):
        said += f", the newest {cut(last, 40)}"
    dropped = ", ".join(f"{name}: {count}" for name, count in record(hooks, "dropped").items())
    lost = "; more than was kept came while no daemon listened" if flag(hooks, "is_full") else ""
    return said + (f"; dropped {dropped}" if dropped else "") + lost


def _identity(identity: Json) -> str:
    return ", ".join(f"{name} {value}" for name, value in identity.items())


def _age(line: Json) -> str:
    age_s = number(line, "age_s")
    return lasting(int(age_s)) if age_s is not None else "unknown"
