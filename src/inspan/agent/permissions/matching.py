"""Which calls a rule speaks of."""

from __future__ import annotations

import fnmatch
import json
import re

from inspan.agent.permissions.values import Effect, Rule
from inspan.agent.values import Json, JsonObject

__all__ = ["matches", "rule_for_answer"]


def matches(rule: Rule, tool: str, arguments: JsonObject) -> bool:
    """Whether `rule` speaks of a call."""
    if not fnmatch.fnmatchcase(tool, rule.tool):
        return False
    return all(
        name in arguments and fnmatch.fnmatchcase(_text(arguments[name]), pattern)
        for name, pattern in rule.arguments.items()
    )


def rule_for_answer(effect: Effect, tool: str, kind: str, arguments: JsonObject) -> Rule:
    """The session's rule that an `always` answer makes.

    It speaks of the tool; where the tool runs commands, of the very same arguments alone, since an answer to one
    command says nothing of another one.
    """
    patterns = (
        {name: _literal(_text(value)) for name, value in arguments.items()} if kind == "execute" else {}
    )
    return Rule(effect=effect, tool=_literal(tool), arguments=patterns, source="answer")


def _literal(text: str) -> str:
    """The pattern that matches `text` alone."""
    return re.sub(r"([*?[])", r"[\1]", text)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
