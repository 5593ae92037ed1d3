"""Trusting a harness's code from outside, for exactly the files that lie there now."""

from __future__ import annotations

import msgspec

from inspan.home import prepare_home
from inspan.host.registry import HarnessRegistry
from inspan.host.trust import TrustStore
from inspan.model.errors import UsageError

from .context import Context
from .output import bold, dim

__all__ = ["trust"]


def trust(context: Context, harness: str, *, is_revoking: bool = False) -> int:
    """Pins the files of a harness's plugin, or takes the trust back.

    Raises:
        UsageError: `unknown_harness`, or there is no code that would need trust.
        HostError: The record of what is trusted cannot be read or written.
    """
    prepare_home(context.home)
    store = TrustStore(context.home.path)
    if is_revoking:
        had_trust = store.revoke(harness)
        if context.output.is_json:
            context.output.value({"harness": harness, "trusted": False, "was_trusted": had_trust})
        else:
            context.output.line("no longer trusted: " if had_trust else "was not trusted: ", bold(harness))
        return 0
    entry = HarnessRegistry(context.home.path).get(harness)
    layer = entry.plugin_layer
    if not entry.require().plugin or layer.origin == "built-in":
        why = "has no code, only data" if not entry.require().plugin else "is built in"
        raise UsageError(f"The harness {harness!r} {why}.", hint="Nothing has to be trusted.")
    record = store.trust(harness, layer.folder)
    if context.output.is_json:
        value = {"harness": harness, "trusted": True, "folder": record.folder, "files": record.files}
        value |= {"permissions": msgspec.to_builtins(entry.require().permissions)}
        context.output.value(value)
        return 0
    allowed = entry.require().permissions
    context.output.line("trusted: ", bold(harness), dim(f"  {record.folder}"))
    for name, digest in sorted(record.files.items()):
        context.output.line("  ", dim(digest[:16]), f"  {name}")
    for what, names in (("gets the variables", allowed.environment), ("may start", allowed.programs)):
        if names:
            context.output.line(f"  {what}: {', '.join(names)}")
    if allowed.writes_files:
        context.output.line("  may have files written into its launches' folders")
    context.output.remark(dim("  a file that is added, changed or removed takes the trust away"))
    return 0
