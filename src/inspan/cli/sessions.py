"""`inspan session`: the sessions that a seat's harness keeps."""

from __future__ import annotations

from .arguments import Namespace, Parser
from .context import Context, at
from .fields import number, record, records, text
from .output import bold, cut, dim

__all__ = ["build_session"]


def build_session(parser: Parser) -> None:
    """Adds the actions of `session`."""
    listing = parser.action("list", "list the sessions that a seat's running harness keeps", _list)
    listing.name("seat", "seat", "the seat")
    listing.add_argument("--workspace", metavar="DIR", help="only those of this folder")
    listing.add_argument("--page", metavar="P", help="the page, as the list before named it")
    listing.example("inspan session list review", "and `inspan start review --session ID` takes one up")
    delete = parser.action("delete", "have a seat's running harness delete a session", _delete)
    delete.name("seat", "seat", "the seat")
    delete.add_argument("session", metavar="ID", help="the session's id")
    delete.example("inspan session delete review ID", "refused while a seat holds on to it")


def _list(context: Context, args: Namespace) -> int:
    query: dict[str, object] = {"page": args.page, "workspace": args.workspace}
    page = record(context.call("GET", at("seats", args.seat, "sessions"), query=query))
    if context.output.is_json:
        context.output.value(page)
        return 0
    sessions = records(page, "sessions")
    if not sessions:
        context.output.remark("The harness lists no sessions.")
    else:
        context.output.table(
            ["SESSION", "UPDATED", "WORKSPACE", "TITLE"],
            [
                [
                    bold(text(one, "id")),
                    text(one, "updated_at", default="unknown"),
                    text(one, "workspace", default="unknown"),
                    dim(cut(text(one, "title"), 60)),
                ]
                for one in sessions
            ],
        )
    if omitted := number(page, "omitted"):
        context.output.remark(f"  {int(omitted)} further sessions of this page were left out.")
    if following := text(page, "next_page"):
        context.output.remark(f"  next: `inspan session list {args.seat} --page {following}`")
    return 0


def _delete(context: Context, args: Namespace) -> int:
    body = {"session": args.session}
    deleted = record(context.call("POST", at("seats", args.seat, "sessions", "delete"), body=body))
    if context.output.is_json:
        context.output.value(deleted)
    else:
        context.output.line("deleted ", bold(text(deleted, "session")))
    return 0
