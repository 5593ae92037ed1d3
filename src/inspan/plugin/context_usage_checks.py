"""What a mode must keep that says where its context usage is told."""

from __future__ import annotations

import re
from collections.abc import Iterator

from inspan.model.context_usage import ContextSource
from inspan.model.manifest import ModeManifest

from .faults import Fault

__all__ = ["check_context_usage"]

_SHOWN = (ContextSource.FOOTER, ContextSource.TITLE)


def check_context_usage(mode: ModeManifest, at: str) -> Iterator[Fault]:
    """The faults of `mode.context_usage`.

    Args:
        mode: The mode.
        at: Its key path.
    """
    usage, here = mode.context_usage, f"{at}.context_usage"
    is_shown = usage.kind in _SHOWN
    if is_shown and mode.transport != "terminal":
        yield Fault(
            key_path=f"{here}.kind",
            problem=f"is {usage.kind}, and this mode has no screen",
            expected="protocol or unknown",
        )
    if is_shown != bool(usage.pattern):
        yield Fault(
            key_path=f"{here}.pattern",
            problem="is missing" if is_shown else "reads nothing",
            expected="exactly with kind = 'footer' or 'title'",
        )
    try:
        names = re.compile(usage.pattern).groupindex
    except re.error as error:
        yield Fault(
            key_path=f"{here}.pattern",
            problem=f"does not compile ({error})",
            expected="a regular expression of Python's re",
        )
        return
    if usage.pattern and "percent" not in names:
        yield Fault(
            key_path=f"{here}.pattern", problem="has no group 'percent'", expected="(?P<percent>[0-9.]+)%"
        )
