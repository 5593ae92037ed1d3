"""Saved rules: what an operator put into a variable by which a posture is told stays in force, after the posture's default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from inspan.model.errors import UsageError
from inspan.model.manifest import PostureRule

__all__ = ["RuleTable", "merge_rules", "merge_saved", "merge_settings"]

RuleTable = dict[str, str | dict[str, str]]
"""Rules by what they are for: an action, or actions by pattern; of all that match, the last one wins."""

_EVERYTHING = "*"
"""The pattern that an action without a pattern stands for."""


def merge_rules(default: RuleTable, saved: RuleTable) -> RuleTable:
    """One table in which every rule of `default` stands before every rule of `saved`.

    So what was saved wins wherever it says anything, and the default wherever it does not.

    Raises:
        ValueError: No table says that, since a key stands in it once: the key that would have to stand twice.
    """
    kept = dict(_entries(saved))
    # A default that a saved rule covers whole says nothing any more.
    covered = kept.keys() | {
        (key, pattern) for (key, pattern), _ in _entries(default) if (key, _EVERYTHING) in kept
    }
    rules = [*((at, action) for at, action in _entries(default) if at not in covered), *_entries(saved)]
    merged: dict[str, dict[str, str]] = {}
    last = ""
    for (key, pattern), action in rules:
        if key in merged and key != last:
            raise ValueError(key)
        merged.setdefault(key, {})[pattern] = action
        last = key
    return {
        key: table[_EVERYTHING] if table.keys() == {_EVERYTHING} else table for key, table in merged.items()
    }


def merge_settings(default: Any, saved: Any) -> Any:
    """Both tables at every depth, the default's keys first; of two values that are no tables, the saved one."""
    if not (isinstance(default, dict) and isinstance(saved, dict)):
        return saved
    first, after = cast("dict[str, Any]", default), cast("dict[str, Any]", saved)
    kept = {key: value for key, value in first.items() if key not in after}
    return kept | {
        key: merge_settings(first[key], value) if key in first else value for key, value in after.items()
    }


def merge_saved(rule: PostureRule, saved: Mapping[str, str]) -> dict[str, str]:
    """The posture's variables, those in `rule.merges` with what the operator set for them.

    Args:
        rule: The posture.
        saved: What is set: for the seat, or where the seat says nothing in the daemon's environment.

    Raises:
        UsageError: `saved_rules_invalid`: a variable holds nothing that can be merged; it is never overwritten.
    """
    told = dict(rule.environment)
    for name, how in rule.merges.items():
        if not saved.get(name, "").strip():
            continue
        try:
            if how == "rules":
                merged: Any = merge_rules(_read(told[name], RuleTable), _read(saved[name], RuleTable))
            else:
                merged = merge_settings(_read(told[name], dict[str, Any]), _read(saved[name], dict[str, Any]))
        except msgspec.DecodeError as error:
            raise _invalid(name, "holds nothing that a posture can be told beside", "Correct it") from error
        except ValueError as error:
            why = f"has rules for {str(error)!r} that cannot stand after the posture's"
            raise _invalid(name, why, f"Put those for {str(error)!r} first in it") from error
        told[name] = msgspec.json.encode(merged).decode()
    return told


def _entries(table: RuleTable) -> Iterator[tuple[tuple[str, str], str]]:
    for key, value in table.items():
        for pattern, action in ({_EVERYTHING: value} if isinstance(value, str) else value).items():
            yield (key, pattern), action


def _read(text: str, shape: Any) -> Any:
    return msgspec.json.decode(text, type=shape)


def _invalid(name: str, why: str, remedy: str) -> UsageError:
    return UsageError(
        f"{name} is set, and {why}.",
        code="saved_rules_invalid",
        hint=f"{remedy}, or unset {name}; what it holds is never overwritten.",
        detail={"variable": name},
    )
