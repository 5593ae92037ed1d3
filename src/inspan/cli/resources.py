"""`inspan harness resources`: where a harness reads guidance, skills and the like in a project."""

from __future__ import annotations

import os

from .arguments import Namespace, Parser
from .context import Context, at
from .fields import Json, record, records, text, texts
from .output import Output, Piece, toned, warn

__all__ = ["add_resources_action"]


def add_resources_action(parser: Parser) -> None:
    """Adds the action `resources`."""
    action = parser.action(
        "resources", "show where a harness reads guidance, skills and the like", _resources
    )
    action.name("harness", "harness", "the harness's id")
    action.add_argument(
        "--workspace", metavar="DIR", default=".", help="the project to look into (default: this folder)"
    )
    action.add_argument("--id", metavar="NAME", help="one resource: where it is, or would be")
    action.example("inspan harness resources ID", "what this project holds for it")
    action.example("inspan harness resources ID --id review --json", "where a skill of that name would lie")


def _resources(context: Context, args: Namespace) -> int:
    workspace = os.path.abspath(os.path.expanduser(args.workspace))
    found = record(
        context.get(at("harnesses", args.harness, "resources"), workspace=workspace, resource=args.id)
    )
    if context.output.is_json:
        context.output.value(found)
    else:
        _tell(context.output, found, args.harness)
    return 0


def _tell(output: Output, found: Json, harness: str) -> None:
    places = records(found, "places")
    if not places:
        output.remark(f"The manifest of {harness} names no place for resources.")
        return
    output.table(["KIND", "MODE", "THERE", "PATH"], [_row(one) for one in places])
    for one in places:
        if problem := record(one, "problem"):
            output.remark(warn("  refused: "), text(problem, "message"))
            output.remark("  next: ", text(problem, "hint"))


def _row(place: Json) -> list[Piece]:
    names = texts(place, "found")
    return [
        text(place, "kind"),
        text(place, "mode"),
        toned(text(place, "exists", default="unknown")),
        text(place, "path") + (f"  {', '.join(names)}" if names else ""),
    ]
