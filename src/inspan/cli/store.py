"""`inspan store`: is the log whole, and do its projections say what its events say?"""

from __future__ import annotations

import asyncio
from typing import cast

from inspan.model.errors import InspanError

from .arguments import Namespace, Parser
from .context import Context
from .exits import Exit
from .fields import Json, flag, number, record, texts
from .output import bad, dim, good

__all__ = ["build_store"]

_CALL_S = 3600.0


def build_store(parser: Parser) -> None:
    """Adds the actions of `store`."""
    check = parser.action("check", "examine the log; changes nothing", _check)
    check.example("inspan store check", "exits with 21 where something is wrong, and names it")
    rebuild = parser.action("rebuild", "build the projections anew from the events", _rebuild)
    rebuild.example("inspan store rebuild", "events are never changed")


def _check(context: Context, _: Namespace) -> int:
    return _tell(context, _report(context, "check"), done="checked")


def _rebuild(context: Context, _: Namespace) -> int:
    return _tell(context, _report(context, "rebuild"), done="rebuilt")


def _report(context: Context, operation: str) -> Json:
    try:
        return record(context.call("POST", f"/v1/store/{operation}", is_starting=False, timeout_s=_CALL_S))
    except InspanError as error:
        if error.code != "daemon_unreachable" or not error.retry_safe:
            raise
    import msgspec

    from inspan.store.check import check_store, rebuild_store

    work = check_store if operation == "check" else rebuild_store
    report = asyncio.run(work(context.home.database))
    return {**cast("Json", msgspec.to_builtins(report)), "offline": True}


def _tell(context: Context, report: Json, *, done: str) -> int:
    is_ok = flag(report, "ok")
    if context.output.is_json:
        context.output.value(report)
        return Exit.OK if is_ok else Exit.STORE
    where = "on the file, no daemon runs" if flag(report, "offline") else "by the daemon"
    context.output.line(
        good("ok") if is_ok else bad("not well"),
        f"  {done}: {int(number(report, 'events') or 0)} events, the newest at {int(number(report, 'last_position') or 0)}",
        dim(f"  ({where})"),
    )
    for problem in texts(report, "problems"):
        context.output.line("  ", bad(problem))
    if not is_ok:
        context.output.remark(
            "  next: where only projections differ, run `inspan store rebuild`; else restore a copy."
        )
    return Exit.OK if is_ok else Exit.STORE
