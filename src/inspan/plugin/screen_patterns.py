"""Patterns: regular expressions that cannot run away.

Python's matcher goes back and tries again, so a pattern that may divide one text in many ways takes for ever on
the wrong one. What a rule may say is therefore kept down: an unbounded repeat repeats one character (of a class)
or one fixed text, there are few of them, and nothing refers back. Every region that is searched is bounded too.
"""

from __future__ import annotations

import functools
import importlib
import re
from typing import Any

from inspan.model.errors import ManifestError

__all__ = ["GROUPS", "MAX_REPEATS", "compile_pattern", "find_capture_fault", "find_pattern_fault"]

GROUPS = frozenset({"message", "resets"})
"""The groups of a capture whose text is kept."""

MAX_REPEATS = 3
"""How many unbounded or long repeats a pattern may have."""
MAX_COUNT = 100
"""The longest bounded repeat."""
SHORT_COUNT = 8
"""A bounded repeat up to this does not count among the repeats."""
MAX_CHOICES = 8
"""How many optional parts and alternations a pattern may have: each one may double the ways through a text."""
NOMINAL_ROW = 120
"""The row on which the worst case of a pattern is reckoned."""
NOMINAL_ROWS = 40
MAX_STEPS = 400_000_000
"""The most steps that the worst text may cost a pattern: some seconds, once, since its rule is left out then."""
ONE_CHARACTER = frozenset({"LITERAL", "NOT_LITERAL", "IN", "ANY"})


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The compiled pattern, with `^` and `$` at every row.

    Raises:
        ManifestError: It is no regular expression, or one that could run away.
    """
    compiled, fault = _examine(pattern)
    if compiled is None:
        raise ManifestError(
            f"the pattern {pattern!r} cannot be used: {fault}",
            hint="write it so that each repeat repeats one character or one fixed text; see docs/manifest.md",
        )
    return compiled


def find_pattern_fault(pattern: str) -> str:
    """Why a pattern cannot be used; empty where it can."""
    return _examine(pattern)[1]


def find_capture_fault(pattern: str) -> str:
    """Why a pattern that can be used keeps nothing; empty where it keeps something."""
    if set(compile_pattern(pattern).groupindex) & GROUPS:
        return ""
    return "it has no group that is kept, `message` or `resets`"


_LINE_END = ord("\n")


@functools.lru_cache(maxsize=4096)
def _examine(pattern: str) -> tuple[re.Pattern[str] | None, str]:
    try:
        compiled = re.compile(pattern, re.MULTILINE)
        # The parser is the standard library's own, without a public name.
        tree: Any = importlib.import_module("re._parser").parse(pattern, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        return None, f"it is no regular expression ({error})"
    if compiled.match("") is not None and not pattern.startswith(("^", r"\A")):
        return None, "it matches where there is nothing"
    found: list[str] = []
    fault = _fault_in(tree, found, is_repeated=False)
    for what, most in (("repeat", MAX_REPEATS), ("choice", MAX_CHOICES)):
        if not fault and found.count(what) > most:
            fault = f"it has {found.count(what)} parts of the kind `{what}`, and {most} are allowed"
    if not fault and _worst_steps(tree, compiled) > MAX_STEPS:
        fault = "its repeats could try too many ways through a screen; let fewer of them match line ends"
    return (None, fault) if fault else (compiled, "")


def _worst_steps(tree: Any, compiled: re.Pattern[str]) -> float:
    """How many steps a pattern takes on the worst text: its starts, times the lengths of all repeats.

    A pattern that begins with a row's begin starts once a row, and a repeat that does not match line ends stays
    in its row. Lengths in a row share it, so the ways are fewer than their product.
    """
    is_anchored = bool(tree) and str(tree[0][0]) == "AT" and str(tree[0][1]).startswith("AT_BEGINNING")
    steps = float(NOMINAL_ROWS if is_anchored else NOMINAL_ROWS * NOMINAL_ROW)
    for number, (most, body) in enumerate(_long_repeats(tree)):
        crosses = any(_matches_line_end(part, compiled) for part in body)
        length = NOMINAL_ROWS * NOMINAL_ROW if crosses else NOMINAL_ROW
        steps *= min(length, most) / (number + 2)
    return steps


def _long_repeats(tree: Any) -> list[tuple[float, Any]]:
    """The repeats that count, wherever they stand: their most, and what is repeated."""
    found: list[tuple[float, Any]] = []
    for operator, argument in tree:
        match str(operator):
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                most = float("inf") if str(argument[1]) == "MAXREPEAT" else float(argument[1])
                if most > SHORT_COUNT:
                    found.append((most, argument[2]))
                else:
                    found += _long_repeats(argument[2])
            case "BRANCH":
                found += [one for choice in argument[1] for one in _long_repeats(choice)]
            case "SUBPATTERN":
                found += _long_repeats(argument[3])
            case "ATOMIC_GROUP":
                found += _long_repeats(argument)
            case "ASSERT" | "ASSERT_NOT":
                found += _long_repeats(argument[1])
            case _:
                pass
    return found


def _matches_line_end(part: Any, compiled: re.Pattern[str]) -> bool:
    """Whether one part of what is repeated can match a line end."""
    operator, argument = str(part[0]), part[1]
    match operator:
        case "LITERAL":
            return argument == _LINE_END
        case "NOT_LITERAL":
            return argument != _LINE_END
        case "ANY":
            return bool(compiled.flags & re.DOTALL)
        case "IN":
            is_negated = str(argument[0][0]) == "NEGATE"
            return is_negated is not any(_has_line_end(*item) for item in argument)
        case _:
            return True


def _has_line_end(operator: Any, argument: Any) -> bool:
    match str(operator):
        case "LITERAL":
            return argument == _LINE_END
        case "RANGE":
            return argument[0] <= _LINE_END <= argument[1]
        case "CATEGORY":
            return str(argument) in ("CATEGORY_SPACE", "CATEGORY_NOT_DIGIT", "CATEGORY_NOT_WORD")
        case _:
            return False


def _fault_in(tree: Any, found: list[str], *, is_repeated: bool) -> str:
    """What is wrong with a part of a pattern; notes its repeats and choices on the way."""
    for operator, argument in tree:
        name = str(operator)
        fault = ""
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            fault = _fault_in_repeat(argument, found, is_repeated=is_repeated)
        elif name in ("GROUPREF", "GROUPREF_EXISTS"):
            fault = "it refers back to a group"
        elif name == "BRANCH":
            found.append("choice")
            fault = "a choice is repeated" if is_repeated else ""
            for choice in argument[1]:
                fault = fault or _fault_in(choice, found, is_repeated=is_repeated)
        elif name == "SUBPATTERN":
            fault = _fault_in(argument[3], found, is_repeated=is_repeated)
        elif name == "ATOMIC_GROUP":
            fault = _fault_in(argument, found, is_repeated=is_repeated)
        elif name in ("ASSERT", "ASSERT_NOT"):
            fault = _fault_in(argument[1], found, is_repeated=is_repeated)
        if fault:
            return fault
    return ""


def _fault_in_repeat(argument: Any, found: list[str], *, is_repeated: bool) -> str:
    most, body = argument[1], argument[2]
    is_unbounded = str(most) == "MAXREPEAT"
    if is_repeated:
        return "a repeat is repeated"
    if not is_unbounded and int(most) > MAX_COUNT:
        return f"a repeat counts to {int(most)}, and {MAX_COUNT} is the most"
    is_choice = not is_unbounded and int(most) == 1
    if is_unbounded or int(most) > SHORT_COUNT:
        found.append("repeat")
    elif is_choice:
        found.append("choice")
    if not is_choice and not (len(body) == 1 and str(body[0][0]) in ONE_CHARACTER):
        return _fault_in(body, found, is_repeated=True)
    return _fault_in(body, found, is_repeated=False) if is_choice else ""
