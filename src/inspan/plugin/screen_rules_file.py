"""Screen rules of a manifest: read from the file beside it as strictly as the manifest itself.

A rule that cannot be used makes the whole manifest unusable: a console that is read by half of its rules would be
read wrongly. What is wrong is named by file, rule and key.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from inspan.model.errors import ManifestError
from inspan.model.screen_rules import ScreenRule, ScreenRules

from .faults import Fault, find_faults
from .screen_patterns import find_capture_fault, find_pattern_fault
from .toml_file import read_table

__all__ = ["find_rule_faults", "patterns_of", "read_screen_rules"]

LISTS = ("all", "any", "none", "title_any", "title_none")


def read_screen_rules(file: Path) -> ScreenRules:
    """The rules in a file; one that did not change is read once.

    Raises:
        ManifestError: `manifest_unreadable`, or `screen_rules_invalid` with `file`, `key_path` and `rule` in its
            detail.
    """
    try:
        status = file.stat()
    except OSError:
        # The reader says what is wrong.
        return _read(file)
    return _read_once(file, status.st_mtime_ns, status.st_size)


def find_rule_faults(rules: ScreenRules, at: str = "") -> list[Fault]:
    """What is wrong with rules whose shape is right: patterns that cannot be used.

    Args:
        rules: The rules.
        at: Their key path, ending with a dot; empty for those of a file of their own.
    """
    found: list[Fault] = []
    for index, rule in enumerate(rules.rules):
        for key, pattern in patterns_of(rule):
            fault = find_pattern_fault(pattern) or (find_capture_fault(pattern) if key == "capture" else "")
            if fault:
                found.append(
                    Fault(
                        key_path=f"{at}rules[{index}].{key}",
                        problem=f"of the rule `{rule.name}` cannot be used: {fault}",
                        expected="a pattern in which each repeat repeats one character or one fixed text",
                    )
                )
    return found


def patterns_of(rule: ScreenRule) -> Iterator[tuple[str, str]]:
    """Every pattern of a rule, with its key."""
    if rule.region.anchor:
        yield "region.anchor", rule.region.anchor
    if rule.last_match:
        yield "last_match", rule.last_match
    for name in LISTS:
        patterns: tuple[str, ...] = getattr(rule, name)
        for index, pattern in enumerate(patterns):
            yield f"{name}[{index}]", pattern
    if rule.capture:
        yield "capture", rule.capture
    if rule.answers is None:
        return
    for index, choice in enumerate(rule.answers.choices):
        yield f"answers.choices[{index}].row", choice.row
    for name in ("marked", "subject", "path", "begins"):
        pattern: str = getattr(rule.answers, name)
        if pattern:
            yield f"answers.{name}", pattern


@functools.lru_cache(maxsize=256)
def _read_once(file: Path, changed_ns: int, size_bytes: int) -> ScreenRules:
    del changed_ns, size_bytes  # they are part of the key alone
    return _read(file)


def _read(file: Path) -> ScreenRules:
    table = read_table(file)
    faults: list[Fault]
    try:
        rules = msgspec.convert(table, ScreenRules, strict=True)
    except msgspec.ValidationError as error:
        faults = find_faults(table, ScreenRules) or [_whole(table, error)]
    else:
        faults = find_rule_faults(rules)
        if not faults:
            return rules
    raise _invalid(file, table, faults)


def _whole(table: Mapping[str, Any], error: msgspec.ValidationError) -> Fault:
    """The fault of a rule, or of all of them, whose parts do not go together."""
    for index, one in enumerate(_tables(table)):
        try:
            msgspec.convert(one, ScreenRule, strict=True)
        except msgspec.ValidationError as own:
            problem = str(own).partition(" - at ")[0]
            return Fault(
                key_path=f"rules[{index}]",
                problem=f"cannot be used: {problem}",
                expected="keys that go together",
            )
    return Fault(
        key_path="rules", problem=f"cannot be used: {error}", expected="rules that differ in their names"
    )


def _invalid(file: Path, table: Mapping[str, Any], faults: Sequence[Fault]) -> ManifestError:
    first, *others = faults
    rule = _name_of(table, first.key_path)
    whose = f" (rule `{rule}`)" if rule and f"`{rule}`" not in first.problem else ""
    more = f" There are {len(others)} more faults." if others else ""
    return ManifestError(
        f"{file}: {first.key_path}{whose} {first.problem}; expected {first.expected}.{more}",
        code="screen_rules_invalid",
        hint="Correct the file; docs/manifest.md says what a rule may be, and `inspan harness lint` checks it.",
        detail={
            "file": str(file),
            "key_path": first.key_path,
            "rule": rule,
            "expected": first.expected,
            "others": [{"key_path": one.key_path, "expected": one.expected} for one in others],
        },
    )


def _name_of(table: Mapping[str, Any], key_path: str) -> str:
    """The name of the rule that a key path leads into; its number where it has none."""
    if not key_path.startswith("rules["):
        return ""
    number = key_path[len("rules[") :].partition("]")[0]
    tables = list(_tables(table))
    name = tables[int(number)].get("name") if int(number) < len(tables) else None
    return name if isinstance(name, str) else f"#{int(number) + 1}"


def _tables(table: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    rules = table.get("rules")
    if isinstance(rules, list):
        for one in cast("list[object]", rules):
            yield cast("Mapping[str, Any]", one) if isinstance(one, Mapping) else {}
