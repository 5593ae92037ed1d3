"""`inspan hooks`: where a harness is told of the hook relay."""

from __future__ import annotations

from .arguments import Namespace, Parser
from .context import Context, at
from .fields import Json, flag, record, records, text, texts
from .output import Output, Piece, bad, bold, dim, good, warn

__all__ = ["build_hooks"]

_STATES = {
    "each_launch": "told at each launch",
    "taken": "not used",
    "installed": "installed",
    "outdated": "installed, of another version",
    "absent": "not installed",
    "unreadable": "cannot be read",
}


def build_hooks(parser: Parser) -> None:
    """Adds the actions of `hooks`."""
    status = parser.action("status", "show where a harness is told of the relay", _status)
    status.name("target", "seat", "a seat, or else a harness's id")
    status.example("inspan hooks status review", "reads only")
    install = parser.action("install", "put the relay into the operator's own hooks file", _install)
    install.name("target", "seat", "a seat, or else a harness's id")
    install.add_argument(
        "--shared", action="store_true", help="also where each launch is told of it by itself"
    )
    install.example("inspan hooks install ID", "your own entries stay as they are, byte for byte")
    remove = parser.action("remove", "take the relay out of the operator's own hooks files", _remove)
    remove.name("target", "seat", "a seat, or else a harness's id")
    remove.example("inspan hooks remove ID", "the file is never deleted")


def _status(context: Context, args: Namespace) -> int:
    return _tell(context, record(context.call("GET", at("hooks", args.target))))


def _install(context: Context, args: Namespace) -> int:
    query: dict[str, object] = {"shared": "true"} if args.shared else {}
    return _tell(context, record(context.call("POST", at("hooks", args.target), query=query)))


def _remove(context: Context, args: Namespace) -> int:
    return _tell(context, record(context.call("DELETE", at("hooks", args.target))))


def _tell(context: Context, view: Json) -> int:
    output = context.output
    if output.is_json:
        output.value(view)
        return 0
    output.table(["WHERE", "STATE", "EVENTS"], [_row(one) for one in records(view, "places")])
    for one in records(view, "places"):
        _tell_more(output, one)
    output.remark(dim(text(view, "note")))
    return 0


def _row(place: Json) -> list[Piece]:
    state = text(place, "state")
    said = _STATES.get(state, state) + (" now" if flag(place, "is_changed") else "")
    toned = {"installed": good, "each_launch": good, "unreadable": bad, "outdated": warn}.get(state, dim)
    where = text(place, "path") if text(place, "scope") == "shared" else "each launch's own folder"
    return [bold(where), toned(said), dim(", ".join(texts(place, "events")))]


def _tell_more(output: Output, place: Json) -> None:
    if needs := text(place, "needs"):
        output.remark(warn("  to do: "), needs)
    for warning in texts(place, "warnings"):
        output.remark(warn("  note: "), warning)
    if problem := record(place, "problem"):
        output.remark(bad(f"  {text(problem, 'message')}"))
        output.remark("  next: ", text(problem, "hint"))
