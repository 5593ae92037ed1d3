"""What `inspan doctor` finds of harnesses: asked of the daemon where one runs, and looked for right here else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from inspan.model.errors import InspanError

from .context import Context, at
from .fields import Json, record, records, text
from .findings import Finding

__all__ = ["find_of_harnesses"]

_CALL_S = 20.0

Probe = Callable[[str], Json]


def find_of_harnesses(context: Context, *, is_served: bool) -> Iterator[Finding]:
    """A line for each harness that is installed or faulty, and one for all the others. Nothing is started.

    Args:
        context: The home.
        is_served: Whether a daemon runs that can be asked: its PATH is the one that counts then.
    """
    if is_served:
        listed = records(context.call("GET", "/v1/harnesses", is_starting=False, timeout_s=_CALL_S))
        yield from _find_all(listed, lambda name: _ask(context, name))
    else:
        yield from _find_offline(context)


def _find_offline(context: Context) -> Iterator[Finding]:
    import asyncio

    import msgspec

    from inspan.host import HarnessHost

    host = HarnessHost(context.home.path, environ=os.environ)

    def probe(name: str) -> Json:
        async def ask() -> object:
            try:
                return await host.probe(name)
            finally:
                await host.close()

        return record(msgspec.to_builtins(asyncio.run(ask())))

    yield from _find_all([record(msgspec.to_builtins(view)) for view in host.views()], probe)


def _ask(context: Context, name: str) -> Json:
    return record(context.call("POST", at("harnesses", name, "probe"), is_starting=False, timeout_s=_CALL_S))


def _find_all(harnesses: list[Json], probe: Probe) -> Iterator[Finding]:
    absent = 0
    for harness in harnesses:
        finding = _find(harness, probe)
        if finding is None:
            absent += 1
        else:
            yield finding
    if absent == len(harnesses):
        yield Finding("ok", "harnesses", "none is installed; `inspan harness list` shows what can be")
    elif absent:
        # Nobody has every harness: one that is absent is a fact, not a fault.
        yield Finding("ok", "harnesses", f"{absent} more can be installed: `inspan harness list`")


def _find(harness: Json, probe: Probe) -> Finding | None:
    """What is to be said of a harness; `None` where it is not installed."""
    name = text(harness, "id")
    if problem := record(harness, "problem"):
        remedy = text(problem, "hint") or f"See `inspan harness show {name}`."
        return Finding("warn", name, text(problem, "message"), remedy)
    if text(harness, "installed") == "no":
        return None
    try:
        found = probe(name)
    except InspanError as error:
        return Finding("warn", name, error.message, error.hint or f"See `inspan harness show {name}`.")
    if text(found, "installed", default="unknown") == "no":
        return None
    version = text(found, "version", default="of an unknown version")
    if problems := records(found, "problems"):
        remedy = text(problems[0], "hint") or f"See `inspan harness probe {name}`."
        return Finding("warn", name, text(problems[0], "message"), remedy)
    if text(found, "tested") == "no":
        remedy = f"It may work; the tested versions are in `inspan harness show {name}`."
        return Finding("warn", name, f"{version} is outside the tested versions", remedy)
    return Finding("ok", name, version)
