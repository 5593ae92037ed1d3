"""Checks as data: a class of them in a TOML file, read into values.

```toml
[[checks]]
name = "an unknown operation is refused"

[checks.request]
method = "POST"
path = "/api/ops/does-not-exist"
token = "full"          # "full", "readonly", or a literal; none where it is absent
body = {}

[checks.expect]
status = 404

[checks.expect.match]
"code" = "unknown_operation"
```
"""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from inspan.model.errors import UsageError

__all__ = [
    "Check",
    "CheckClass",
    "CliCall",
    "Expected",
    "Request",
    "built_in_classes",
    "load_class",
    "read_class",
]

_CHECKS = "checks"


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is sent.

    Attributes:
        method: In capitals.
        path: From the app's root.
        token: `full`, `readonly`, `none`, or a literal token.
        auth: Value of `Authorization`.
        origin: Value of `Origin`.
        headers: Further headers.
        query: The query.
        body: A JSON value; `None` sends nothing.
    """

    method: str
    path: str
    token: str = "none"  # noqa: S105 - a word for no token
    auth: str = ""
    origin: str = ""
    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    body: Any = None


class CliCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call of the operate program. `<APPDIR>` among `args` stands for the app's folder."""

    args: tuple[str, ...]


class Expected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What must be true of the answer. A path is dotted, with a number for a place in a list.

    Attributes:
        status: The HTTP status.
        exit: The exit status of the program.
        match: The exact value at a path.
        has: Paths at which something other than null is.
        absent: Paths at which nothing or null is.
        len: How many things are in the list at a path.
        contains: A piece of the answer's text.
        max_chars: The most characters of the answer.
        save: Names under which later checks find the value at a path; kept where the check passes.
    """

    status: int | None = None
    exit: int | None = None
    match: dict[str, Any] = {}
    has: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    len: dict[str, int] = {}
    contains: str = ""
    max_chars: int | None = None
    save: dict[str, str] = {}


class Check(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One check: a request or a call of the program, and what must come of it."""

    name: str
    expect: Expected
    request: Request | None = None
    cli: CliCall | None = None


class CheckClass(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A class of checks, which run in order.

    Attributes:
        letter: What it is called by, such as `A`.
        name: What it is about, in a word.
        description: One line.
        checks: The checks.
        before: Requests that put the app into the state that the checks begin from, when it was checked before. What they
            answer does not matter.
    """

    letter: str
    name: str
    description: str
    checks: tuple[Check, ...]
    before: tuple[Request, ...] = ()


def built_in_classes() -> dict[str, Path]:
    """The classes that come with the package: their files by letter."""
    folder = Path(str(resources.files("inspan.apps.conformance"))) / _CHECKS
    return {path.stem.removeprefix("class_").upper(): path for path in sorted(folder.glob("class_*.toml"))}


def load_class(letter: str) -> CheckClass:
    """The class of this letter.

    Raises:
        UsageError: There is none.
    """
    found = built_in_classes()
    path = found.get(letter.upper())
    if path is None:
        raise UsageError(f"There is no class {letter!r}.", hint=f"There are {', '.join(found)}.")
    return read_class(path)


def read_class(path: Path) -> CheckClass:
    """Reads a class from a file of one's own.

    Raises:
        UsageError: The file cannot be read, or is no class of checks.
    """
    try:
        found = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), CheckClass)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{path} is no class of checks: {error}.") from error
    for check in found.checks:
        if (check.request is None) == (check.cli is None):
            raise UsageError(
                f'{path}: the check "{check.name}" needs either a request or a call of the program.'
            )
    return found
