"""The filter and sort of a list of records, made into SQL: what cannot be honoured is refused, never left out.

```
done = false && (priority = "high" || title ~ "milk") && due < "2026-08-01"
```

Operators: `=` `!=` `>` `>=` `<` `<=`, `~` (contains, whatever the case) and `!~`; `&&`, `||`, parentheses. Values: text
in single or double quotes, numbers, `true`, `false`, `null` (blank). A sort is field names with commas, `-` for
descending.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from inspan.apps.model.fields import Field

__all__ = ["InvalidFilter", "Sql", "filter_sql", "sort_sql"]

_TOKEN = re.compile(
    r"""\s*(?:(?P<op>&&|\|\||!=|>=|<=|!~|[()=<>~])|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<number>-?\d+(?:\.\d+)?(?![\w.]))|(?P<name>[A-Za-z_][A-Za-z0-9_-]*))""",
    re.ASCII | re.DOTALL,
)
_COMPARISONS = frozenset(["=", "!=", ">", ">=", "<", "<=", "~", "!~"])
_LONGEST = 2000
_MOST_CONDITIONS = 50
_DEEPEST = 20


class InvalidFilter(ValueError):
    """A filter or sort that cannot be honoured. `expression` is what was asked."""

    def __init__(self, message: str, expression: str) -> None:
        super().__init__(message)
        self.expression = expression[:200]


class Sql(NamedTuple):
    """A piece of SQL and its parameters, in order."""

    text: str
    values: tuple[object, ...] = ()


def filter_sql(expression: str, fields: Mapping[str, Field]) -> Sql:
    """The condition that `expression` asks for, over the columns `id` and `body`.

    Raises:
        InvalidFilter: It is no filter, or names a field that is not there to be seen.
    """
    if not expression.strip():
        return Sql("1")
    return _Parser(expression, fields).parse()


def sort_sql(expression: str, fields: Mapping[str, Field]) -> str:
    """The `ORDER BY` that `expression` asks for; by position where it asks for nothing.

    Raises:
        InvalidFilter: It names a field that is not there to be seen.
    """
    terms: list[str] = []
    for part in [part.strip() for part in expression.split(",")] if expression.strip() else []:
        name = part.lstrip("+-") if part[:1] in ("+", "-") else part
        if name != "id" and name not in fields:
            raise InvalidFilter(f'There is no field "{name[:60]}" to sort by.', expression)
        terms.append(f"{_column(name)} {'DESC' if part.startswith('-') else 'ASC'}")
        if len(terms) > _DEEPEST:
            raise InvalidFilter("The sort has too many fields.", expression)
    return ", ".join([*terms, "position"])


class _Parser:
    """A parser by descent over the tokens of one expression."""

    def __init__(self, expression: str, fields: Mapping[str, Field]) -> None:
        self._expression = expression
        self._fields = fields
        self._tokens = self._split()
        self._at = 0
        self._values: list[object] = []
        self._conditions = 0

    def parse(self) -> Sql:
        text = self._any_of(depth=0)
        if self._at < len(self._tokens):
            raise self._wrong(f'"{self._tokens[self._at][1][:40]}" was not expected there')
        return Sql(text, tuple(self._values))

    def _split(self) -> list[tuple[str, str]]:
        if len(self._expression) > _LONGEST:
            raise self._wrong(f"it is over {_LONGEST} characters")
        found: list[tuple[str, str]] = []
        at, end = 0, len(self._expression.rstrip())
        while at < end:
            match = _TOKEN.match(self._expression, at)
            if match is None or match.lastgroup is None:
                raise self._wrong(f"it cannot be read from character {at + 1} on")
            found.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()
        return found

    def _any_of(self, *, depth: int) -> str:
        parts = [self._all_of(depth=depth)]
        while self._take("||"):
            parts.append(self._all_of(depth=depth))
        return f"({' OR '.join(parts)})" if len(parts) > 1 else parts[0]

    def _all_of(self, *, depth: int) -> str:
        parts = [self._condition(depth=depth)]
        while self._take("&&"):
            parts.append(self._condition(depth=depth))
        return f"({' AND '.join(parts)})" if len(parts) > 1 else parts[0]

    def _condition(self, *, depth: int) -> str:
        self._conditions += 1
        if depth > _DEEPEST or self._conditions > _MOST_CONDITIONS:
            raise self._wrong("it has too many parts")
        if self._take("("):
            inner = self._any_of(depth=depth + 1)
            if not self._take(")"):
                raise self._wrong("a parenthesis is not closed")
            return f"({inner})"
        kind, name = self._next("a field")
        if kind != "name" or (name != "id" and name not in self._fields):
            raise self._wrong(f'there is no field "{name[:60]}"')
        _, operator = self._next("an operator")
        if operator not in _COMPARISONS:
            raise self._wrong(f'"{operator[:20]}" is no operator')
        return self._compared(name, operator, *self._next("a value"))

    def _compared(self, name: str, operator: str, kind: str, written: str) -> str:
        column = _column(name)
        value = self._value(kind, written)
        field = self._fields.get(name)
        if value is None or value == "":
            if operator not in ("=", "!="):
                raise self._wrong(f"{operator} does not go with nothing")
            blank = f"({column} IS NULL OR {column} = '')"
            return blank if operator == "=" else f"(NOT {blank})"
        if operator in ("~", "!~"):
            self._values.append(_text(value))
            found = f"instr(lower(coalesce({column}, '')), lower(?)) > 0"
            return f"({found})" if operator == "~" else f"(NOT ({found}))"
        self._values.append(self._as_declared(field, value))
        # A blank value is not equal to anything, so it is also what "!=" finds.
        if operator == "!=":
            return f"({column} IS NOT ?)"
        return f"({column} {operator} ?)"

    def _as_declared(self, field: Field | None, value: object) -> object:
        if field is None:
            return _text(value)
        match field.type:
            case "boolean":
                wanted = {"true": 1, "false": 0}.get(_text(value))
            case "number":
                try:
                    wanted = float(_text(value))
                except ValueError:
                    wanted = None
            case "list<enum>" | "list<ref>" | "json" | "binary":
                raise self._wrong(f'"{field.name}" is a {field.type}: ~ finds what is in it')
            case _:
                wanted = _text(value)
        if wanted is None:
            raise self._wrong(f'"{field.name}" is a {field.type}')
        return wanted

    def _value(self, kind: str, written: str) -> object:
        match kind, written:
            case "text", _:
                return re.sub(r"\\(.)", r"\1", written[1:-1], flags=re.DOTALL)
            case "number", _:
                return float(written) if "." in written else int(written)
            case "name", "true" | "false":
                return written == "true"
            case "name", "null":
                return None
            case _:
                raise self._wrong(f'"{written[:40]}" is no value; text stands in quotes')

    def _take(self, token: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at] == ("op", token):
            self._at += 1
            return True
        return False

    def _next(self, wanted: str) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            raise self._wrong(f"it ends where {wanted} should be")
        self._at += 1
        return self._tokens[self._at - 1]

    def _wrong(self, why: str) -> InvalidFilter:
        return InvalidFilter(f"The filter cannot be honoured: {why}.", self._expression)


def _column(name: str) -> str:
    # Names come from the app's declarations and hold letters, digits, "_" and "-" alone.
    return "id" if name == "id" else f"json_extract(body, '$.\"{name}\"')"


def _text(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
