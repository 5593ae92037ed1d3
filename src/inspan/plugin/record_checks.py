"""What record rules must keep beyond their shape: a rule says something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inspan.model.records import RecordRule
from inspan.model.stream import StreamRule

from .faults import Fault

__all__ = ["check_records"]


def check_records(rules: Sequence[RecordRule], at: str) -> Iterator[Fault]:
    """The faults of record rules.

    Args:
        rules: The rules.
        at: Their key path.
    """
    for index, rule in enumerate(rules):
        if not _means_something(rule):
            yield Fault(
                key_path=f"{at}[{index}]",
                problem="means nothing",
                expected="what the record says, or `ignore = true`",
            )


def _means_something(rule: RecordRule) -> bool:
    parts = (rule.text, rule.tool, rule.usage, rule.denial, rule.error, rule.retry, rule.ends)
    flags = (rule.session, rule.accepts, rule.starts, rule.recovers, rule.effective, rule.ignore)
    if any(part is not None for part in parts) or any(flags):
        return True
    return isinstance(rule, StreamRule) and bool(rule.keeps or rule.withdraws or rule.context)
